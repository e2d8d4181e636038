/** `bytes`: like `readahead`, but what is kept grows on either side while reads stay within a block of it. */
import { type CacheSetup, type FileCache, join } from "./file-cache.ts";

export function bytesCache({ fetch, size, blockSize, options: { trim = true } }: CacheSetup): FileCache {
  let kept: Uint8Array = new Uint8Array();
  let from = 0;

  /** Makes sure that everything from `start` to `end` is kept. */
  async function cover(start: number, end: number): Promise<void> {
    const keptEnd = from + kept.length;
    if (kept.length > 0 && start >= from && end <= keptEnd) return;
    const ahead = Math.min(size, end + blockSize);
    const touchesBefore = start < from && end <= keptEnd && keptEnd - end <= blockSize;
    const touchesAfter = start >= from && end > keptEnd && end - keptEnd <= blockSize;
    if (kept.length > 0 && touchesBefore) {
      kept = join(await fetch(start, from), kept);
      from = start;
    } else if (kept.length > 0 && touchesAfter) {
      kept = join(kept, await fetch(keptEnd, ahead));
    } else {
      kept = await fetch(start, ahead);
      from = start;
    }
  }

  /** Whole blocks at the beginning are dropped, so that reading on does not keep everything. */
  function dropOld(): void {
    const blocks = Math.floor(kept.length / (blockSize + 1));
    if (blocks <= 1) return;
    kept = new Uint8Array(kept.subarray(blockSize * blocks));
    from += blockSize * blocks;
  }

  return {
    async read(start, end) {
      await cover(start, end);
      const bytes = kept.subarray(start - from, end - from);
      if (trim) dropOld();
      return bytes;
    },
  };
}
