/**
 * Takes a backup, with the server up or down: the rows of one moment, then the warehouses and the files that they
 * name. What the rows say is there before they are written, so that what is copied after them has it all.
 */
import { execFile } from "node:child_process";
import { lstat, mkdir, open, rename, rm, stat, statfs, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { logName, uploadName } from "../../blobs/blob-names.ts";
import type { Blobs, Measured } from "../../blobs/blobs.ts";
import { iso } from "../../domain/time/clock.ts";
import { attemptKey } from "../../engines/engine.ts";
import { recordNames } from "../../engines/local/attempt/records.ts";
import { keptTables, openSnapshot, type Row, type Snapshot } from "../../store/opening/snapshot.ts";
import type { BackupWarehouses } from "../../warehouses/backup-warehouses.ts";
import { copyPlain, readLines, writeLines } from "./archive-files.ts";
import { copyBlob } from "./copy-blob.ts";
import { copyWarehouses } from "./copy-warehouses.ts";
import type { DataPlace } from "./data-place.ts";
import { type Manifest, names, newManifest } from "./format.ts";
import { readRegistered } from "./registered.ts";

export interface BackupOptions {
  /** The file of the keys that encrypt values; undefined: it stays out. */
  readonly keyFile: string | undefined;
  readonly stores: BackupWarehouses;
  readonly onProgress: (text: string) => void;
  readonly now: () => number;
}

/** Written under another name until it is whole, so that half a backup is never taken for one. */
export async function takeBackup(place: DataPlace, folder: string, options: BackupOptions): Promise<Manifest> {
  await refuseExisting(folder);
  const part = `${folder}.part`;
  await mkdir(dirname(folder), { recursive: true });
  await mkdir(part, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
    throw new Error(`${part} is there: another backup is writing it, or one was cut short. Remove it in that case.`);
  });
  try {
    const manifest = await fill(place, part, options);
    await rename(part, folder);
    await sync(dirname(folder));
    return manifest;
  } catch (error) {
    await rm(part, { recursive: true, force: true });
    throw error;
  }
}

async function refuseExisting(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => undefined);
  if (found)
    throw new Error(`${folder} is there already: a backup is made in a folder of its own. Choose another name.`);
}

async function fill(place: DataPlace, part: string, options: BackupOptions): Promise<Manifest> {
  const startedAt = iso(options.now());
  const snapshot = await openSnapshot(place.store);
  try {
    await requireSpace(part, snapshot.size);
    const rows = await writeRows(snapshot, part, options);
    // The rows are all written: from here on the store need not remember that moment.
    await snapshot.close();
    await requireSpace(part, (await sizeOfFiles(place, part)) + (await sizeOfWarehouses(part, options)));
    const copied = await copyFiles(place, part, options);
    const manifest = newManifest({
      schemaVersion: snapshot.schemaVersion,
      startedAt,
      finishedAt: iso(options.now()),
      store: place.store.databaseUrl ? "postgres" : "sqlite",
      withKey: copied.withKey,
      rows: rows.counts,
      stores: copied.stores,
      files: copied.files,
      bytes: copied.bytes,
      sha256: { rows: rows.sha256, digests: copied.sha256 },
    });
    await writeFile(join(part, names.manifest), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flush: true });
    await syncAll(part);
    return manifest;
  } finally {
    await snapshot.close().catch(() => {});
  }
}

async function requireSpace(folder: string, needed: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= needed) return;
  const gibibytes = (bytes: number) => (bytes / 1024 ** 3).toFixed(1);
  throw new Error(
    `The backup takes about ${gibibytes(needed)} GiB, and ${dirname(folder)} has ${gibibytes(bavail * bsize)} GiB left. Free some space, or choose another place.`,
  );
}

async function writeRows(snapshot: Snapshot, part: string, { onProgress }: BackupOptions) {
  const lines = writeLines(join(part, names.rows));
  const counts: Record<string, number> = {};
  for (const table of keptTables) {
    let count = 0;
    for await (const row of snapshot.rows(table)) {
      await lines.write([table, row]);
      if (++count % 1000 === 0) onProgress(`${table}: ${count} rows`);
    }
    counts[table] = count;
  }
  return { counts, sha256: await lines.end() };
}

/** A file of this machine, a blob, or whichever of the two is there. */
interface Wanted {
  readonly file?: string;
  readonly blob?: string;
  /** In the backup. */
  readonly path: string;
}

/** What the rows name, read from the backup's own list: the memory that this takes does not grow with the store. */
async function* filesOf({ folder, blobs }: DataPlace, part: string): AsyncGenerator<Wanted> {
  for await (const line of readLines(join(part, names.rows))) {
    const [table, row] = line as [string, Row];
    if (table === "files") {
      const blob = String(row["blob"]);
      yield { blob: uploadName(blob), path: uploadName(blob) };
    }
    if (table !== "jobs" || row["log_removed_at"]) continue;
    for (let attempt = 1; attempt <= Number(row["attempt"]); attempt++)
      for (const name of recordNames) {
        const key = attemptKey(String(row["id"]), attempt);
        const file = { file: folder.attemptFile(key, name), path: join("jobs", key, name) };
        // The log of an ended attempt goes to where blobs lie, unless that is the data folder.
        yield name === "log" && !blobs.isLocal ? { ...file, blob: logName(key) } : file;
      }
  }
}

const sizeOfWarehouses = async (part: string, { stores }: BackupOptions): Promise<number> =>
  (await readRegistered(part)).reduce((sum, { teamId }) => sum + stores.bytes(teamId), 0);

/** On disk. */
async function sizeOfFiles(place: DataPlace, part: string): Promise<number> {
  let bytes = 0;
  for await (const wanted of filesOf(place, part)) bytes += await sizeOf(place.blobs, wanted);
  return bytes;
}

async function sizeOf(blobs: Blobs, { file, blob }: Wanted): Promise<number> {
  const found = file === undefined ? undefined : await lstat(file).catch(() => undefined);
  // Holes stay holes. Where a file system compresses, this is too little: then the copying finds out.
  if (found) return Math.min(found.size, found.blocks * 512);
  return blob === undefined ? 0 : ((await blobs.size(blob)) ?? 0);
}

async function copyFiles(place: DataPlace, part: string, options: BackupOptions) {
  const { keyFile, onProgress } = options;
  const lines = writeLines(join(part, names.digests));
  let files = 0;
  let bytes = 0;
  // What is not there was removed since: an upload that nobody used, a log that got too old.
  const note = async (path: string, copied: Measured | undefined) => {
    if (!copied) return false;
    await lines.write({ path, ...copied });
    bytes += copied.size;
    if (++files % 100 === 0) onProgress(`${files} files, ${Math.round(bytes / 1024 ** 2)} MiB`);
    return true;
  };
  const copy = async (from: string, path: string) => note(path, await copyPlain(from, join(part, path)));
  const stores = await copyWarehouses(part, { ...options, copy });
  for await (const { file, blob, path } of filesOf(place, part)) {
    const there = file !== undefined && (await copy(file, path));
    if (!there && blob !== undefined) await note(path, await copyBlob(place.blobs, blob, join(part, path)));
  }
  const withKey = keyFile !== undefined && (await copy(keyFile, names.key));
  return { withKey, stores, files, bytes, sha256: await lines.end() };
}

/** One call for the whole file system; where it is not to be had, the lists and the manifest are on disk at least. */
async function syncAll(folder: string): Promise<void> {
  await promisify(execFile)("sync", ["-f", folder]).catch(() => {});
}

async function sync(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  await handle.sync().finally(() => handle.close());
}
