/** `background`: like `blockcache`, and fetches the next block while the reader works on the current one. */
import { Blocks } from "./blocks.ts";
import type { CacheSetup, FileCache } from "./file-cache.ts";

export function backgroundCache(setup: CacheSetup): FileCache {
  const { size, blockSize } = setup;
  const blocks = new Blocks(setup);
  let coming: { number: number; bytes: Promise<Uint8Array | undefined> } | undefined;

  /**
   * Waits for the prefetched block and keeps it. A failure is ignored, because a read that needs the block requests it
   * again.
   */
  async function takeComing(): Promise<void> {
    if (!coming) return;
    const { number, bytes } = coming;
    coming = undefined;
    const block = await bytes;
    if (block) blocks.keep(number, block);
  }

  function fetchAhead(number: number): void {
    if (coming || number * blockSize >= size || blocks.has(number)) return;
    coming = { number, bytes: blocks.fetch(number).catch(() => undefined) };
  }

  return {
    async read(start, end) {
      const first = Math.floor(start / blockSize);
      const last = Math.floor((end - 1) / blockSize);
      if (coming && coming.number >= first && coming.number <= last) await takeComing();
      const bytes = await blocks.read(start, end);
      // If the prefetched block is not the next one, it is kept, and the next one is prefetched instead.
      if (coming && coming.number !== last + 1) await takeComing();
      fetchAhead(last + 1);
      return bytes;
    },
    close: takeComing,
  };
}
