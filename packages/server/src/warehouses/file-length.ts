/** Measures the files of a database. The result limits the size of a copy of that database. */
import { lstatSync } from "node:fs";

/** Returns the path of a database's write-ahead log. */
export const walOf = (path: string) => `${path}-wal`;

/**
 * Returns the length in bytes of a database file plus its write-ahead log, which holds pages that are not in the file
 * yet.
 */
export const lengthWithLog = (path: string): number =>
  [path, walOf(path)].reduce((sum, file) => sum + (lstatSync(file, { throwIfNoEntry: false })?.size ?? 0), 0);

/** Bytes by which a copy may exceed the measured length of a warehouse, because jobs keep writing. */
export const slack = 512 * 1024 * 1024;
