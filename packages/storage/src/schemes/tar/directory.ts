/**
 * Lists the files of a tar archive. A tar archive has no table of contents, so the headers of all files are read, one
 * after the other.
 */
import { longestDirectory, type Member, type Members, memberCost, memberKey } from "../../archive/member.ts";
import type { ArchiveSource } from "../../archive/outer.ts";
import { type Blocks, openBlocks } from "./blocks.ts";
import { type Decompressor, findDecompressor } from "./compression.ts";
import { blockSize, isEmptyBlock, parseHeader, type TarHeader, textIn } from "./header.ts";

export interface TarMember extends Member {
  /** Offset of the member's bytes in the uncompressed archive. */
  readonly start: number;
  decompressor?: Decompressor;
}

/**
 * Extended attributes of a file, by name, such as a long path. In the archive, they stand before the file's own header,
 * because they do not fit into the header.
 */
type Remarks = Partial<Record<string, string>>;

/** Maximum size in bytes of all extended attributes of a file, because they are held in memory. */
const longestRemarks = 1024 * 1024;

export async function readMembers(source: ArchiveSource): Promise<Members<TarMember>> {
  const decompressor = await findDecompressor(source);
  const blocks = openBlocks(source, decompressor);
  try {
    const members = await goThrough(source, blocks);
    for (const member of members.values()) member.decompressor = decompressor;
    return members;
  } finally {
    await blocks.close();
  }
}

async function goThrough(source: ArchiveSource, blocks: Blocks): Promise<Members<TarMember>> {
  const members: Members<TarMember> = new Map();
  let remarks: Remarks = {};
  let remarked = 0;
  let kept = 0;
  for (let at = 0; ; ) {
    const block = await readBlock(source, blocks, at);
    if (block.length === 0 || isEmptyBlock(block)) return members;
    const header = parseHeader(block);
    if (!header)
      throw source.damaged(
        at === 0 ? "this is not a tar archive" : `the archive is damaged: the header at byte ${at} is invalid`,
      );
    const size = sizeOf(header, remarks);
    if (!Number.isSafeInteger(size) || size < 0)
      throw source.damaged(`the archive is damaged: the header at byte ${at} is invalid`);
    const start = at + blockSize;
    if (isRemark(header)) {
      remarked += size;
      if (remarked > longestRemarks)
        throw source.damaged(
          `the extended attributes before byte ${start} exceed the limit of ${longestRemarks} bytes`,
        );
      Object.assign(remarks, await readRemarks(blocks, header, start));
    } else {
      kept += addMember(members, header, remarks, start);
      if (kept > longestDirectory)
        throw source.damaged(`the archive's list of files exceeds the limit of ${longestDirectory} bytes`);
      remarks = {};
      remarked = 0;
    }
    at = start + Math.ceil(size / blockSize) * blockSize;
  }
}

async function readBlock(source: ArchiveSource, blocks: Blocks, at: number): Promise<Buffer> {
  try {
    return await blocks.read(at, blockSize);
  } catch (error) {
    // These are error codes of the decompressors.
    const { code = "" } = error as NodeJS.ErrnoException;
    throw /^(Z_|ZSTD_)/.test(code) ? source.damaged(`decompression failed: ${(error as Error).message}`) : error;
  }
}

const sizeOf = (header: TarHeader, remarks: Remarks) =>
  isRemark(header) || remarks["size"] === undefined ? header.size : Number(remarks["size"]);

const isRemark = ({ type }: TarHeader) => ["L", "K", "x", "g"].includes(type);

async function readRemarks(blocks: Blocks, { type, size }: TarHeader, at: number): Promise<Remarks> {
  const bytes = await blocks.read(at, size);
  if (type === "L") return { path: textIn(bytes) };
  return type === "x" ? parseRemarks(bytes) : {};
}

/** Parses lines such as `27 path=some/long/name\n`. The number is the length of the whole line in bytes. */
function parseRemarks(bytes: Buffer): Remarks {
  const remarks: Remarks = {};
  for (let at = 0; at < bytes.length; ) {
    const length = Number.parseInt(bytes.toString("latin1", at, at + 20), 10);
    if (!(length > 0)) break;
    const [, name = "", value = ""] = /^\d+ ([^=]*)=(.*)\n$/s.exec(bytes.toString("utf8", at, at + length)) ?? [];
    remarks[name] = value;
    at += length;
  }
  return remarks;
}

/**
 * Adds a member if it is a file. Links are left out, because a link may lead out of the archive. Returns how many bytes
 * the member counts towards `longestDirectory`.
 */
function addMember(members: Members<TarMember>, header: TarHeader, remarks: Remarks, start: number): number {
  const { type } = header;
  const name = remarks["path"] ?? header.name;
  const key = name.endsWith("/") ? undefined : memberKey(name);
  if (key === undefined || !["0", "\0", "7", "S"].includes(type)) return 0;
  const seconds = Number(remarks["mtime"]);
  const modified = remarks["mtime"] === undefined || Number.isNaN(seconds) ? header.modified : new Date(seconds * 1000);
  const isSparse = type === "S" || Object.keys(remarks).some((remark) => remark.startsWith("GNU.sparse."));
  const size = sizeOf(header, remarks);
  const etag = [Number(modified), size, start].map((number) => number.toString(16)).join("-");
  // If two members have the same name, the later one wins.
  members.delete(key);
  members.set(key, {
    size,
    etag,
    modified,
    start,
    refusal: isSparse ? "the file is sparse, which is not supported" : undefined,
  });
  return memberCost + Buffer.byteLength(key);
}
