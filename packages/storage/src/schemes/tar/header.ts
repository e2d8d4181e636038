/** Parses the header block before a file in a tar archive. */

export interface TarHeader {
  readonly name: string;
  readonly size: number;
  readonly modified: Date | null;
  /** The type flag: a letter or a digit. */
  readonly type: string;
}

export const blockSize = 512;

/** Parses a header block. Returns undefined if the block is not a header. */
export function parseHeader(block: Buffer): TarHeader | undefined {
  if (block.length < blockSize || numberIn(block, 148, 8) !== checksumOf(block)) return undefined;
  const text = (start: number, length: number) => textIn(block.subarray(start, start + length));
  // Only the ustar format has a prefix of the name here; older formats use these bytes for something else.
  const before = block.toString("latin1", 257, 263) === "ustar\0" ? text(345, 155) : "";
  return {
    name: before === "" ? text(0, 100) : `${before}/${text(0, 100)}`,
    size: numberIn(block, 124, 12),
    modified: new Date(numberIn(block, 136, 12) * 1000),
    type: String.fromCharCode(block.readUInt8(156)),
  };
}

export const isEmptyBlock = (block: Buffer) => block.every((byte) => byte === 0);

/** Returns the text up to the first zero byte. */
export function textIn(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.subarray(0, end < 0 ? bytes.length : end).toString();
}

/** Reads a number. Numbers are octal digits or, if the highest bit of the first byte is set, binary. */
function numberIn(block: Buffer, start: number, length: number): number {
  if (block.readUInt8(start) & 0x80) return Number(block.readBigUInt64BE(start + length - 8));
  return Number.parseInt(
    block
      .toString("latin1", start, start + length)
      .replaceAll("\0", " ")
      .trim() || "0",
    8,
  );
}

/** Returns the checksum of a header: the sum of all bytes, in which the checksum field itself counts as spaces. */
function checksumOf(block: Buffer): number {
  let sum = 8 * 32;
  for (const [at, byte] of block.entries()) if (at < 148 || at >= 156) sum += byte;
  return sum;
}
