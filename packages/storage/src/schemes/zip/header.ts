/** Parses one entry of the directory of a ZIP archive. */
import type { Member } from "../../archive/member.ts";
import { decodeName } from "./name.ts";

export interface ZipMember extends Member {
  readonly method: number;
  readonly compressedSize: number;
  readonly crc: number;
  /** Offset of the local header before the member's bytes. */
  readonly headerStart: number;
}

export const methods = { stored: 0, deflated: 8 } as const;

export const headerSize = 46;

/** Returns the size in bytes of a directory entry, or undefined if the bytes are not a directory entry. */
export function headerSizeOf(header: Buffer): number | undefined {
  if (header.readUInt32LE(0) !== 0x02014b50) return undefined;
  return headerSize + header.readUInt16LE(28) + header.readUInt16LE(30) + header.readUInt16LE(32);
}

export function parseHeader(header: Buffer, shift: number): { name: string; member: ZipMember } {
  const flags = header.readUInt16LE(8);
  const method = header.readUInt16LE(10);
  const crc = header.readUInt32LE(16);
  const nameEnd = headerSize + header.readUInt16LE(28);
  const extra = header.subarray(nameEnd, nameEnd + header.readUInt16LE(30));
  const { size, compressedSize, start } = sizesOf(header, extra);
  const member: ZipMember = {
    size,
    compressedSize,
    crc,
    method,
    headerStart: start + shift,
    etag: `${crc.toString(16).padStart(8, "0")}-${size.toString(16)}`,
    modified: timeOf(header, extra),
    refusal: refusalOf(flags, method),
  };
  return { name: decodeName(header.subarray(headerSize, nameEnd), (flags & 0x800) !== 0), member };
}

function refusalOf(flags: number, method: number): string | undefined {
  if (flags & 1) return "the file is encrypted, which is not supported";
  if (Object.values<number>(methods).includes(method)) return undefined;
  return `the file is compressed with method ${method}, but only stored and deflated files are supported; try fsspec+zip://`;
}

const inExtra = 0xffff_ffff;

/**
 * Returns size, compressed size and offset. A value that is too large for the header is in the ZIP64 extra field, which
 * contains such values in the same order.
 */
function sizesOf(header: Buffer, extra: Buffer) {
  const large = findExtra(extra, 1);
  let at = 0;
  const number = (offset: number) => {
    const small = header.readUInt32LE(offset);
    if (small !== inExtra || !large || large.length < at + 8) return small;
    at += 8;
    return Number(large.readBigUInt64LE(at - 8));
  };
  const size = number(24);
  const compressedSize = number(20);
  return { size, compressedSize, start: number(42) };
}

/**
 * Returns the modification time, or null if there is none. If the entry has only a local time without a time zone, the
 * local time is taken for UTC.
 */
function timeOf(header: Buffer, extra: Buffer): Date | null {
  const exact = findExtra(extra, 0x5455);
  if (exact && exact.length >= 5 && exact.readUInt8(0) & 1) return new Date(exact.readInt32LE(1) * 1000);
  const [time, date] = [header.readUInt16LE(12), header.readUInt16LE(14)];
  if (date === 0) return null;
  const day = [1980 + (date >> 9), ((date >> 5) & 15) - 1, date & 31] as const;
  return new Date(Date.UTC(...day, time >> 11, (time >> 5) & 63, (time & 31) * 2));
}

function findExtra(extra: Buffer, id: number): Buffer | undefined {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) === id) return extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2));
  }
  return undefined;
}
