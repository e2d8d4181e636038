/**
 * `readahead`: a read outside the buffer requests one block more than needed, and the result replaces the buffer. For
 * sequential reads.
 */
import { type CacheSetup, type FileCache, join } from "./file-cache.ts";

export function readAheadCache({ fetch, size, blockSize }: CacheSetup): FileCache {
  let kept: Uint8Array = new Uint8Array();
  let from = 0;
  return {
    async read(start, end) {
      const keptEnd = from + kept.length;
      if (start >= from && end <= keptEnd) return kept.subarray(start - from, end - from);
      const known = start >= from && start < keptEnd ? kept.subarray(start - from) : new Uint8Array();
      const missing = start + known.length;
      kept = await fetch(missing, Math.min(size, end + blockSize));
      from = missing;
      return join(known, kept.subarray(0, end - missing));
    },
  };
}
