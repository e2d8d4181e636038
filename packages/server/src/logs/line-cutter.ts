/**
 * Cuts a log into the lines that a viewer numbers. The result depends only on the bytes of the log. A line ends after
 * LF. A progress bar, which writes its text again and again after CR, is one line; after 1 MiB of this a new line
 * begins. Text that has neither LF nor CR for 16 KiB is cut at a UTF-8 boundary.
 */
const textLimit = 16 * 1024;
const lineLimit = 1024 * 1024;
const lf = 10;
const cr = 13;

export class LineCutter {
  /** Offset of the first byte of the unfinished line. */
  line: number;
  /** Offset of the next byte to look at. */
  at: number;
  /** Offset after the last CR of the unfinished line; its start if there is none. */
  #text: number;

  /** `offset` is the start of a line. */
  constructor(offset: number) {
    this.line = offset;
    this.at = offset;
    this.#text = offset;
  }

  /** Takes the bytes from `at` on. Returns the offsets at which lines end, exclusive. */
  cut(bytes: Buffer): number[] {
    const base = this.at;
    const ends: number[] = [];
    const next = { lf: -2, cr: -2 };
    for (let index = 0; ; ) {
      // Each index is searched again only after it was passed: see cutPieces.
      if (next.lf !== -1 && next.lf < index) next.lf = bytes.indexOf(lf, index);
      if (next.cr !== -1 && next.cr < index) next.cr = bytes.indexOf(cr, index);
      const mark = next.cr === -1 || (next.lf !== -1 && next.lf < next.cr) ? next.lf : next.cr;
      const limit = Math.max(index, this.#text + textLimit - base);
      if (mark !== -1 && mark <= limit) {
        index = mark + 1;
        if (mark === next.lf || base + index - this.line >= lineLimit) this.#end(base + index, ends);
        else this.#text = base + index;
        continue;
      }
      const end = utf8Start(bytes, limit);
      if (end >= bytes.length) break;
      index = end;
      this.#end(base + end, ends);
    }
    this.at = base + bytes.length;
    return ends;
  }

  #end(offset: number, ends: number[]): void {
    ends.push(offset);
    this.line = offset;
    this.#text = offset;
  }
}

/** Returns `index`, or up to three more, so that no UTF-8 sequence is split. */
function utf8Start(bytes: Buffer, index: number): number {
  let start = index;
  while (start < index + 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return start;
}
