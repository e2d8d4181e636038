/** `first`: keeps only the first block, for formats whose header is read repeatedly. */
import { type CacheSetup, type FileCache, join } from "./file-cache.ts";

export function firstBlockCache({ fetch, size, blockSize }: CacheSetup): FileCache {
  const blockEnd = Math.min(blockSize, size);
  let block: Uint8Array | undefined;
  return {
    async read(start, end) {
      if (start >= blockEnd) return fetch(start, end);
      if (block === undefined) {
        const bytes = await fetch(0, Math.max(end, blockEnd));
        block = new Uint8Array(bytes.subarray(0, blockEnd));
        return bytes.subarray(start, end);
      }
      const known = block.subarray(start, end);
      return end > blockEnd ? join(known, await fetch(blockEnd, end)) : known;
    },
  };
}
