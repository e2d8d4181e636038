/** Copies, moves and removes files. */
import { constants, copyFile as copy, mkdir, rename, rm, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { temporaryKey } from "../../address/tree-path.ts";
import type { CallOptions } from "../../backend.ts";
import { isStorageError } from "../../errors.ts";
import { named } from "./errors.ts";
import { checkPath } from "./path.ts";
import { statFile } from "./read.ts";

/** Copies a file. If the file system supports it, the copy shares the blocks of the original (reflink). */
export async function copyFile(from: string, to: string, call: CallOptions): Promise<void> {
  // Refuses a named pipe, which would block the copy.
  await statFile(from, call);
  const temporary = temporaryKey(checkPath(to));
  await named(from, async () => {
    await mkdir(dirname(to), { recursive: true });
    try {
      await copy(from, temporary, constants.COPYFILE_FICLONE);
      await rename(temporary, to);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  });
}

export async function moveFile(from: string, to: string, { signal }: CallOptions): Promise<void> {
  signal?.throwIfAborted();
  await named(from, async () => {
    await mkdir(dirname(checkPath(to)), { recursive: true });
    await rename(checkPath(from), to);
  });
}

export async function removeFile(key: string, { signal }: CallOptions): Promise<void> {
  signal?.throwIfAborted();
  try {
    await named(key, () => unlink(checkPath(key)));
  } catch (error) {
    if (!isStorageError(error, "not_found")) throw error;
  }
}

export async function removeTree(key: string, { signal }: CallOptions): Promise<void> {
  signal?.throwIfAborted();
  await named(key, () => rm(checkPath(key), { recursive: true, force: true }));
}
