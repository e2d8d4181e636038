/** Reads a file of a ZIP archive and decompresses it while reading. */
import { crc32, createInflateRaw } from "node:zlib";
import type { ArchiveSource, Range } from "../../archive/outer.ts";
import { cut, decompress } from "../../archive/pieces.ts";
import { methods, type ZipMember } from "./header.ts";

const localHeaderSize = 30;

export async function* readMember(
  source: ArchiveSource,
  key: string,
  member: ZipMember,
  { start, end, signal }: Range,
): AsyncGenerator<Uint8Array> {
  const first = await firstByte(source, key, member, signal);
  if (member.method === methods.stored) {
    if (member.compressedSize !== member.size)
      throw source.damaged(
        `the archive is damaged: ${key} is not compressed, but its compressed and uncompressed sizes differ`,
      );
    const isWhole = start === 0 && end === member.size;
    const body = source.stream({ start: first + start, end: first + end, signal });
    yield* isWhole ? checked(source, key, member, body) : body;
    return;
  }
  const packed = source.stream({ start: first, end: first + member.compressedSize, signal });
  yield* cut(checked(source, key, member, decompress(packed, createInflateRaw())), start, end);
}

/**
 * Returns the offset of the first byte of a file, after its local header. The local header must be read, because its
 * extra fields may be longer or shorter than those in the directory.
 */
async function firstByte(source: ArchiveSource, key: string, member: ZipMember, signal: AbortSignal | undefined) {
  const { headerStart } = member;
  const range = { start: headerStart, end: headerStart + localHeaderSize, signal };
  const header = Buffer.from(await source.bytes(range));
  if (header.length < localHeaderSize || header.readUInt32LE(0) !== 0x04034b50) {
    throw source.damaged(`the archive is damaged: ${key} is not at the offset that the directory states`);
  }
  return headerStart + localHeaderSize + header.readUInt16LE(26) + header.readUInt16LE(28);
}

/**
 * Yields the content, and checks its size and checksum. Fails as soon as the content is larger than the directory
 * states, so that a malicious archive cannot fill the memory.
 */
async function* checked(
  source: ArchiveSource,
  key: string,
  { size, crc }: ZipMember,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let count = 0;
  let sum = 0;
  for await (const piece of body) {
    count += piece.length;
    sum = crc32(piece, sum);
    if (count > size)
      throw source.damaged(`the archive is damaged: ${key} is larger than the ${size} bytes that the directory states`);
    if (count === size && sum !== crc)
      throw source.damaged(`the archive is damaged: the checksum of ${key} does not match its content`);
    yield piece;
  }
  if (count < size) throw source.damaged(`the archive is damaged: ${key} ends after ${count} of ${size} bytes`);
}
