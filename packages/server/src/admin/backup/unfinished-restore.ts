/** A mark in a data folder that a restore has begun to fill: until it is gone, nobody may use the folder. */
import { access, writeFile } from "node:fs/promises";
import type { DataFolder } from "../../machine/data-folder.ts";

export const markUnfinished = ({ unfinishedRestore }: DataFolder) =>
  writeFile(unfinishedRestore, "A restore has not finished here.\n", { mode: 0o600, flush: true });

/** For a server that is about to start. */
export async function refuseUnfinished({ path, unfinishedRestore }: DataFolder): Promise<void> {
  const marked = await access(unfinishedRestore).then(
    () => true,
    () => false,
  );
  if (!marked) return;
  throw new Error(
    `A restore into ${path} was cut short. Remove the folder (and empty the database, where one is used), and restore again.`,
  );
}
