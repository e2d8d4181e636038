/**
 * The index of the lines of a log: the offset of every line that begins a new stretch of 64 KiB. It grows with the log,
 * and its size is bounded: when it has too many marks, every second one is dropped.
 */
import { LineCutter } from "./line-cutter.ts";

const mostMarks = 65_536;

/** A line and where it begins. The first line has the number 0. */
export interface LinePlace {
  readonly line: number;
  readonly offset: number;
}

export class LineIndex {
  readonly #cutter = new LineCutter(0);
  #lines: number[] = [0];
  #offsets: number[] = [0];
  #spacing = 64 * 1024;
  #finished = 0;

  /** Number of bytes that are counted. */
  get counted(): number {
    return this.#cutter.at;
  }

  /** Number of lines, with the unfinished one if it has any bytes. */
  get lines(): number {
    return this.#finished + (this.#cutter.at > this.#cutter.line ? 1 : 0);
  }

  get marks(): number {
    return this.#lines.length;
  }

  /** Takes the bytes from `counted` on. */
  take(bytes: Buffer): void {
    for (const end of this.#cutter.cut(bytes)) {
      this.#finished++;
      if (end - (this.#offsets.at(-1) as number) >= this.#spacing) this.#mark(end);
    }
  }

  /** Returns the last marked line that is not after this one. */
  near(line: number): LinePlace {
    let low = 0;
    let high = this.#lines.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((this.#lines[middle] as number) <= line) low = middle;
      else high = middle;
    }
    return { line: this.#lines[low] as number, offset: this.#offsets[low] as number };
  }

  #mark(offset: number): void {
    this.#lines.push(this.#finished);
    this.#offsets.push(offset);
    if (this.#lines.length <= mostMarks) return;
    this.#lines = this.#lines.filter((_, index) => index % 2 === 0);
    this.#offsets = this.#offsets.filter((_, index) => index % 2 === 0);
    this.#spacing *= 2;
  }
}
