/**
 * The frames of a log as its followers get them: read, masked and written as JSON once for all who are at the same place.
 * Frames end at a grid, so that followers who began at different places soon are at the same one.
 */
import type { LogPiece } from "@millrace/contract";
import { type ByteSource, readPieces } from "./read-pieces.ts";

const grid = 64 * 1024;
/** Bytes of frames that are kept for those who come a little later: of one log, and of all that are followed. */
const keptBytes = 4 * 1024 * 1024;
const keptOfAll = 64 * 1024 * 1024;

/** What all logs keep together. Whoever kept something longest ago gives up its oldest first. */
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
  readonly #all: KeptFrames;
  #keptBytes = 0;

  constructor(source: ByteSource, all = new KeptFrames()) {
    this.#source = source;
    this.#all = all;
  }

  get keptBytes(): number {
    return this.#keptBytes;
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

  /** The log was cut, or nobody follows it: what is kept is of no use any more. */
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
