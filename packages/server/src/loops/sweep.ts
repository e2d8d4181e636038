/**
 * Deletes what is no longer needed: data past its retention period, expired sign-ins, uploads that no job used, and
 * folders whose cleanup was interrupted.
 */
import { lastPart, logsFolder, uploadName, uploadsFolder } from "../blobs/blob-names.ts";
import type { Blobs } from "../blobs/blobs.ts";
import { day, iso } from "../domain/time/clock.ts";
import { attemptKey, type Engine, jobIdOf } from "../engines/engine.ts";
import { openAttempts } from "../store/queries/jobs/attempts.ts";
import { deleteUnusedFiles, hasFile } from "../store/queries/jobs/files.ts";
import { getJobState, hasLog } from "../store/queries/jobs/jobs.ts";
import { deleteExpiredSignIns } from "../store/queries/people/sessions.ts";
import { Signal } from "../turns/signals.ts";
import { clockBelief } from "./clock-care.ts";
import { type Loop, waitAtMost } from "./loop.ts";
import { type EnvironmentsContext, removeOldEnvironments } from "./old-environments.ts";
import { type OldExportsContext, removeOldExports } from "./old-exports.ts";
import { type PacksContext, removeOldPacks } from "./old-packs.ts";
import { type ReplacedWarehousesContext, removeReplacedWarehouses } from "./replaced-warehouses.ts";
import { type RetentionContext, removeOldLogs, removeOldRows, removeOldTexts } from "./retention.ts";

export interface SweepContext
  extends RetentionContext,
    EnvironmentsContext,
    OldExportsContext,
    PacksContext,
    ReplacedWarehousesContext {
  readonly serverId: string;
  readonly unusedFileDays: number;
  readonly blobs: Blobs;
}

/** Maximum number of files that one transaction deletes, so that other writes do not wait long. */
const batch = 500;

export function sweep(context: SweepContext): Loop {
  const begun = context.clock.now();
  let first = true;
  let cleaning: Promise<void> | undefined;
  let isStopped = false;
  const isBelieved = clockBelief(context.store, context.clock);
  return {
    name: "sweep",
    signal: new Signal(),
    interval: 3_600_000,
    async runOnce() {
      const { store, clock } = context;
      // Not awaited: a cluster that hangs must not hold up what is deleted by age.
      cleaning ??= sweepAttempts(context, () => isStopped).catch((error) => {
        context.log.warn({ err: error }, "could not clean up the folders of ended jobs; it is tried again later");
        cleaning = undefined;
      });
      if (!(await isBelieved())) {
        context.log.warn(
          "nothing is deleted by age for now: the wall clock was set, and has not been steady for long enough since",
        );
        return;
      }
      await store.write((db) => deleteExpiredSignIns(db, iso(clock.now())));
      await sweepFiles(context);
      await removeOldRows(context);
      await removeOldLogs(context);
      await removeOldTexts(context);
      await removeOldEnvironments(context);
      await removeOldExports(context);
      await removeOldPacks(context);
      await removeReplacedWarehouses(context);
      await context.blobs.tidy({ leftBefore: begun, unusedSince: clock.now() - day });
      if (!first) return;
      // Done once per start of the server: only a server process that crashed can have left such files.
      await sweepUploads(context, begun);
      await sweepLogs(context, begun);
      first = false;
    },
    async settled() {
      isStopped = true;
      await waitAtMost(1000, cleaning ? [cleaning] : []);
    },
  };
}

async function sweepFiles({ store, clock, unusedFileDays, blobs }: SweepContext): Promise<void> {
  const before = iso(clock.now() - unusedFileDays * day);
  for (;;) {
    const removed = await store.write((db) => deleteUnusedFiles(db, before, batch));
    for (const { blob } of removed) await blobs.remove(uploadName(blob));
    if (removed.length === 0) return;
  }
}

/**
 * Deletes uploaded files that have no row in the store, for example after an interrupted upload. Keeps files that are
 * newer than this server process, because their upload may still be in progress.
 */
async function sweepUploads({ store, blobs }: SweepContext, begun: number): Promise<void> {
  // The clock of a remote storage may be wrong, so a day is added.
  const before = blobs.isLocal ? begun : begun - day;
  for await (const { name, modifiedAt } of blobs.list(uploadsFolder))
    if (modifiedAt < before && !(await hasFile(store.db, lastPart(name)))) await blobs.remove(name);
}

/**
 * Deletes archived logs of jobs that are marked as having no log. Such a log was still being uploaded when the other
 * logs of the job were deleted because of their age.
 */
async function sweepLogs({ store, blobs }: SweepContext, begun: number): Promise<void> {
  if (blobs.isLocal) return;
  for await (const { name, modifiedAt } of blobs.list(logsFolder)) {
    const id = lastPart(name).split(".")[0] ?? "";
    if (modifiedAt < begun - day && !(await hasLog(store.db, id))) await blobs.remove(name);
  }
}

/** Deletes everything that engines still have of closed attempts, such as folders: all engines at the same time. */
async function sweepAttempts(context: SweepContext, isStopped: () => boolean): Promise<void> {
  await Promise.all(context.engines.all().map((engine) => sweepEngine(context, engine, isStopped)));
}

async function sweepEngine(
  { store, serverId, log, engines }: SweepContext,
  engine: Engine,
  isStopped: () => boolean,
): Promise<void> {
  // The engine is queried first: an attempt that starts in between is then in the second list.
  const keys = await engine.find().catch((error: unknown) => {
    log.warn({ err: error }, "could not list the attempts of an engine; the next start of the server tries again");
    return [];
  });
  const open = new Set((await openAttempts(store.db, serverId)).map((a) => attemptKey(a.job_id, a.attempt)));
  for (const key of keys.filter((candidate) => !open.has(candidate))) {
    if (isStopped()) return;
    // Engines of several clusters find the same folders, and only that of the job's cluster can remove its runner there.
    const job = await getJobState(store.db, jobIdOf(key));
    if (job && engines.isOfAnother(job.cluster_id, engine)) continue;
    await engine
      .cleanup(key)
      .catch((error) => log.warn({ err: error, attempt: key }, "could not clean up the folder of a job"));
  }
}
