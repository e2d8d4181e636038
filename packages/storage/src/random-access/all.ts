/** `all`: reads the whole file when it is opened. */
import type { CacheSetup, FileCache } from "./file-cache.ts";

export async function wholeFileCache({ fetch, size }: CacheSetup): Promise<FileCache> {
  const bytes = size === 0 ? new Uint8Array() : await fetch(0, size);
  return { read: async (start, end) => bytes.subarray(start, end), sharesReads: true };
}
