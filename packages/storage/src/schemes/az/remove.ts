/** Removes one blob, or many in one call. */
import type { CallOptions, VersionCall } from "../../backend.ts";
import { type BatchAnswer, type BatchFailure, batchBody, noAnswer, parseBatch, retryFailures } from "../../batch.ts";
import { isStorageError } from "../../errors.ts";
import { elementText } from "../../http/xml.ts";
import type { AzClient } from "./client.ts";
import { errorOf } from "./errors.ts";
import { versionQuery } from "./read.ts";

/** The store's maximum number of requests in one batch. */
export const removeAtOnce = 256;

/**
 * Without this header, the store refuses to remove a blob that has snapshots. Versions have no snapshots, so the header
 * is not sent for them.
 */
const withSnapshots = { "x-ms-delete-snapshots": "include" };

export async function removeBlob(client: AzClient, key: string, call: VersionCall): Promise<void> {
  const headers = call.version ? {} : withSnapshots;
  try {
    const answer = await client.send({
      method: "DELETE",
      key,
      query: versionQuery(call),
      headers,
      signal: call.signal,
    });
    await answer.discard();
  } catch (error) {
    if (!isStorageError(error, "not_found")) throw error;
  }
}

export function removeBlobs(client: AzClient, keys: readonly string[], call: CallOptions): Promise<void> {
  return retryFailures(keys, client.retryPolicy, call.signal, (left) => removeBatch(client, left, call));
}

async function removeBatch(
  client: AzClient,
  keys: readonly string[],
  { signal }: CallOptions,
): Promise<BatchFailure[]> {
  const requests = await Promise.all(keys.map((key) => partOf(client, key)));
  const { type, body } = batchBody(requests, String);
  const text = await client.sendForText({
    method: "POST",
    key: "",
    query: { restype: "container", comp: "batch" },
    headers: { "content-type": type },
    body,
    signal,
  });
  const answers = parseBatch(text);
  return keys.flatMap((key, index) => failureOf(client, key, answers.get(index)));
}

async function partOf(client: AzClient, key: string): Promise<string> {
  const signed = await client.signed({ method: "DELETE", key, headers: withSnapshots }, {});
  const lines = Object.entries({ ...signed, "content-length": "0" }).map(([name, value]) => `${name}: ${value}\r\n`);
  const { pathname, search } = new URL(client.url(key));
  return `DELETE ${pathname}${search} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

function failureOf(client: AzClient, key: string, answer: BatchAnswer | undefined): BatchFailure[] {
  const place = client.place(key);
  if (!answer) return [{ key, error: noAnswer(place) }];
  if (answer.status < 300 || answer.status === 404) return [];
  const word = /^x-ms-error-code:\s*(\S+)/im.exec(answer.head)?.[1] ?? elementText(answer.body, "Code") ?? "";
  return [{ key, error: errorOf(answer.status, word, answer.body, place) }];
}
