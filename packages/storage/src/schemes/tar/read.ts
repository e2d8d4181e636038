/** Reads a file of a tar archive. */
import type { ArchiveSource, Range } from "../../archive/outer.ts";
import { cut, decompress } from "../../archive/pieces.ts";
import type { TarMember } from "./directory.ts";

/** Yields the bytes of a file. In a compressed archive, everything before the file is decompressed too, and dropped. */
export async function* readMember(
  source: ArchiveSource,
  key: string,
  member: TarMember,
  { start, end, signal }: Range,
): AsyncGenerator<Uint8Array> {
  const [first, last] = [member.start + start, member.start + end];
  const { decompressor } = member;
  const all = { start: 0, end: source.size, signal };
  const body = decompressor
    ? cut(decompress(source.stream(all), decompressor()), first, last)
    : source.stream({ start: first, end: last, signal });
  let count = 0;
  for await (const piece of body) {
    count += piece.length;
    yield piece;
  }
  if (count < end - start) throw source.damaged(`the archive ends in the middle of ${key}`);
}
