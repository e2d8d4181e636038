/** Moves and removes files over SFTP. */
import { checkTreePath } from "../../address/tree-path.ts";
import type { CallOptions } from "../../backend.ts";
import { isStorageError } from "../../errors.ts";
import { checkDepth } from "../../listing/depth.ts";
import { generalFailure, noSuchFile, statusOf } from "./errors.ts";
import { readNames, removeFolder, removePath, statPath } from "./files.ts";
import { statFile } from "./read.ts";
import type { Session } from "./session.ts";
import { replace, withFolders } from "./write.ts";

export async function moveFile(session: Session, from: string, to: string, call: CallOptions): Promise<void> {
  checkTreePath("sftp", to);
  await statFile(session, from, call);
  await withFolders(session, to, call, (files) => replace(files, from, to));
}

/** Removes a file. If the key is missing or a folder, does nothing. */
export async function removeFile(session: Session, key: string, call: CallOptions): Promise<void> {
  checkTreePath("sftp", key);
  await session.run(key, call, async (files) => {
    try {
      await removePath(files, key);
    } catch (error) {
      if (statusOf(error) === noSuchFile) return;
      const isFolder = statusOf(error) === generalFailure && (await statPath(files, key)).isDirectory();
      if (!isFolder) throw error;
    }
  });
}

export async function removeTree(session: Session, key: string, call: CallOptions): Promise<void> {
  await removeFile(session, key, call);
  await removeBelow(session, key, call);
}

/** Removes a folder with its contents. Links in it are removed, not followed. */
async function removeBelow(session: Session, folder: string, call: CallOptions): Promise<void> {
  checkDepth(folder);
  try {
    const names = await session.run(folder, call, (files) => readNames(files, folder));
    for (const { filename, attrs } of names) {
      if (filename === "." || filename === "..") continue;
      const key = `${folder}/${filename}`;
      if (attrs.isDirectory()) await removeBelow(session, key, call);
      else await session.run(key, call, (files) => removePath(files, key));
    }
    await session.run(folder, call, (files) => removeFolder(files, folder));
  } catch (error) {
    if (!isStorageError(error, "not_found")) throw error;
  }
}
