/** Writes that were carried out although their answer was lost: the repetition is refused, which is no failure. */
import { createHash } from "node:crypto";
import type { Entry } from "../../backend.ts";
import { type RetryPolicy, retry } from "../../concurrency/retry.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import type { S3Client } from "./client.ts";
import { statObject } from "./read.ts";

/**
 * Where a repeated write is refused, looks whether the object is the one that was to be written. Two writers of the
 * same bytes cannot be told apart this way: whoever makes a lock writes something of its own into it.
 */
export async function unlessWritten(
  client: S3Client,
  key: string,
  etag: () => string,
  run: (onAttempt: (attempt: number) => void) => Promise<Entry>,
): Promise<Entry> {
  let attempts = 0;
  try {
    return await run((attempt) => {
      attempts = attempt;
    });
  } catch (error) {
    if (attempts < 2 || !isStorageError(error, "precondition", "not_found")) throw error;
    const there = await statObject(client, key, {}).catch(() => undefined);
    if (there?.etag !== etag()) throw error;
    return there;
  }
}

/** About two minutes; where nothing can be learned of the object, what the store said must do. */
const patience: RetryPolicy = { attempts: 240, firstPause: 1000, growth: 1, longestPause: 1000 };

/** After so many looks, another object in the place is one that somebody has written since. */
const enoughLooks = 40;

/** A store may say that an upload is complete while it still puts the parts together for a call that we gave up. */
export function untilThere(
  client: S3Client,
  key: string,
  written: Entry,
  signal: AbortSignal | undefined,
): Promise<Entry> {
  return retry(patience, signal, async (look) => {
    const there = await statObject(client, key, { signal }).catch((error: unknown) => {
      signal?.throwIfAborted();
      return isStorageError(error, "not_found") ? undefined : written;
    });
    if (there && (there.etag === written.etag || look >= enoughLooks)) return written;
    const message = `s3://${client.bucket}/${key}: the store said that it is written, and it is not there`;
    throw new StorageError("failed", message, { scheme: "s3", bucket: client.bucket, key, retryable: true });
  });
}

export const etagOfBytes = (bytes: Uint8Array) => createHash("md5").update(bytes).digest("hex");

/** As the stores make it, from the ETags of the parts. */
export function etagOfParts(etags: readonly string[]): string {
  const hash = createHash("md5");
  for (const etag of etags) hash.update(Buffer.from(etag.replaceAll('"', ""), "hex"));
  return `${hash.digest("hex")}-${etags.length}`;
}
