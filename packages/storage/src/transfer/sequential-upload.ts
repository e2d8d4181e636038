/** Uploads to servers that accept the bytes of a file only in order and over one connection. */
import type { Entry, Transfer, Upload } from "../backend.ts";
import type { RetryPolicy } from "../concurrency/retry.ts";

const mebibyte = 1024 * 1024;

export const sequentialTransfer = (retry: RetryPolicy): Transfer => ({
  partSize: 4 * mebibyte,
  minimumPart: 1,
  maximumParts: Number.POSITIVE_INFINITY,
  wholeUpTo: 8 * mebibyte,
  concurrency: 1,
  partsInOrder: true,
  retry,
});

/** Uploads the whole file as the only part. */
export async function putAtOnce(upload: Upload, bytes: Uint8Array): Promise<Entry> {
  try {
    await upload.put(1, bytes);
    return await upload.finish();
  } catch (error) {
    await upload.abort().catch(() => {});
    throw error;
  }
}
