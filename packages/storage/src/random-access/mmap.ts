/**
 * `mmap`: keeps every byte that was read, and never requests it again. The bytes are in a sparse temporary file, so
 * they take up disk space, not memory.
 */
import { randomUUID } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CacheSetup, FileCache } from "./file-cache.ts";

export function sparseFileCache({ fetch, size, blockSize }: CacheSetup): FileCache {
  const filled = new Set<number>();
  let opening: Promise<FileHandle> | undefined;

  /** Requests neighbouring missing blocks together. */
  async function fillRun(file: FileHandle, first: number, last: number): Promise<void> {
    const start = first * blockSize;
    const bytes = await fetch(start, Math.min(size, (last + 1) * blockSize));
    await file.write(bytes, 0, bytes.length, start);
    for (let number = first; number <= last; number += 1) filled.add(number);
  }

  return {
    async read(start, end) {
      opening ??= openNameless();
      const file = await opening;
      const last = Math.floor((end - 1) / blockSize);
      for (let number = Math.floor(start / blockSize); number <= last; number += 1) {
        if (filled.has(number)) continue;
        const first = number;
        while (number < last && !filled.has(number + 1)) number += 1;
        await fillRun(file, first, number);
      }
      const target = Buffer.allocUnsafe(end - start);
      const { bytesRead } = await file.read(target, 0, target.length, start);
      return target.subarray(0, bytesRead);
    },
    close: async () => (await opening)?.close(),
  };
}

/** Opens a temporary file and removes its name, so that the file disappears with the process, even after a crash. */
async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `millrace-storage-${randomUUID()}`);
  const file = await open(path, "wx+", 0o600);
  await rm(path, { force: true });
  return file;
}
