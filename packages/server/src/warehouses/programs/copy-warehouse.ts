/** A copy of a team's warehouse, taken while jobs go on: of one moment, and whole. */
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
  /** What the registry says that the warehouse has. */
  readonly registered: readonly Registered[];
}

/** Looks at both files before they are taken as they are. */
const looks = 5;

export async function copyWarehouse(files: WarehouseFiles, { to, registered }: CopyRequest): Promise<Compared> {
  const source = await openAtOnce(files);
  for (const part of ["metadata", "rows"] as const) {
    for (const file of [files[part], walOf(files[part])]) requireDense(file);
    requireAllPages(source[part], files[part]);
    requireSound(source[part]);
    // All pages at once, of the moment at which the transaction began: whatever jobs write meanwhile.
    await backup(source[part], to[part], { rate: 2 ** 30 });
  }
  await copyMark(dirname(files.metadata), dirname(to.metadata));
  return registered.length === 0 ? { missing: [], renamed: [] } : compare(source, registered);
}

/** A warehouse that is shorter may be of any form. */
const dense = 64 * 1024 * 1024;

/** A copy has no holes: it could be a thousand times as large on disk. SQLite makes none, so somebody else did. */
function requireDense(path: string): void {
  const { size, blocks } = lstatSync(path, { throwIfNoEntry: false }) ?? { size: 0, blocks: 0 };
  if (size > dense && size > 4 * blocks * 512)
    throw unusable("its files have holes, which no library makes. A job of the team can close them with VACUUM");
}

/**
 * How many pages there are, the write-ahead log says, and a job can write that by hand: a copy would have them all. In a
 * warehouse that SQLite wrote, each page is in the file or in the log.
 */
function requireAllPages(db: DatabaseSync, path: string): void {
  const pragma = (name: string) => Number(Object.values(db.prepare(`pragma ${name}`).get() ?? {})[0]);
  const pages = pragma("page_count") * pragma("page_size");
  if (pages > lengthWithLog(path))
    throw unusable(
      "it lacks pages that it says it has, as no library makes it. A job of the team can mend it with VACUUM",
    );
}

/** Which library last wrote the store: an older one must not be given the copy. A job may have put anything there. */
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
 * A transaction on each file keeps what it sees. The two begin one after the other, and a version that is removed or
 * renamed in between lacks its rows: then both begin anew.
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

/** The first read fixes what the transaction sees. */
function openSnapshot(path: string) {
  const db = openDatabase(path, "read");
  db.exec("begin");
  db.prepare("select count(*) from sqlite_schema").get();
  return db;
}
