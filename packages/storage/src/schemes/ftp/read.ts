/** Reads files on FTP servers, from any offset. */
import { PassThrough } from "node:stream";
import type { Client } from "basic-ftp";
import type { ByteRange, Content, ReadCall } from "../../backend.ts";
import { StorageError } from "../../errors.ts";
import { toStorageError } from "./errors.ts";
import { checkPath, pathOf, statFile } from "./list.ts";
import type { Pool } from "./pool.ts";

export async function readFile(pool: Pool, key: string, call: ReadCall): Promise<Content> {
  checkPath(key);
  const entry = await statFile(pool, key, call);
  if (call.ifMatch !== undefined && call.ifMatch !== entry.etag) {
    throw new StorageError(
      "precondition",
      `${key} was replaced: its ETag is no longer the expected one; read the new file from its start`,
      pool.place(key),
    );
  }
  const start = Math.min(call.start ?? 0, entry.size);
  const end = Math.max(start, Math.min(call.end ?? entry.size, entry.size));
  const isToEnd = end === entry.size;
  return { entry, start, end, body: pieces(pool, key, { start, end, isToEnd }, call.signal) };
}

interface Range extends ByteRange {
  readonly isToEnd: boolean;
}

/**
 * Yields the bytes of a range. FTP always sends a file up to its end. If the range ends earlier, the connection is
 * closed.
 */
async function* pieces(
  pool: Pool,
  key: string,
  { start, end, isToEnd }: Range,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  if (start >= end) return;
  const client = await pool.take("download", key, { signal });
  let isWhole = false;
  try {
    const { body, ended } = transfer(client, key, start, signal);
    let left = end - start;
    for await (const piece of body as AsyncIterable<Buffer>) {
      const wanted = piece.subarray(0, left);
      left -= wanted.length;
      if (wanted.length > 0) yield wanted;
      if (left === 0 && !isToEnd) return;
    }
    await ended;
    isWhole = true;
  } catch (error) {
    throw signal?.aborted ? signal.reason : toStorageError(error, pool.place(key));
  } finally {
    if (isWhole) pool.giveBack(client);
    else pool.drop(client);
  }
}

function transfer(client: Client, key: string, start: number, signal: AbortSignal | undefined) {
  const body = new PassThrough();
  const stop = () => body.destroy(signal?.reason as Error);
  signal?.addEventListener("abort", stop, { once: true });
  const ended = client.downloadTo(body, pathOf(key), start).catch((error: Error) => {
    body.destroy(error);
    throw error;
  });
  // A failure is reported to the reader of the body, so it is ignored here.
  ended.catch(() => {}).finally(() => signal?.removeEventListener("abort", stop));
  return { body, ended };
}
