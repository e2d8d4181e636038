/** Copying, moving and removing files. */
import { constants, copyFile as copy, mkdir, rename, rm, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import type { CallOptions } from "../../backend.ts";
import { isStorageError } from "../../errors.ts";
import { named } from "./errors.ts";
import { checkPath } from "./path.ts";

/** Blocks are shared where the file system can. */
export async function copyFile(from: string, to: string, { signal }: CallOptions): Promise<void> {
  signal?.throwIfAborted();
  await named(from, async () => {
    await mkdir(dirname(checkPath(to)), { recursive: true });
    await copy(checkPath(from), to, constants.COPYFILE_FICLONE);
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
