/** A marker file in a data folder that a restore is filling. While it exists, no server may use the folder. */
import { access, writeFile } from "node:fs/promises";
import type { DataFolder } from "../../machine/data-folder.ts";

export const markUnfinished = ({ unfinishedRestore }: DataFolder) =>
  writeFile(unfinishedRestore, "A restore has not finished here.\n", { mode: 0o600, flush: true });

/** Throws if a restore into this data folder was interrupted. Called before a server starts. */
export async function refuseUnfinished({ path, unfinishedRestore }: DataFolder): Promise<void> {
  const marked = await access(unfinishedRestore).then(
    () => true,
    () => false,
  );
  if (!marked) return;
  throw new Error(
    `A restore into ${path} was interrupted, so the folder is incomplete. Delete ${path}, empty the database if you use PostgreSQL, and run the restore again.`,
  );
}
