/** Writes an object in one request. */
import type { Entry, WriteCall } from "../../backend.ts";
import { checksumHeaders, writesChecksums } from "./checksum.ts";
import type { S3Client } from "./client.ts";
import { etagOfBytes, unlessWritten } from "./lost-answer.ts";
import { toEntry } from "./read.ts";
import { conditionsOf, headersOf } from "./write-headers.ts";

export async function putObject(client: S3Client, key: string, body: Uint8Array, call: WriteCall): Promise<Entry> {
  const checksum = writesChecksums(client) ? checksumHeaders(body) : {};
  const headers = { ...headersOf(call, client.place(key)), ...conditionsOf(call), ...checksum };
  const { signal } = call;
  return unlessWritten(
    client,
    key,
    () => etagOfBytes(body),
    async (onAttempt) => {
      const answer = await client.send({ call: "put", method: "PUT", key, headers, body, signal, onAttempt });
      await answer.discard();
      return { ...toEntry(key, answer), size: body.length };
    },
  );
}
