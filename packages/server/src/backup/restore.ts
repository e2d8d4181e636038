/** Restores a backup into an empty data folder, and an empty database where that is the store. */
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { audit, operator } from "../domain/audit.ts";
import { iso } from "../domain/clock.ts";
import { endJob } from "../domain/end-job.ts";
import { lockDataFolder } from "../lock.ts";
import { allAttempts, closeAttempt } from "../store/attempts.ts";
import { moveJob, statesBefore } from "../store/jobs.ts";
import { migrate } from "../store/migrations.ts";
import { lockDatabase, openStore, type StoreLocation } from "../store/open-store.ts";
import { allWaiting, dequeue } from "../store/queue.ts";
import {
  countOnFromRows,
  insertRows,
  isEmptyDatabase,
  type KeptTable,
  keptTables,
  type Row,
} from "../store/snapshot.ts";
import type { Db } from "../store/store.ts";
import { copyPlain, digestPlain, type Measured, readLines, requirePlainFolders } from "./archive-files.ts";
import { checkEntry, type Entry, type Manifest, names, readManifest, uuidPattern } from "./format.ts";
import { markUnfinished, refuseUnfinished, unfinishedRestore } from "./unfinished-restore.ts";

export interface RestoreOptions {
  /** Jobs that waited are cancelled instead of run. */
  readonly cancelQueued: boolean;
  readonly onProgress: (text: string) => void;
  readonly now: () => number;
}

export interface Restored {
  readonly manifest: Manifest;
  readonly failed: number;
  readonly queued: number;
  readonly canceled: number;
}

export async function restoreBackup(
  location: StoreLocation,
  folder: string,
  options: RestoreOptions,
): Promise<Restored> {
  const manifest = await readManifest(folder);
  await requireEmptyFolder(location.dataDir);
  await checkDigests(folder, manifest, options);
  await mkdir(location.dataDir, { recursive: true, mode: 0o700 });
  const unlock = await lockAll(location);
  try {
    await markUnfinished(location.dataDir);
    const blobs = await copyFiles(folder, location.dataDir, options);
    const restored = await fillStore(location, folder, manifest, blobs, options);
    await rm(unfinishedRestore(location.dataDir));
    return { manifest, ...restored };
  } finally {
    await unlock();
  }
}

