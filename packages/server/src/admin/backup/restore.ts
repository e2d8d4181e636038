/** Restores a backup into an empty data folder and, for PostgreSQL, an empty database. */
import { createReadStream } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { lastPart, logsFolder, serverFolder, uploadsFolder } from "../../blobs/blob-names.ts";
import type { Blobs } from "../../blobs/blobs.ts";
import type { DataFolder } from "../../machine/data-folder.ts";
import { lockDataFolder } from "../../machine/lock.ts";
import { lockDatabase } from "../../store/opening/open-store.ts";
import { isEmptyDatabase } from "../../store/opening/snapshot.ts";
import type { BackupWarehouses } from "../../warehouses/backup-warehouses.ts";
import { copyPlain } from "./archive-files.ts";
import { checkDigests, damaged, entriesOf, same } from "./check-digests.ts";
import type { DataPlace } from "./data-place.ts";
import { type FillOptions, fillStore, type Settled } from "./fill-store.ts";
import { type Manifest, readManifest, warehousesFolder } from "./format.ts";
import { lostVersions, type PlacedWarehouse, placeWarehouses } from "./place-warehouses.ts";
import { markUnfinished, refuseUnfinished } from "./unfinished-restore.ts";

export interface RestoreOptions extends FillOptions {
  /** Opens the warehouses. Called after the data folder was locked. */
  readonly openStores: () => Promise<BackupWarehouses>;
}

export interface Restored extends Settled {
  readonly manifest: Manifest;
  readonly stores: readonly PlacedWarehouse[];
}

export async function restoreBackup(place: DataPlace, folder: string, options: RestoreOptions): Promise<Restored> {
  const data = place.folder;
  const manifest = await readManifest(folder);
  await requireEmptyFolder(data);
  await requireEmptyBlobs(place.blobs);
  await checkDigests(folder, manifest, options.onProgress);
  await mkdir(data.path, { recursive: true, mode: 0o700 });
  const unlock = await lockAll(place);
  try {
    // Another restore may have filled the folder while this one was reading the backup.
    await requireEmptyFolder(data, basename(data.lock));
    await markUnfinished(data);
    const blobs = await copyFiles(folder, place, options);
    const places = { onProgress: options.onProgress, moment: manifest.startedAt };
    const { stores, running } = await placeWarehouses(folder, await options.openStores(), places);
    const present = { blobs, lost: lostVersions(stores), running };
    const settled = await fillStore(place.store, { folder, manifest }, present, options);
    await rm(data.unfinishedRestore);
    return { manifest, stores, ...settled };
  } finally {
    await unlock();
  }
}

/**
 * Throws if the data folder is not empty. Files whose names begin with `own` are ignored, because they are the lock of
 * this process.
 */
async function requireEmptyFolder(data: DataFolder, own?: string): Promise<void> {
  await refuseUnfinished(data);
  const entries = await readdir(data.path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  if (entries.every((entry) => own !== undefined && entry.startsWith(own))) return;
  throw new Error(
    `${data.path} is not empty, and a backup can only be restored into an empty data folder. Choose another folder with --data-dir, or delete this folder if nobody needs its data.`,
  );
}

/**
 * Throws if the blob storage has files of a server. Blobs in the data folder need no check, because that folder is
 * empty.
 */
async function requireEmptyBlobs(blobs: Blobs): Promise<void> {
  if (blobs.isLocal) return;
  for (const folder of [serverFolder, uploadsFolder, logsFolder])
    for await (const _ of blobs.list(folder))
      throw new Error(
        "The location in MILLRACE_BLOBS already contains the files of a Millrace server. A backup can only be restored into an empty location. Set MILLRACE_BLOBS to another URI.",
      );
}

/**
 * Locks the data folder and the database, so that no server starts during the restore. Returns a function that releases
 * both.
 */
async function lockAll({ folder: data, store }: DataPlace): Promise<() => Promise<void>> {
  const { databaseUrl } = store;
  const folder = lockDataFolder(data);
  try {
    if (databaseUrl && !(await isEmptyDatabase(databaseUrl)))
      throw new Error(
        "The database is not empty, and a backup can only be restored into an empty database. Create a new database, and pass its URL with --database-url.",
      );
    const database = await lockDatabase(store, { onRival: () => process.exit(1) });
    return async () => {
      await database?.release();
      await folder.release();
    };
  } catch (error) {
    await folder.release();
    // Nothing was restored yet, so the folder is empty again without the lock file.
    await rm(data.lock, { force: true });
    throw error;
  }
}

/** Copies uploads and job files to their places. Returns the names of the uploads. */
async function copyFiles(folder: string, place: DataPlace, { onProgress }: RestoreOptions): Promise<Set<string>> {
  const blobs = new Set<string>();
  let files = 0;
  for await (const entry of entriesOf(folder)) {
    if (entry.path.startsWith(`${warehousesFolder}/`)) continue;
    const isUpload = entry.path.startsWith(uploadsFolder);
    const source = join(folder, entry.path);
    const copied = isUpload
      ? await place.blobs.put(entry.path, createReadStream(source))
      : await copyPlain(source, place.folder.restored(entry.path));
    if (!same(copied, entry)) throw damaged(entry.path);
    if (isUpload) blobs.add(lastPart(entry.path));
    if (++files % 100 === 0) onProgress(`${files} files`);
  }
  return blobs;
}
