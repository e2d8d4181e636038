/**
 * Removes what is of no use any more: what is older than its time, expired sign-ins, files that no job took, folders
 * whose cleaning was cut short.
 */
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { day, iso } from "../domain/time/clock.ts";
import { attemptKey } from "../engines/engine.ts";
import { openAttempts } from "../store/queries/jobs/attempts.ts";
import { deleteUnusedFiles, hasFile } from "../store/queries/jobs/files.ts";
import { deleteExpiredSignIns } from "../store/queries/people/sessions.ts";
import { Signal } from "../turns/signals.ts";
import { clockBelief } from "./clock-care.ts";
import type { Loop } from "./loop.ts";
import { type EnvironmentsContext, removeOldEnvironments } from "./old-environments.ts";
import { type OldExportsContext, removeOldExports } from "./old-exports.ts";
import { type ReplacedWarehousesContext, removeReplacedWarehouses } from "./replaced-warehouses.ts";
import { type RetentionContext, removeOldLogs, removeOldRows, removeOldTexts } from "./retention.ts";

export interface SweepContext
  extends RetentionContext,
    EnvironmentsContext,
    OldExportsContext,
    ReplacedWarehousesContext {
  readonly serverId: string;
  readonly unusedFileDays: number;
  readonly filesDir: string;
  readonly filePath: (blob: string) => string;
}

/** Files that one write removes: others wait for it. */
const batch = 500;

export function sweep(context: SweepContext): Loop {
  const begun = context.clock.now();
  let first = true;
  let cleaned = false;
  const isBelieved = clockBelief(context.store, context.clock);
  return {
    name: "sweep",
    signal: new Signal(),
    interval: 3_600_000,
    async runOnce() {
      const { store, clock } = context;
      if (!cleaned) await sweepAttempts(context);
      cleaned = true;
      if (!(await isBelieved())) {
        context.log.warn(
          "nothing is deleted by age for now: the clock was set, and has not been steady for long enough",
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
      await removeReplacedWarehouses(context);
      if (!first) return;
      // Once a start: only a server that died can have left these behind.
      await sweepUploads(context, begun);
      first = false;
    },
  };
}

async function sweepFiles({ store, clock, unusedFileDays, filePath }: SweepContext): Promise<void> {
  const before = iso(clock.now() - unusedFileDays * day);
  for (;;) {
    const removed = await store.write((db) => deleteUnusedFiles(db, before, batch));
    for (const { blob } of removed) await rm(filePath(blob), { force: true });
    if (removed.length === 0) return;
  }
}

/** Uploads that were cut short, and bytes whose row was never written. Younger ones may be under way. */
async function sweepUploads({ store, filesDir }: SweepContext, begun: number): Promise<void> {
  const entries = await readdir(filesDir, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries.filter((candidate) => candidate.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const { mtimeMs } = await stat(path);
    if (mtimeMs < begun && !(await hasFile(store.db, entry.name))) await rm(path, { force: true });
  }
}

/** What engines still have of attempts that are over. */
async function sweepAttempts({ store, engines, serverId, log }: SweepContext): Promise<void> {
  for (const engine of engines.all()) {
    // The engine first: an attempt that begins in between is then in the second list.
    const keys = await engine.find().catch((error: unknown) => {
      log.warn({ err: error }, "an engine did not say what it still has; it is asked at the next start");
      return [];
    });
    const open = new Set((await openAttempts(store.db, serverId)).map((a) => attemptKey(a.job_id, a.attempt)));
    for (const key of keys.filter((candidate) => !open.has(candidate))) {
      await engine
        .cleanup(key)
        .catch((error) => log.warn({ err: error, attempt: key }, "a job's folder was not cleaned"));
    }
  }
}
