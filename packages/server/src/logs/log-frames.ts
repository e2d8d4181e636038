/**
 * The frames of a log as its followers get them: read, masked and written as JSON once for all who are at the same place.
 * Frames end at a grid, so that followers who began at different places soon are at the same one.
 */
import type { LogPiece } from "@millrace/contract";
import { type ByteSource, readPieces } from "./read-pieces.ts";

const grid = 64 * 1024;
/** Bytes of frames that are kept for those who come a little later. */
const keptBytes = 4 * 1024 * 1024;

export interface Frame {
  /** JSON text. */
  readonly text: Buffer;
  /** Where the next one begins. */
  readonly next: number;
}

export class LogFrames {
  readonly #source: ByteSource;
  /** By their offsets, oldest first. */
  readonly #kept = new Map<number, Frame>();
  readonly #reading = new Map<string, Promise<Frame | undefined>>();
  /** Where nothing was, since the log was last known to have changed. */
  #nothing = new Set<string>();
  #keptBytes = 0;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /** Undefined: nothing is there, for now. `ended` must have been true before the call. */
  async at(offset: number, ended: boolean): Promise<Frame | undefined> {
    const kept = this.#kept.get(offset);
    if (kept) return kept;
    const key = `${offset} ${ended}`;
    if (this.#nothing.has(key)) return undefined;
    const reading = this.#reading.get(key) ?? this.#read(offset, ended).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  /** The log has changed: there may be more where nothing was. */
  lookAgain(): void {
    this.#nothing = new Set();
  }

  /** The log was cut: what is kept is no longer what it holds. */
  forget(): void {
    this.#kept.clear();
    this.#keptBytes = 0;
  }

  async #read(offset: number, ended: boolean): Promise<Frame | undefined> {
    const nothing = this.#nothing;
    const { pieces, next } = await this.#pieces(offset, ended);
    // Into the set of when it was asked for: meanwhile there may be something.
    if (pieces.length === 0) nothing.add(`${offset} ${ended}`);
    if (pieces.length === 0) return undefined;
    const frame = { text: Buffer.from(JSON.stringify({ logs: pieces })), next };
    this.#keep(offset, frame);
    return frame;
  }

  /** Up to the grid; a piece that is too long for that, by itself. */
  async #pieces(offset: number, ended: boolean): Promise<{ pieces: LogPiece[]; next: number }> {
    // A frame has at least half a cell: otherwise every second one would be the piece that crosses the line.
    const end = Math.ceil((offset + grid / 2 + 1) / grid) * grid;
    const batch = await readPieces(this.#source, offset, ended, Number.POSITIVE_INFINITY, end - offset);
    return batch.pieces.length > 0 ? batch : readPieces(this.#source, offset, ended, 1);
  }

  #keep(offset: number, frame: Frame): void {
    this.#keptBytes += frame.text.length - (this.#kept.get(offset)?.text.length ?? 0);
    this.#kept.set(offset, frame);
    for (const [oldest, { text }] of this.#kept) {
      if (this.#keptBytes <= keptBytes) return;
      this.#kept.delete(oldest);
      this.#keptBytes -= text.length;
    }
  }
}
