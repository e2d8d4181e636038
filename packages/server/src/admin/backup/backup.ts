/**
 * Takes a backup, whether or not the server runs. It first takes a snapshot of the database rows, and then copies the
 * warehouses and files to which the rows refer. A server stores a file before it stores a row that refers to the file.
 * So all files to which the snapshot refers already exist.
 */
import { execFile } from "node:child_process";
import { lstat, mkdir, open, rename, rm, stat, statfs, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { logName, uploadName, uploadsFolder } from "../../blobs/blob-names.ts";
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
import { sortMissing } from "./missing-uploads.ts";
import { readRegistered } from "./registered.ts";

export interface BackupOptions {
  /** Path of the key file to include in the backup; undefined leaves it out. */
  readonly keyFile: string | undefined;
  readonly stores: BackupWarehouses;
  readonly onProgress: (text: string) => void;
  readonly now: () => number;
}

/**
 * Writes the backup under another name and renames it when it is complete, so that nobody mistakes a partial backup for
 * a complete one.
 */
export async function takeBackup(place: DataPlace, folder: string, options: BackupOptions): Promise<Manifest> {
  await refuseExisting(folder);
  const part = `${folder}.part`;
  await mkdir(dirname(folder), { recursive: true });
  await mkdir(part, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
    throw new Error(
      `${part} already exists: another backup is being written, or an earlier one was interrupted. If no backup is running, delete ${part} and try again.`,
    );
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
  if (found) throw new Error(`${folder} already exists, and a backup needs a new folder. Choose another name.`);
}

async function fill(place: DataPlace, part: string, options: BackupOptions): Promise<Manifest> {
  const startedAt = iso(options.now());
  const snapshot = await openSnapshot(place.store);
  try {
    await requireSpace(part, snapshot.size);
    const rows = await writeRows(snapshot, part, options);
    // All rows are written, so the database can release the snapshot.
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
      uploads: await sortMissing(place.store, copied.missing),
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
    `The backup needs about ${gibibytes(needed)} GiB, and ${dirname(folder)} has only ${gibibytes(bavail * bsize)} GiB free. Free some space, or choose another folder.`,
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

/**
 * A file to back up. If both `file` and `blob` are given, the local file is copied if it exists, and otherwise the
 * blob.
 */
interface Wanted {
  readonly file?: string;
  readonly blob?: string;
  /** Path in the backup. */
  readonly path: string;
}

/**
 * Yields the files to which the database rows of the backup refer. The rows are streamed from the backup's own list, so
 * that memory use does not grow with the store.
 */
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
        // Unless blobs are in the data folder, the log of an ended attempt is moved to the blob storage.
        yield name === "log" && !blobs.isLocal ? { ...file, blob: logName(key) } : file;
      }
  }
}

const sizeOfWarehouses = async (part: string, { stores }: BackupOptions): Promise<number> =>
  (await readRegistered(part)).reduce((sum, { teamId }) => sum + stores.bytes(teamId), 0);

/** Returns the disk space that the files take, in bytes. */
async function sizeOfFiles(place: DataPlace, part: string): Promise<number> {
  let bytes = 0;
  for await (const wanted of filesOf(place, part)) bytes += await sizeOf(place.blobs, wanted);
  return bytes;
}

async function sizeOf(blobs: Blobs, { file, blob }: Wanted): Promise<number> {
  const found = file === undefined ? undefined : await lstat(file).catch(() => undefined);
  // Holes in files stay holes, so allocated blocks count. On a compressing file system this estimate is too low, and
  // the copy may run out of space.
  if (found) return Math.min(found.size, found.blocks * 512);
  return blob === undefined ? 0 : ((await blobs.size(blob)) ?? 0);
}

/**
 * Copies the files to which the rows refer. Logs and records that do not exist are skipped: they were deleted after the
 * snapshot, or the attempt never had them. Uploads that do not exist are returned in `missing`.
 */
async function copyFiles(place: DataPlace, part: string, options: BackupOptions) {
  const { keyFile, onProgress } = options;
  const lines = writeLines(join(part, names.digests));
  let files = 0;
  let bytes = 0;
  const missing: string[] = [];
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
    if (there || blob === undefined) continue;
    const copied = await note(path, await copyBlob(place.blobs, blob, join(part, path)));
    if (!copied && blob.startsWith(uploadsFolder)) missing.push(blob);
  }
  const withKey = keyFile !== undefined && (await copy(keyFile, names.key));
  return { withKey, stores, missing, files, bytes, sha256: await lines.end() };
}

/**
 * Flushes the backup's file system to disk with one call of `sync`. If that command is not available, only the manifest
 * and the lists of rows and digests are certain to be on disk.
 */
async function syncAll(folder: string): Promise<void> {
  await promisify(execFile)("sync", ["-f", folder]).catch(() => {});
}

async function sync(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  await handle.sync().finally(() => handle.close());
}
