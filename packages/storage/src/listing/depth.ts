/** Limits the depth of folders: a server may report a folder that contains itself. */
import { StorageError } from "../errors.ts";

/** Maximum number of nested folders. A key with more levels would exceed the length limit of every object store. */
const mostLevels = 1024;

/** Throws if a folder has more than the maximum depth. Call this before reading a folder that a server reported. */
export function checkDepth(folder: string): void {
  if (levelsOf(folder) <= mostLevels) return;
  const message = `${folder}: this path has more than ${mostLevels} folders, so a folder most likely contains itself`;
  throw new StorageError("failed", message, { key: folder });
}

function levelsOf(folder: string): number {
  let levels = 0;
  for (let at = folder.indexOf("/"); at >= 0; at = folder.indexOf("/", at + 1)) levels += 1;
  return levels;
}
