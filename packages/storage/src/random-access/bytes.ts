/**
 * `bytes`: like `readahead`, but a read near the buffer extends the buffer instead of replacing it. A read is near if
 * its end and the end of the buffer are at most one block apart. A read that starts before the buffer and ends after it
 * replaces the buffer.
 */
import { type CacheSetup, type FileCache, join } from "./file-cache.ts";

export function bytesCache({ fetch, size, blockSize, options: { trim = true } }: CacheSetup): FileCache {
  let kept: Uint8Array = new Uint8Array();
  let from = 0;

  async function startAnew(start: number, end: number): Promise<void> {
    kept = await fetch(start, end);
    from = start;
  }

  /**
   * Makes the buffer cover a range. A read that reaches the end of the buffer extends the buffer by a further block,
   * because the next read will most likely need it.
   */
  async function cover(start: number, end: number): Promise<void> {
    const keptEnd = from + kept.length;
    const ahead = Math.min(size, end + blockSize);
    const isAround = start < from && end > keptEnd;
    const isAway = start < from ? keptEnd - end > blockSize : end - keptEnd > blockSize;
    if (kept.length === 0 || isAround || isAway) await startAnew(start, ahead);
    else if (start < from) {
      kept = join(await fetch(start, from), kept);
      from = start;
    } else if (ahead > keptEnd) kept = join(kept, await fetch(keptEnd, ahead));
  }

  /**
   * Drops whole blocks at the beginning of the buffer, so that sequential reads do not keep the whole file in memory.
   */
  function dropOld(): void {
    const blocks = Math.floor(kept.length / (blockSize + 1));
    if (blocks <= 1) return;
    kept = new Uint8Array(kept.subarray(blockSize * blocks));
    from += blockSize * blocks;
  }

  return {
    async read(start, end) {
      if (start >= from && end < from + kept.length) return kept.subarray(start - from, end - from);
      await cover(start, end);
      const bytes = kept.subarray(start - from, end - from);
      if (trim) dropOld();
      return bytes;
    },
  };
}
