/** A link in place of a copy, where both sides are files of this machine. */
import { link, mkdir, rename, rm, symlink } from "node:fs/promises";
import { dirname } from "node:path";
import { temporaryKey } from "../address/tree-path.ts";

export const linkTypes = ["copy", "symlink", "hardlink"] as const;

export type LinkType = (typeof linkTypes)[number];

/** False where the file system refuses: then a copy is made. */
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
    // A hard link to the same file is left where it is by a rename onto its twin.
    await rm(temporary, { force: true });
  }
}

const refusals = ["EPERM", "EXDEV", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EACCES"];
