/** Reads the directory at the end of a ZIP archive, and nothing else of the archive. */
import { longestDirectory, type Members, memberKey } from "../../archive/member.ts";
import type { ArchiveSource } from "../../archive/outer.ts";
import type { ByteRange } from "../../backend.ts";
import { headerSize, headerSizeOf, parseHeader, type ZipMember } from "./header.ts";

/**
 * Number of bytes to search at the end of the archive: the end record with the longest possible comment, and the ZIP64
 * locator before it.
 */
const longestEnd = 22 + 65_535 + 20;
const endSize = 22;

interface DirectoryPlace extends ByteRange {
  readonly count: number;
  /**
   * Number of bytes in the file before the archive begins. A self-extracting archive, for example, begins after its
   * program. Offsets in the archive do not count these bytes.
   */
  readonly shift: number;
}

export async function readDirectory(source: ArchiveSource): Promise<Members<ZipMember>> {
  const place = await findDirectory(source);
  const members: Members<ZipMember> = new Map();
  let count = 0;
  for await (const header of headersOf(source, place)) {
    count += 1;
    const { name, member } = parseHeader(header, place.shift);
    // A trailing slash marks a folder.
    const key = /[/\\]$/.test(name) ? undefined : memberKey(name);
    // If two members have the same name, the later one wins.
    if (key !== undefined) members.delete(key);
    if (key !== undefined) members.set(key, member);
  }
  if (count !== place.count)
    throw source.damaged(`the archive is damaged: its directory lists ${count} files instead of ${place.count}`);
  return members;
}

async function* headersOf(source: ArchiveSource, { start, end }: DirectoryPlace): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of source.stream({ start, end })) {
    rest = rest.length === 0 ? Buffer.from(piece) : Buffer.concat([rest, piece]);
    let at = 0;
    while (rest.length - at >= headerSize) {
      const size = headerSizeOf(rest.subarray(at));
      if (size === undefined) throw source.damaged("the archive is damaged: its directory is invalid");
      if (rest.length - at < size) break;
      yield rest.subarray(at, at + size);
      at += size;
    }
    rest = rest.subarray(at);
  }
  if (rest.length > 0) throw source.damaged("the archive is damaged: its directory is invalid");
}

async function findDirectory(source: ArchiveSource): Promise<DirectoryPlace> {
  const from = Math.max(0, source.size - longestEnd);
  const tail = Buffer.from(await source.bytes({ start: from, end: source.size }));
  const at = findEnd(tail);
  if (at < 0) throw source.damaged("this is not a ZIP archive");
  const large = await findLarge(source, tail, at);
  const end = large?.at ?? from + at;
  const count = large?.count ?? tail.readUInt16LE(at + 10);
  const size = large?.size ?? tail.readUInt32LE(at + 12);
  const offset = large?.offset ?? tail.readUInt32LE(at + 16);
  const shift = end - size - offset;
  if (shift < 0)
    throw source.damaged("the archive is damaged: the size and the offset of its directory do not fit into the file");
  if (size > longestDirectory)
    throw source.damaged(`the archive's directory of ${size} bytes exceeds the limit of ${longestDirectory} bytes`);
  return { start: end - size, end, count, shift };
}

/**
 * Returns the offset of the end record, or -1 if there is none. A comment may contain something that looks like an end
 * record. So an end record counts only if its comment ends exactly at the end of the archive.
 */
function findEnd(tail: Buffer): number {
  for (let at = tail.length - endSize; at >= 0; at -= 1) {
    if (tail.readUInt32LE(at) === 0x06054b50 && at + endSize + tail.readUInt16LE(at + 20) === tail.length) return at;
  }
  return -1;
}

/**
 * Reads the ZIP64 end record. Returns undefined if there is none. Large archives have this record, because their sizes
 * do not fit into the plain end record.
 */
async function findLarge(source: ArchiveSource, tail: Buffer, end: number) {
  const locator = end - 20;
  if (locator < 0 || tail.readUInt32LE(locator) !== 0x07064b50) return undefined;
  // The stored offset is wrong if there are bytes before the archive. In that case, the record is looked for directly
  // before the locator.
  const told = Number(tail.readBigUInt64LE(locator + 8));
  const here = source.size - tail.length + locator - 56;
  for (const at of [told, here]) {
    const record = Buffer.from(await source.bytes({ start: Math.max(0, at), end: Math.max(0, at) + 56 }));
    if (record.length < 56 || record.readUInt32LE(0) !== 0x06064b50) continue;
    const number = (offset: number) => Number(record.readBigUInt64LE(offset));
    return { at, count: number(32), size: number(40), offset: number(48) };
  }
  throw source.damaged("the archive is damaged: its ZIP64 end record is missing");
}
