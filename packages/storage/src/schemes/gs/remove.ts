/** Removes one object, or many in one call. */
import { encodeQuery } from "../../address/url-encoding.ts";
import type { CallOptions, VersionCall } from "../../backend.ts";
import { type BatchFailure, batchBody, noAnswer, parseBatch, retryFailures } from "../../batch.ts";
import { isStorageError } from "../../errors.ts";
import type { GsClient } from "./client.ts";
import { errorOf } from "./errors.ts";
import { generationQuery } from "./read.ts";

/** The store's maximum number of requests in one batch. */
export const removeAtOnce = 100;

export async function removeObject(client: GsClient, key: string, call: VersionCall): Promise<void> {
  const { path, query, signal } = { path: client.objectPath(key), query: generationQuery(call), signal: call.signal };
  try {
    await (await client.send({ method: "DELETE", path, key, query, signal })).discard();
  } catch (error) {
    if (!isStorageError(error, "not_found")) throw error;
  }
}

export function removeObjects(client: GsClient, keys: readonly string[], call: CallOptions): Promise<void> {
  return retryFailures(keys, client.retryPolicy, call.signal, (left) => removeBatch(client, left, call));
}

async function removeBatch(
  client: GsClient,
  keys: readonly string[],
  { signal }: CallOptions,
): Promise<BatchFailure[]> {
  const payer = encodeQuery(await client.payerQuery());
  const requests = keys.map((key) => `DELETE ${client.objectPath(key)}${payer} HTTP/1.1\r\n\r\n`);
  const { type, body } = batchBody(requests, (number) => `<${number}>`);
  const headers = { "content-type": type };
  const answer = await client.send({ method: "POST", path: "/batch/storage/v1", key: "", headers, body, signal });
  const answers = parseBatch(await answer.text());
  return keys.flatMap((key, index) => {
    const one = answers.get(index);
    if (one && (one.status < 300 || one.status === 404)) return [];
    const place = client.place(key);
    if (one) return [{ key, error: errorOf(one.status, one.body, place) }];
    return [{ key, error: noAnswer(place) }];
  });
}
