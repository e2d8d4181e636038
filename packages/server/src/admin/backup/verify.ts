/** Reads a backup back, all of it, and leaves nothing behind: what a restore would find. */
import { existsSync } from "node:fs";
import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { lastPart, uploadsFolder } from "../../blobs/blob-names.ts";
import { DataFolder } from "../../machine/data-folder.ts";
import type { BackupWarehouses } from "../../warehouses/backup-warehouses.ts";
import { checkDigests, entriesOf } from "./check-digests.ts";
import { fillStore } from "./fill-store.ts";
import { type Manifest, readManifest } from "./format.ts";
import { lostVersions, type PlacedWarehouse, placeWarehouses } from "./place-warehouses.ts";

export interface VerifyOptions {
  /** Where stores are put together and read. */
  readonly workDir: string;
  readonly openStores: (folder: DataFolder) => Promise<BackupWarehouses>;
  readonly onProgress: (text: string) => void;
  readonly now: () => number;
}

export interface Verified {
  readonly manifest: Manifest;
  readonly stores: readonly PlacedWarehouse[];
  /** What a restore would not bring back, beyond what the backup itself says; empty: nothing. */
  readonly problems: readonly string[];
}

/** Throws for a backup that could not be restored. */
export async function verifyBackup(folder: string, options: VerifyOptions): Promise<Verified> {
  const manifest = await readManifest(folder);
  await checkDigests(folder, manifest, options.onProgress);
  await removeLeft(options.workDir);
  const data = new DataFolder(await mkdtemp(join(options.workDir, `${prefix}${process.pid}-`)));
  try {
    const looks = { onProgress: options.onProgress, moment: manifest.startedAt, removes: true };
    const { stores, running } = await placeWarehouses(folder, await options.openStores(data), looks);
    const present = { blobs: await blobsIn(folder), lost: lostVersions(stores), running };
    await fillStore(data.storeLocation({ databaseUrl: "" }), { folder, manifest }, present, {
      ...options,
      cancelQueued: false,
    });
    return { manifest, stores, problems: stores.flatMap((store) => problemsOf(manifest, store)) };
  } finally {
    await rm(data.path, { recursive: true, force: true });
  }
}

/** Work folders are named after the process that made them. */
const prefix = "millrace-verify-";

/** What a verify that was killed left behind, maybe as large as the backup. */
async function removeLeft(workDir: string): Promise<void> {
  for (const name of await readdir(workDir)) {
    const maker = name.startsWith(prefix) && Number(name.slice(prefix.length).split("-")[0]);
    if (!maker || existsSync(`/proc/${maker}`)) continue;
    const found = await lstat(join(workDir, name));
    // In a folder that everybody may write to the name says nothing.
    if (found.isDirectory() && found.uid === process.getuid?.())
      await rm(join(workDir, name), { recursive: true, force: true });
  }
}

async function blobsIn(folder: string): Promise<Set<string>> {
  const blobs = new Set<string>();
  for await (const { path } of entriesOf(folder)) if (path.startsWith(uploadsFolder)) blobs.add(lastPart(path));
  return blobs;
}

function problemsOf(manifest: Manifest, { teamId, team, missing, unreadable }: PlacedWarehouse): string[] {
  if (unreadable !== null) return [`The datasets of the team ${team} cannot be read: ${unreadable}`];
  const told = new Set(manifest.stores?.find((part) => part.teamId === teamId)?.missing);
  const untold = missing.filter((uuid) => !told.has(uuid));
  if (untold.length === 0) return [];
  const versions = untold.length === 1 ? "One dataset version" : `${untold.length} dataset versions`;
  return [`${versions} of the team ${team} ${untold.length === 1 ? "is" : "are"} not in its warehouse.`];
}
