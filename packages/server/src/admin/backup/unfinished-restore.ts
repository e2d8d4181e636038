/** A mark in a data folder that a restore has begun to fill: until it is gone, nobody may use the folder. */
import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";

export const unfinishedRestore = (dataDir: string) => join(dataDir, "restore.unfinished");

export const markUnfinished = (dataDir: string) =>
  writeFile(unfinishedRestore(dataDir), "A restore has not finished here.\n", { mode: 0o600, flush: true });

/** For a server that is about to start. */
export async function refuseUnfinished(dataDir: string): Promise<void> {
  const marked = await access(unfinishedRestore(dataDir)).then(
    () => true,
    () => false,
  );
  if (!marked) return;
  throw new Error(
    `A restore into ${dataDir} was cut short. Remove the folder (and empty the database, where one is used), and restore again.`,
  );
}
