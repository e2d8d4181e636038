/**
 * Frames of a log for its followers. Each frame is read, masked and encoded as JSON once, for all followers at the same
 * offset. Frames end at multiples of a fixed size, so that followers that started at different offsets soon share
 * frames.
 */
import type { LogPiece } from "@millrace/contract";
import { type ByteSource, readPieces } from "./read-pieces.ts";

const grid = 64 * 1024;
/** Maximum number of bytes of cached frames per log. The cache is for followers that are slightly behind. */
const keptBytes = 4 * 1024 * 1024;
/** Maximum number of bytes of cached frames of all logs together. */
const keptOfAll = 64 * 1024 * 1024;

/**
 * Counts the bytes of the cached frames of all logs. Above `keptOfAll` bytes, the oldest frames are dropped, beginning
 * with the log whose cache has not changed for the longest time.
 */
export class KeptFrames {
  #bytes = 0;
  readonly #logs = new Set<LogFrames>();

  get bytes(): number {
    return this.#bytes;
  }

  change(log: LogFrames, bytes: number): void {
    this.#bytes += bytes;
    this.#logs.delete(log);
    if (log.keptBytes > 0) this.#logs.add(log);
    for (const oldest of this.#logs) {
      if (this.#bytes <= keptOfAll) return;
      oldest.dropOldest();
    }
  }
}

export interface Frame {
  /** The frame as JSON text. */
  readonly text: Buffer;
  /** Offset at which the next frame starts. */
  readonly next: number;
}

export class LogFrames {
  readonly #source: ByteSource;
  /** Cached frames by offset, oldest first. */
  readonly #kept = new Map<number, Frame>();
  readonly #reading = new Map<string, Promise<Frame | undefined>>();
  /**
   * Reads that found nothing since the log last changed. Each entry is the text `offset ended`, made of the arguments
   * of the read.
   */
  #nothing = new Set<string>();
  readonly #all: KeptFrames;
  #keptBytes = 0;

  constructor(source: ByteSource, all = new KeptFrames()) {
    this.#source = source;
    this.#all = all;
  }

  get keptBytes(): number {
    return this.#keptBytes;
  }

  /**
   * Returns the frame at an offset; undefined if there is none yet. Set `ended` only if the log was already complete
   * before this call. Otherwise an unfinished last piece may be returned as if it were whole.
   */
  async at(offset: number, ended: boolean): Promise<Frame | undefined> {
    const kept = this.#kept.get(offset);
    if (kept) return kept;
    const key = `${offset} ${ended}`;
    if (this.#nothing.has(key)) return undefined;
    const reading = this.#reading.get(key) ?? this.#read(offset, ended).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  /** Call this when the log has changed. Offsets that had no content may have some now. */
  lookAgain(): void {
    this.#nothing = new Set();
  }

  /** Clears the cache, because the log was truncated or has no followers left. */
  forget(): void {
    this.#kept.clear();
    this.#count(-this.#keptBytes);
  }

  dropOldest(): void {
    const [oldest] = this.#kept;
    if (!oldest) return;
    const [offset, { text }] = oldest;
    this.#kept.delete(offset);
    this.#count(-text.length);
  }

  #count(bytes: number): void {
    this.#keptBytes += bytes;
    this.#all.change(this, bytes);
  }

  async #read(offset: number, ended: boolean): Promise<Frame | undefined> {
    const nothing = this.#nothing;
    const { pieces, next } = await this.#pieces(offset, ended);
    // Added to the set that existed before the read, because the log may have grown since then.
    if (pieces.length === 0) nothing.add(`${offset} ${ended}`);
    if (pieces.length === 0) return undefined;
    const frame = { text: Buffer.from(JSON.stringify({ logs: pieces })), next };
    this.#keep(offset, frame);
    return frame;
  }

  /**
   * Reads pieces up to a multiple of `grid` bytes. If the first piece ends after that multiple, reads only this piece.
   */
  async #pieces(offset: number, ended: boolean): Promise<{ pieces: LogPiece[]; next: number }> {
    // A frame covers more than `grid / 2` bytes. Otherwise every second frame would hold only the piece that crosses a
    // multiple of `grid`.
    const end = Math.ceil((offset + grid / 2 + 1) / grid) * grid;
    const batch = await readPieces(this.#source, offset, ended, { length: end - offset });
    return batch.pieces.length > 0 ? batch : readPieces(this.#source, offset, ended, { maxPieces: 1 });
  }

  #keep(offset: number, frame: Frame): void {
    const before = this.#kept.get(offset)?.text.length ?? 0;
    this.#kept.set(offset, frame);
    this.#count(frame.text.length - before);
    while (this.#keptBytes > keptBytes) this.dropOldest();
  }
}
