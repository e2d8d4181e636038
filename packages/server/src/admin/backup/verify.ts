/** Verifies a backup: performs a restore into a temporary folder, checks the result, and deletes it. */
import { existsSync } from "node:fs";
import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { lastPart, uploadsFolder } from "../../blobs/blob-names.ts";
import { DataFolder } from "../../machine/data-folder.ts";
import type { Row } from "../../store/opening/snapshot.ts";
import type { BackupWarehouses } from "../../warehouses/backup-warehouses.ts";
import { readLines } from "./archive-files.ts";
import { checkDigests, entriesOf } from "./check-digests.ts";
import { fillStore } from "./fill-store.ts";
import { type Manifest, names, readManifest } from "./format.ts";
import { lostVersions, type PlacedWarehouse, placeWarehouses } from "./place-warehouses.ts";

export interface VerifyOptions {
  /** Folder in which warehouses are restored and read. */
  readonly workDir: string;
  readonly openStores: (folder: DataFolder) => Promise<BackupWarehouses>;
  readonly onProgress: (text: string) => void;
  readonly now: () => number;
}

export interface Verified {
  readonly manifest: Manifest;
  readonly stores: readonly PlacedWarehouse[];
  /**
   * Descriptions of data that a restore would lose and that the manifest does not list as missing; empty if there is
   * none.
   */
  readonly problems: readonly string[];
}

/** Verifies a backup. Throws if it cannot be restored at all. */
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
    const problems = [
      ...stores.flatMap((store) => problemsOf(manifest, store)),
      ...(await uploadProblems(folder, manifest, present.blobs)),
    ];
    return { manifest, stores, problems };
  } finally {
    await rm(data.path, { recursive: true, force: true });
  }
}

/** Prefix of temporary folders; the id of the creating process follows. */
const prefix = "millrace-verify-";

/** Deletes temporary folders of earlier verifications that were killed; they may be as large as the backup. */
async function removeLeft(workDir: string): Promise<void> {
  for (const name of await readdir(workDir)) {
    const maker = name.startsWith(prefix) && Number(name.slice(prefix.length).split("-")[0]);
    if (!maker || existsSync(`/proc/${maker}`)) continue;
    const found = await lstat(join(workDir, name));
    // In a folder that everybody can write to, the name proves nothing, so the owner is checked.
    if (found.isDirectory() && found.uid === process.getuid?.())
      await rm(join(workDir, name), { recursive: true, force: true });
  }
}

async function blobsIn(folder: string): Promise<Set<string>> {
  const blobs = new Set<string>();
  for await (const { path } of entriesOf(folder)) if (path.startsWith(uploadsFolder)) blobs.add(lastPart(path));
  return blobs;
}

/**
 * Counts uploads to which the rows refer, but that are neither in the backup nor listed as missing in the manifest.
 * Returns one message with their number; an empty list if there are none.
 */
async function uploadProblems(folder: string, { uploads }: Manifest, present: ReadonlySet<string>): Promise<string[]> {
  if (!uploads) return [];
  const told = new Set([...uploads.lost, ...uploads.removed]);
  let untold = 0;
  for await (const line of readLines(join(folder, names.rows))) {
    const [table, { blob }] = line as [string, Row];
    if (table === "files" && !present.has(String(blob)) && !told.has(String(blob))) untold++;
  }
  return untold === 0 ? [] : [`Uploads that are not in the backup: ${untold}.`];
}

function problemsOf(manifest: Manifest, { teamId, team, missing, unreadable }: PlacedWarehouse): string[] {
  if (unreadable !== null) return [`The datasets of the team ${team} cannot be restored: ${unreadable}`];
  const told = new Set(manifest.stores?.find((part) => part.teamId === teamId)?.missing);
  const untold = missing.filter((uuid) => !told.has(uuid));
  if (untold.length === 0) return [];
  const versions = untold.length === 1 ? "One dataset version" : `${untold.length} dataset versions`;
  return [`${versions} of the team ${team} ${untold.length === 1 ? "is" : "are"} not in its warehouse.`];
}
