/** Makes a link instead of a copy, if source and target are local files. */
import { link, mkdir, rename, rm, symlink } from "node:fs/promises";
import { dirname } from "node:path";
import { temporaryKey } from "../address/tree-path.ts";

export const linkTypes = ["copy", "symlink", "hardlink"] as const;

export type LinkType = (typeof linkTypes)[number];

/** Returns false if the file system refuses; the caller then copies. */
export async function tryLink(type: Exclude<LinkType, "copy">, from: string, to: string): Promise<boolean> {
  const temporary = temporaryKey(to);
  await mkdir(dirname(to), { recursive: true });
  try {
    await (type === "symlink" ? symlink(from, temporary) : link(from, temporary));
    await rename(temporary, to);
    return true;
  } catch (error) {
    if (refusals.includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  } finally {
    // Renaming a hard link onto another link of the same file does nothing and leaves it behind.
    await rm(temporary, { force: true });
  }
}

const refusals = ["EPERM", "EXDEV", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EACCES"];
