/** Makes a consistent and complete copy of a team's warehouse while jobs run. */
import { constants, lstatSync } from "node:fs";
import { open, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { backup, type DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { WarehouseFiles } from "../../datachain/variables.ts";
import { lengthWithLog, walOf } from "../file-length.ts";
import { openDatabase } from "../open-warehouse.ts";
import { unusable } from "../unusable.ts";
import { libraryMark } from "../warehouse-folder.ts";
import {
  type Compared,
  compare,
  isWhole,
  type OpenWarehouse,
  type Registered,
  requireSound,
} from "./compare-versions.ts";

export interface CopyRequest {
  readonly to: WarehouseFiles;
  /** Versions that the registry expects in the warehouse. */
  readonly registered: readonly Registered[];
}

/**
 * Maximum number of attempts to open both files in a consistent state. If none succeeds, the files are copied as they
 * are.
 */
const looks = 5;

export async function copyWarehouse(files: WarehouseFiles, { to, registered }: CopyRequest): Promise<Compared> {
  const source = await openAtOnce(files);
  for (const part of ["metadata", "rows"] as const) {
    for (const file of [files[part], walOf(files[part])]) requireDense(file);
    requireAllPages(source[part], files[part]);
    requireSound(source[part]);
    // Copies all pages in one step, as of the start of the transaction, whatever jobs write meanwhile.
    await backup(source[part], to[part], { rate: 2 ** 30 });
  }
  await copyMark(dirname(files.metadata), dirname(to.metadata));
  return registered.length === 0 ? { missing: [], renamed: [] } : compare(source, registered);
}

/** Files up to this size in bytes are not checked for holes (sparse files). */
const dense = 64 * 1024 * 1024;

/**
 * Throws if a file is sparse. A copy has no holes, and could take a thousand times the disk space of the file. SQLite
 * creates no holes, so another program wrote the file.
 */
function requireDense(path: string): void {
  const { size, blocks } = lstatSync(path, { throwIfNoEntry: false }) ?? { size: 0, blocks: 0 };
  if (size > dense && size > 4 * blocks * 512)
    throw unusable(
      "its files are sparse (they have holes), so a copy could need far more disk space. The dataset library never writes such files. A job of the team can remove the holes with the SQL statement VACUUM",
    );
}

/**
 * Throws if the database claims more pages than its files contain. The page count comes from the write-ahead log, which
 * a job could forge to make a copy huge.
 */
function requireAllPages(db: DatabaseSync, path: string): void {
  const pragma = (name: string) => Number(Object.values(db.prepare(`pragma ${name}`).get() ?? {})[0]);
  const pages = pragma("page_count") * pragma("page_size");
  if (pages > lengthWithLog(path))
    throw unusable(
      "it claims more pages than its files contain. A job of the team can repair it with the SQL statement VACUUM",
    );
}

/**
 * Copies the file with the version of the library that last wrote the warehouse. Because of this file, older versions
 * of the library do not open the warehouse. A job may have replaced the file, so symbolic links and special files are
 * not copied.
 */
async function copyMark(from: string, to: string): Promise<void> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(join(from, libraryMark), flags).catch(() => undefined);
  if (!file) return;
  try {
    if (!(await file.stat()).isFile()) return;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0);
    await writeFile(join(to, libraryMark), buffer.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}

/**
 * Opens a read transaction on each of the two files, one shortly after the other. If a dataset version is removed or
 * renamed between the two, its rows are missing. Both files are then opened again.
 */
async function openAtOnce(files: WarehouseFiles): Promise<OpenWarehouse> {
  for (let look = 1; ; look++) {
    const source = { metadata: openSnapshot(files.metadata), rows: openSnapshot(files.rows) };
    if (look === looks || isWhole(source)) return source;
    source.metadata.close();
    source.rows.close();
    await sleep(200 * look);
  }
}

/** Opens a read transaction. Its first read decides which state of the database it sees. */
function openSnapshot(path: string) {
  const db = openDatabase(path, "read");
  db.exec("begin");
  db.prepare("select count(*) from sqlite_schema").get();
  return db;
}
