/**
 * Reads pieces of a tar archive, in ascending order. The bytes between two pieces are skipped; in a compressed archive,
 * they are decompressed and dropped.
 */
import type { ArchiveSource } from "../../archive/outer.ts";
import { decompress } from "../../archive/pieces.ts";
import type { Decompressor } from "./compression.ts";

export interface Blocks {
  /**
   * Returns `length` bytes from the offset `at`, or fewer at the end of the archive. The offset must not be lower than
   * in the call before.
   */
  read(at: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

export function openBlocks(source: ArchiveSource, decompressor: Decompressor): Blocks {
  return decompressor ? new StreamedBlocks(source, decompressor) : new RangedBlocks(source);
}

/** Number of bytes per request. One request may cover the headers of several small files, which lie close together. */
const windowSize = 256 * 1024;

class RangedBlocks implements Blocks {
  readonly #source: ArchiveSource;
  #start = 0;
  #window: Buffer = Buffer.alloc(0);

  constructor(source: ArchiveSource) {
    this.#source = source;
  }

  async read(at: number, length: number): Promise<Buffer> {
    if (at < this.#start || at + length > this.#start + this.#window.length) {
      const end = Math.min(this.#source.size, at + Math.max(length, windowSize));
      this.#window = at < end ? Buffer.from(await this.#source.bytes({ start: at, end })) : Buffer.alloc(0);
      this.#start = at;
    }
    return this.#window.subarray(at - this.#start, at - this.#start + length);
  }

  async close(): Promise<void> {}
}

/** Reads a compressed archive, which can only be read in sequence. */
class StreamedBlocks implements Blocks {
  readonly #pieces: AsyncGenerator<Uint8Array>;
  #start = 0;
  #window: Buffer = Buffer.alloc(0);

  constructor(source: ArchiveSource, decompressor: NonNullable<Decompressor>) {
    this.#pieces = decompress(source.stream({ start: 0, end: source.size }), decompressor());
  }

  async read(at: number, length: number): Promise<Buffer> {
    this.#drop(at);
    while (this.#start + this.#window.length < at + length) {
      const next = await this.#pieces.next();
      if (next.done) break;
      this.#window = this.#window.length === 0 ? Buffer.from(next.value) : Buffer.concat([this.#window, next.value]);
      this.#drop(at);
    }
    return this.#start === at ? this.#window.subarray(0, length) : Buffer.alloc(0);
  }

  #drop(at: number): void {
    const count = Math.min(at - this.#start, this.#window.length);
    this.#window = this.#window.subarray(count);
    this.#start += count;
  }

  async close(): Promise<void> {
    await this.#pieces.return(undefined);
  }
}
