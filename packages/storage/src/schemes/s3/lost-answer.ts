/**
 * Handles conditional writes that succeeded although their answer was lost. The store then refuses the retry, but the
 * write has not failed.
 */
import { createHash } from "node:crypto";
import type { Entry } from "../../backend.ts";
import { type RetryPolicy, retry } from "../../concurrency/retry.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import type { S3Client } from "./client.ts";
import { statObject } from "./read.ts";

/**
 * Runs a conditional write. If the store refuses a retry, checks by ETag whether an earlier attempt has written the
 * object. If so, returns the entry of the object. Two writers of the same bytes cannot be told apart, so an object that
 * is used as a lock should contain something unique to its writer.
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

/**
 * Retry policy for looking up the object: at most 240 lookups in about two minutes, with random pauses of half a second
 * on average.
 */
const patience: RetryPolicy = { attempts: 240, firstPause: 1000, growth: 1, longestPause: 1000 };

/**
 * After this many lookups, an object with another ETag is taken for a later write by another client. The wait then
 * ends.
 */
const enoughLooks = 40;

/**
 * Waits until the object that was written exists, and returns its entry. After an attempt that timed out, a store may
 * report the upload as complete while it is still assembling the parts.
 */
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
    const message = `s3://${client.bucket}/${key}: the store confirmed the write, but the object does not exist; write the object again`;
    throw new StorageError("failed", message, { scheme: "s3", bucket: client.bucket, key, retryable: true });
  });
}

export const etagOfBytes = (bytes: Uint8Array) => createHash("md5").update(bytes).digest("hex");

/** Computes the ETag that stores give to a multipart object, from the ETags of its parts. */
export function etagOfParts(etags: readonly string[]): string {
  const hash = createHash("md5");
  for (const etag of etags) hash.update(Buffer.from(etag.replaceAll('"', ""), "hex"));
  return `${hash.digest("hex")}-${etags.length}`;
}
