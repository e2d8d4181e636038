/** Reads a log line by line, in batches of limited size. */
import { LineCutter } from "./line-cutter.ts";
import type { LinePlace } from "./line-index.ts";
import type { ByteSource } from "./read-pieces.ts";

export interface RawLine {
  readonly offset: number;
  /** The bytes with their line end. */
  readonly bytes: Buffer;
}

export interface LineBatch {
  /** Number of the first line; the first line of a log has the number 0. */
  readonly first: number;
  readonly lines: readonly RawLine[];
  /** Whether the batch reaches the current end of the log. Its last line may then be unfinished. */
  readonly atEnd: boolean;
}

const chunk = 128 * 1024;

export class LineReader {
  readonly #source: ByteSource;
  readonly #cutter: LineCutter;
  #line: number;
  /** Bytes of the unfinished line. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: ByteSource, { line, offset }: LinePlace) {
    this.#source = source;
    this.#line = line;
    this.#cutter = new LineCutter(offset);
  }

  async next(): Promise<LineBatch> {
    const bytes = await this.#source.read(this.#cutter.at, chunk);
    const atEnd = bytes.length < chunk;
    let offset = this.#cutter.line;
    const base = offset;
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const first = this.#line;
    const lines = this.#cutter.cut(bytes).map((end) => {
      const line = { offset, bytes: all.subarray(offset - base, end - base) };
      offset = end;
      return line;
    });
    this.#rest = all.subarray(offset - base);
    this.#line += lines.length;
    if (atEnd && this.#rest.length > 0) lines.push({ offset, bytes: this.#rest });
    return { first, lines, atEnd };
  }
}

/** Returns the last lines of a log of this size, without counting the lines before them; undefined if a line is long. */
export async function lastLines(source: ByteSource, size: number, count: number): Promise<RawLine[] | undefined> {
  const start = Math.max(0, size - chunk);
  const bytes = await source.read(start, size - start);
  // The first line of the chunk may be cut off. Only after LF is it certain that a line begins.
  const begin = start === 0 ? 0 : bytes.indexOf(10) + 1;
  if (begin === 0 && start > 0) return undefined;
  const ready: ByteSource = { read: async (offset, length) => bytes.subarray(offset - start).subarray(0, length) };
  const { lines } = await new LineReader(ready, { line: 0, offset: start + begin }).next();
  return lines.slice(Math.max(0, lines.length - count));
}
