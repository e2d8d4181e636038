/** How long the files of a database are: a copy of it takes that much at most. */
import { lstatSync } from "node:fs";

/** The write-ahead log beside a database. */
export const walOf = (path: string) => `${path}-wal`;

/** Pages that are not in the file yet are in the log. */
export const lengthWithLog = (path: string): number =>
  [path, walOf(path)].reduce((sum, file) => sum + (lstatSync(file, { throwIfNoEntry: false })?.size ?? 0), 0);

/** Bytes that a copy may be longer than the warehouse was a moment ago: jobs go on writing. */
export const slack = 512 * 1024 * 1024;