async function requireEmptyFolder(dataDir: string): Promise<void> {
  await refuseUnfinished(dataDir);
  const entries = await readdir(dataDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  if (entries.length === 0) return;
  throw new Error(
    `${dataDir} is not empty: a backup is restored into an empty data folder. Choose another with --data-dir, or remove it.`,
  );
}

/** No server begins here meanwhile. */
async function lockAll(location: StoreLocation): Promise<() => Promise<void>> {
  const { dataDir, databaseUrl } = location;
  const folder = lockDataFolder(dataDir);
  try {
    if (databaseUrl && !(await isEmptyDatabase(databaseUrl)))
      throw new Error("The database is not empty: a backup is restored into an empty one. Make a new database for it.");
    const database = await lockDatabase(location, { onRival: () => process.exit(1) });
    return async () => {
      await database?.release();
      await folder.release();
    };
  } catch (error) {
    await folder.release();
    // Nothing was put in: the folder is as empty as it was.
    await rm(join(dataDir, "server.lock"), { force: true });
    throw error;
  }
}

const same = (a: Measured | undefined, b: Measured) => a?.size === b.size && a.sha256 === b.sha256;

async function checkDigests(folder: string, { sha256 }: Manifest, { onProgress }: RestoreOptions): Promise<void> {
  for (const list of ["rows", "digests"] as const) {
    const found = await digestPlain(join(folder, names[list]));
    if (found?.sha256 !== sha256[list]) throw damaged(names[list]);
  }
  let checked = 0;
  for await (const entry of entriesOf(folder)) {
    await requirePlainFolders(folder, entry.path);
    if (!same(await digestPlain(join(folder, entry.path)), entry)) throw damaged(entry.path);
    if (++checked % 100 === 0) onProgress(`${checked} files checked`);
  }
}

const damaged = (path: string) =>
  new Error(`${path} in the backup is missing, or is not what was backed up. Nothing was restored.`);

async function* entriesOf(folder: string): AsyncGenerator<Entry> {
  for await (const line of readLines(join(folder, names.digests))) yield checkEntry(line);
}

/** Returns the names of the uploads that are there. */
async function copyFiles(folder: string, dataDir: string, { onProgress }: RestoreOptions): Promise<Set<string>> {
  const blobs = new Set<string>();
  let copied = 0;
  for await (const entry of entriesOf(folder)) {
    if (!same(await copyPlain(join(folder, entry.path), join(dataDir, entry.path)), entry)) throw damaged(entry.path);
    if (entry.path.startsWith("files/")) blobs.add(entry.path.slice("files/ab/".length));
    if (++copied % 100 === 0) onProgress(`${copied} files`);
  }
  return blobs;
}

/** One transaction: the schema as it was, the rows, the schema as it is, and what ran is settled. All of it or nothing. */
async function fillStore(
  location: StoreLocation,
  folder: string,
  manifest: Manifest,
  blobs: ReadonlySet<string>,
  options: RestoreOptions,
): Promise<Omit<Restored, "manifest">> {
  let settled = { failed: 0, queued: 0, canceled: 0 };
  const store = await openStore(location, async (db, dialect) => {
    await migrate(db, dialect, manifest.schemaVersion);
    await insertAll(db, folder, blobs, options);
    await migrate(db, dialect);
    await countOnFromRows(db);
    settled = await settleJobs(db, manifest, options);
    const target = `the backup of ${manifest.startedAt}`;
    await audit(db, operator, { action: "store.restore", target }, options.now());
  });
  await store.close();
  return settled;
}

/** Rows and characters put in with one statement. */
const batchRows = 200;
const batchSize = 4 * 1024 * 1024;

async function insertAll(db: Db, folder: string, blobs: ReadonlySet<string>, options: RestoreOptions): Promise<void> {
  let table: KeptTable = "users";
  let rows: Row[] = [];
  let size = 0;
  let total = 0;
  const flush = async () => {
    if (rows.length > 0) await insertRows(db, table, rows);
    total += rows.length;
    options.onProgress(`${total} rows`);
    rows = [];
    size = 0;
  };
  for await (const line of readLines(join(folder, names.rows))) {
    const [next, row] = checkRow(line);
    // Its bytes were removed while the backup was taken.
    if (next === "files" && !blobs.has(String(row["blob"]))) continue;
    if (next !== table || rows.length >= batchRows || size >= batchSize) await flush();
    table = next;
    rows.push(row);
    for (const value of Object.values(row)) size += typeof value === "string" ? value.length : 8;
  }
  await flush();
}

/** What becomes a name of a file is checked: a backup may come from a stranger. */
function checkRow(line: unknown): [KeptTable, Row] {
  const [table, row] = line as [KeptTable, Row];
  const plain = (value: unknown) => value === null || typeof value === "string" || typeof value === "number";
  const names = { files: "blob", jobs: "id" } as Partial<Record<KeptTable, string>>;
  const name = names[table];
  const good =
    keptTables.includes(table) &&
    Object.values(row).every(plain) &&
    (name === undefined || uuidPattern.test(String(row[name])));
  if (!good) throw new Error(`The backup has a row that no store has: ${JSON.stringify(line).slice(0, 200)}`);
  return [table, row];
}

/** What ran is gone with its machine, and is never run again by itself. What waited waits, unless it is not wanted. */
async function settleJobs(db: Db, { startedAt }: Manifest, { cancelQueued, now }: RestoreOptions) {
  const attempts = await allAttempts(db);
  for (const { job_id: id, attempt, status, signalled_at } of attempts) {
    await closeAttempt(db, id, attempt);
    const to = status === "CANCELING" && signalled_at !== null ? "CANCELED" : "FAILED";
    const error_message = `The job was running when the backup of ${startedAt} was made; it was not run again.`;
    const changes = { finished_at: startedAt, error_message: to === "FAILED" ? error_message : null };
    await endJob(db, { id, from: statesBefore(to), to, changes }, now());
  }
  const waiting = await allWaiting(db);
  for (const id of cancelQueued ? waiting : []) {
    await dequeue(db, id);
    await moveJob(db, { id, from: ["CREATED", "SCHEDULED", "QUEUED"], to: "CANCELING_SCHEDULED" });
    const changes = { finished_at: iso(now()) };
    await endJob(db, { id, from: ["CANCELING_SCHEDULED"], to: "CANCELED", changes }, now());
  }
  const canceled = cancelQueued ? waiting.length : 0;
  return { failed: attempts.length, queued: waiting.length - canceled, canceled };
}
