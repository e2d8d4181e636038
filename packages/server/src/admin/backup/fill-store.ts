/** Inserts the rows of a backup into an empty store. */
import { join } from "node:path";
import { audit, operator } from "../../domain/access/audit.ts";
import { recordCollected } from "../../domain/datasets/record-collected.ts";
import { cancelWaiting } from "../../domain/lifecycle/end-job.ts";
import { endLostAttempt } from "../../domain/lifecycle/lost-attempts.ts";
import { iso } from "../../domain/time/clock.ts";
import type { Db } from "../../store/drivers/store.ts";
import { migrate } from "../../store/migrations/migrations.ts";
import { openStore, type StoreLocation } from "../../store/opening/open-store.ts";
import { countOnFromRows, insertRows, type KeptTable, keptTables, type Row } from "../../store/opening/snapshot.ts";
import { markRemoved } from "../../store/queries/datasets/dataset-versions.ts";
import { forgetCopies } from "../../store/queries/datasets/warehouses.ts";
import { allAttempts } from "../../store/queries/jobs/attempts.ts";
import { allWaiting } from "../../store/queries/jobs/queue.ts";
import { readLines } from "./archive-files.ts";
import { type Manifest, names, uuidPattern } from "./format.ts";
import type { RunningJobs } from "./place-warehouses.ts";

export interface FillOptions {
  /** True if waiting jobs are canceled instead of run. */
  readonly cancelQueued: boolean;
  readonly onProgress: (text: string) => void;
  readonly now: () => number;
}

/**
 * Numbers of jobs that had not ended when the backup was taken, by what the restore did: it marked them as failed, left
 * them in the queue, or canceled them.
 */
export interface Settled {
  readonly failed: number;
  readonly queued: number;
  readonly canceled: number;
}

/** A backup whose manifest was read. */
interface OpenedBackup {
  readonly folder: string;
  readonly manifest: Manifest;
}

/** Data that was restored before the database rows. The rows are checked against it. */
export interface Present {
  /** Names of restored uploads. */
  readonly blobs: ReadonlySet<string>;
  /** Uuids of dataset versions that are missing from the restored warehouse, by team id. */
  readonly lost: ReadonlyMap<number, readonly string[]>;
  readonly running: RunningJobs;
}

/**
 * Fills the store in one transaction: creates the schema of the backup, inserts the rows, and migrates to the current
 * schema. Jobs that were running are marked as failed.
 */
export async function fillStore(
  location: StoreLocation,
  { folder, manifest }: OpenedBackup,
  { blobs, lost, running }: Present,
  options: FillOptions,
): Promise<Settled> {
  let settled = { failed: 0, queued: 0, canceled: 0 };
  const store = await openStore(location, async (db, dialect) => {
    await migrate(db, dialect, manifest.schemaVersion);
    await insertAll(db, folder, blobs, options);
    await migrate(db, dialect);
    await countOnFromRows(db);
    settled = await settleJobs(db, manifest, options);
    for (const [jobId, collected] of running) await recordCollected(db, jobId, collected, iso(options.now()));
    for (const [teamId, uuids] of lost) await markRemoved(db, teamId, uuids, iso(options.now()));
    await forgetCopies(db);
    const target = `the backup of ${manifest.startedAt}`;
    await audit(db, operator, { action: "store.restore", target }, options.now());
  });
  await store.close();
  return settled;
}

/** Maximum number of rows of one insert statement. */
const batchRows = 200;
/** Maximum number of characters of one insert statement. */
const batchSize = 4 * 1024 * 1024;

async function insertAll(db: Db, folder: string, blobs: ReadonlySet<string>, options: FillOptions): Promise<void> {
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
    // The file was deleted while the backup was taken.
    if (next === "files" && !blobs.has(String(row["blob"]))) continue;
    if (next !== table || rows.length >= batchRows || size >= batchSize) await flush();
    table = next;
    rows.push(row);
    for (const value of Object.values(row)) size += typeof value === "string" ? value.length : 8;
  }
  await flush();
}

/**
 * Largest attempt number that a restore accepts. A backup looks for the files of every attempt, so a damaged row with a
 * huge number would make the next backup run forever.
 */
const mostAttempts = 100_000;
const isAttempt = (value: unknown) =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= mostAttempts;

/** Validates a row. Values that become file names are checked, because a backup may come from an untrusted source. */
function checkRow(line: unknown): [KeptTable, Row] {
  const [table, row] = line as [KeptTable, Row];
  const plain = (value: unknown) => value === null || typeof value === "string" || typeof value === "number";
  const names = { files: "blob", jobs: "id" } as Partial<Record<KeptTable, string>>;
  const name = names[table];
  const good =
    keptTables.includes(table) &&
    Object.values(row).every(plain) &&
    (row["attempt"] === undefined || isAttempt(row["attempt"])) &&
    (name === undefined || uuidPattern.test(String(row[name])));
  if (!good)
    throw new Error(
      `The backup has an invalid row, so it is damaged or not from Millrace. Use another backup. The row: ${JSON.stringify(line).slice(0, 200)}`,
    );
  return [table, row];
}

/**
 * Sets the status of jobs that had not ended when the backup was taken. Running jobs are marked as failed; the server
 * does not run them again by itself. Waiting jobs stay in the queue, or are canceled if `cancelQueued` is set.
 */
async function settleJobs(db: Db, { startedAt }: Manifest, { cancelQueued, now }: FillOptions) {
  const attempts = await allAttempts(db);
  const error_message = `The job was running when the backup of ${startedAt} was taken. The job was not run again; rerun it if running it twice is safe.`;
  const loss = { error_message, finished_at: startedAt, retryAt: null };
  for (const attempt of attempts) await endLostAttempt(db, attempt, loss, now());
  const waiting = await allWaiting(db);
  for (const id of cancelQueued ? waiting : []) {
    await cancelWaiting(db, id, now());
  }
  const canceled = cancelQueued ? waiting.length : 0;
  return { failed: attempts.length, queued: waiting.length - canceled, canceled };
}
