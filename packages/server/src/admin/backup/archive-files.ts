/** Reads and writes the files of a backup as streams, with their digests, and never through a symbolic link. */
import { createHash } from "node:crypto";
import { constants, createReadStream, createWriteStream } from "node:fs";
import { type FileHandle, lstat, mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Transform } from "node:stream";
import { finished } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import type { Measured } from "../../blobs/blobs.ts";

const chunk = 256 * 1024;
/** Size of a file-system block, in bytes. */
const block = 4096;
const zeros = Buffer.alloc(block);
/** Maximum number of characters in a line of a backup's lists. No row of a database is that long. */
const longestLine = 256 * 1024 * 1024;

/** Opens a regular file; undefined if there is none at the path. */
async function openPlain(path: string): Promise<FileHandle | undefined> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ELOOP") return undefined;
    throw error;
  });
  if (!file || (await file.stat()).isFile()) return file;
  await file.close();
  return undefined;
}

/**
 * Copies a file up to the length that it has when it is opened, because a job may still write to it. Blocks of zeros
 * are not written, so that a sparse file needs no more disk space in the copy. Returns undefined if there is no regular
 * file at the path.
 */
export async function copyPlain(source: string, target: string): Promise<Measured | undefined> {
  const from = await openPlain(source);
  if (!from) return undefined;
  try {
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    const to = await open(target, "wx", 0o600);
    try {
      const measured = await measure(from, (bytes, offset) => writeData(to, bytes, offset));
      // The last block may be a hole, so the length is set explicitly.
      await to.truncate(measured.size);
      return measured;
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

/** Returns the size and digest of a file; undefined if there is no regular file at the path. */
export async function digestPlain(path: string): Promise<Measured | undefined> {
  const file = await openPlain(path);
  if (!file) return undefined;
  return measure(file, async () => {}).finally(() => file.close());
}

/** Writes `bytes` at an offset, but skips blocks of zeros, which become holes in the file. */
async function writeData(file: FileHandle, bytes: Buffer, offset: number): Promise<void> {
  const isHole = (at: number) => {
    const part = bytes.subarray(at, at + block);
    return part.equals(part.length === block ? zeros : zeros.subarray(0, part.length));
  };
  for (let at = 0; at < bytes.length; ) {
    let end = at;
    while (end < bytes.length && !isHole(end)) end += block;
    const data = bytes.subarray(at, end);
    for (let done = 0; done < data.length; )
      done += (await file.write(data, done, data.length - done, offset + at + done)).bytesWritten;
    at = end === at ? at + block : end;
  }
}

async function measure(file: FileHandle, each: (bytes: Buffer, offset: number) => Promise<void>): Promise<Measured> {
  const { size } = await file.stat();
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafe(Math.min(chunk, Math.max(size, 1)));
  let offset = 0;
  while (offset < size) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, size - offset), offset);
    if (bytesRead === 0) break;
    const bytes = buffer.subarray(0, bytesRead);
    hash.update(bytes);
    await each(bytes, offset);
    offset += bytesRead;
  }
  return { size: offset, sha256: hash.digest("hex") };
}

/** Throws if a folder between `root` and the file is missing, or is a symbolic link or a file. */
export async function requirePlainFolders(root: string, path: string): Promise<void> {
  for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) {
    const found = await lstat(join(root, folder)).catch(() => undefined);
    if (!found?.isDirectory())
      throw new Error(
        `${folder} in the backup is missing or is not a folder, so the backup is damaged. Use another backup.`,
      );
  }
}

export interface LineWriter {
  write(value: unknown): Promise<void>;
  /** Resolves with the digest of the written file, once it is on disk. */
  end(): Promise<string>;
}

/** Writes JSON values to a gzip file, one per line. */
export function writeLines(path: string): LineWriter {
  const hash = createHash("sha256");
  const gzip = createGzip({ level: 6 });
  const meter = new Transform({
    transform(bytes: Buffer, _encoding, done) {
      hash.update(bytes);
      done(null, bytes);
    },
  });
  const file = createWriteStream(path, { flags: "wx", mode: 0o600, flush: true });
  // A failure of one stream ends all three; the next `write` or `end` rejects with it.
  const done = finished(file);
  done.catch(() => {});
  for (const stream of [gzip, meter]) stream.on("error", (error) => file.destroy(error));
  file.on("error", () => gzip.destroy());
  gzip.pipe(meter).pipe(file);
  return {
    async write(value) {
      if (gzip.write(`${JSON.stringify(value)}\n`)) return;
      await Promise.race([done, new Promise((resolve) => gzip.once("drain", resolve))]);
    },
    async end() {
      gzip.end();
      await done;
      return hash.digest("hex");
    },
  };
}

/** Reads JSON values from a gzip file, one per line. */
export async function* readLines(path: string): AsyncGenerator<unknown> {
  const gunzip = createGunzip();
  const file = createReadStream(path);
  file.on("error", (error) => gunzip.destroy(error));
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let length = 0;
  for await (const bytes of file.pipe(gunzip) as AsyncIterable<Buffer>) {
    const [head = "", ...rest] = decoder.decode(bytes, { stream: true }).split("\n");
    parts.push(head);
    length += head.length;
    if (length > longestLine)
      throw new Error(
        `${path} has a line that is too long, so it is damaged or not part of a backup. Use another backup.`,
      );
    for (const piece of rest) {
      yield JSON.parse(parts.join(""));
      parts = [piece];
      length = piece.length;
    }
  }
}
