/** Removing one object, and many with one call. */

import type { CallOptions, VersionCall } from "../../backend.ts";
import { batchBody, parseBatch } from "../../batch.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import { retry } from "../../retry.ts";
import { encodeQuery } from "../../url-encoding.ts";
import type { GsClient } from "./client.ts";
import { errorOf } from "./errors.ts";
import { generationQuery } from "./read.ts";

/** What the store takes in one batch. */
export const removeAtOnce = 100;

export async function removeObject(client: GsClient, key: string, call: VersionCall): Promise<void> {
  const { path, query, signal } = { path: client.objectPath(key), query: generationQuery(call), signal: call.signal };
  try {
    await (await client.send({ method: "DELETE", path, key, query, signal })).discard();
  } catch (error) {
    if (!isStorageError(error, "not_found")) throw error;
  }
}

/** Each of the batch has its own fate: those that may succeed later are sent again. */
export async function removeObjects(client: GsClient, keys: readonly string[], call: CallOptions): Promise<void> {
  let left = keys;
  await retry(client.retryPolicy, call.signal, async () => {
    const failures = await removeBatch(client, left, call);
    const lasting = failures.find(({ error }) => !error.retryable);
    if (lasting) throw lasting.error;
    left = failures.map(({ key }) => key);
    if (failures[0]) throw failures[0].error;
  });
}

interface Failure {
  readonly key: string;
  readonly error: StorageError;
}

async function removeBatch(client: GsClient, keys: readonly string[], { signal }: CallOptions): Promise<Failure[]> {
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
    return [{ key, error: new StorageError("network", `gs://${client.bucket}/${key}: no answer in the batch`, place) }];
  });
}
