/**
 * Encodes and decodes the frames between this process and the Python process. `bridge_wire.py` describes their format.
 */

export const kinds = {
  request: 1,
  data: 2,
  end: 3,
  credit: 4,
  cancel: 5,
  result: 6,
  error: 7,
  head: 8,
  page: 9,
} as const;

/** Maximum number of bytes of content in one frame. */
export const pieceSize = 256 * 1024;

/** Number of bytes that a sender may send before the receiver has reported that it read some of them. */
export const windowSize = 4 * pieceSize;

const headerSize = 9;
const longestFrame = 8 * 1024 * 1024;

export interface Frame {
  readonly kind: number;
  /** Number of the request that the frame belongs to. */
  readonly number: number;
  readonly payload: Buffer;
}

export function frameHeader(kind: number, number: number, length: number): Buffer {
  const header = Buffer.allocUnsafe(headerSize);
  header.writeUInt32BE(length, 0);
  header.writeUInt8(kind, 4);
  header.writeUInt32BE(number, 5);
  return header;
}

/** Assembles frames from the chunks that a pipe delivers. */
export class FrameReader {
  #pieces: Buffer[] = [];
  #length = 0;
  #wanted = headerSize;

  /**
   * Yields the frames that are complete with these bytes. Throws at an invalid frame, because nothing after it can be
   * trusted.
   */
  *read(bytes: Buffer): Generator<Frame> {
    this.#pieces.push(bytes);
    this.#length += bytes.length;
    while (this.#length >= this.#wanted) {
      const all = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces, this.#length);
      const end = headerSize + checkedLength(all);
      this.#pieces = [all];
      this.#wanted = end;
      if (all.length < end) return;
      yield { kind: all.readUInt8(4), number: all.readUInt32BE(5), payload: all.subarray(headerSize, end) };
      this.#pieces = [all.subarray(end)];
      this.#length = all.length - end;
      this.#wanted = headerSize;
    }
  }
}

function checkedLength(header: Buffer): number {
  const length = header.readUInt32BE(0);
  const kind = header.readUInt8(4);
  if (length <= longestFrame && kind >= kinds.credit && kind <= kinds.page) return length;
  if (kind === kinds.data && length <= pieceSize) return length;
  throw new Error(`unexpected frame: kind ${kind}, ${length} bytes`);
}
