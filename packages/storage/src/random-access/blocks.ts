/** An LRU cache of a file's blocks, shared by `blockcache` and `background`. */
import { type CacheSetup, join } from "./file-cache.ts";

const defaultBlocks = 32;

export class Blocks {
  readonly #setup: CacheSetup;
  readonly #limit: number;
  /** Blocks by number, in the order of their last use. */
  readonly #kept = new Map<number, Uint8Array>();

  constructor(setup: CacheSetup) {
    this.#setup = setup;
    this.#limit = setup.options.maxblocks ?? defaultBlocks;
  }

  has(number: number): boolean {
    return this.#kept.has(number);
  }

  keep(number: number, bytes: Uint8Array): void {
    this.#kept.delete(number);
    this.#kept.set(number, bytes);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#limit) break;
      this.#kept.delete(oldest);
    }
  }

  fetch(number: number): Promise<Uint8Array> {
    const { fetch, size, blockSize } = this.#setup;
    return fetch(number * blockSize, Math.min(size, (number + 1) * blockSize));
  }

  async get(number: number): Promise<Uint8Array> {
    const bytes = this.#kept.get(number) ?? (await this.fetch(number));
    this.keep(number, bytes);
    return bytes;
  }

  /** Returns the bytes of a range. Sends one request for each missing block, never one for several blocks. */
  async read(start: number, end: number): Promise<Uint8Array> {
    const { blockSize } = this.#setup;
    const pieces: Uint8Array[] = [];
    for (let number = Math.floor(start / blockSize); number * blockSize < end; number += 1) {
      const block = await this.get(number);
      pieces.push(block.subarray(Math.max(0, start - number * blockSize), end - number * blockSize));
    }
    return join(...pieces);
  }
}
