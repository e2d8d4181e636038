/** Makes a link instead of a copy, if source and target are local files. */
import { link, mkdir, rename, rm, symlink } from "node:fs/promises";
import { dirname } from "node:path";
import { temporaryKey } from "../address/tree-path.ts";

export const linkTypes = ["copy", "symlink", "hardlink"] as const;

export type LinkType = (typeof linkTypes)[number];

/**
 * Makes a symbolic or hard link at `to`, which replaces an existing file. Returns false if the file system cannot make
 * the link; the caller then copies the file.
 */
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
    // If `to` already is a hard link to the same file, the renaming does nothing and the temporary link remains.
    await rm(temporary, { force: true });
  }
}

const refusals = ["EPERM", "EXDEV", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EACCES"];
