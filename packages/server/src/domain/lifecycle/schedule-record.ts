/**
 * Records what happens at each tick of a schedule (a time at which it is due), and how its runs end. Each tick gets a
 * row, called a firing. Counters in the row of the schedule tell its health. The firing and the counters are written in
 * the transaction that fires the tick or ends the run.
 */
import type { ScheduleFiring } from "@millrace/contract";
import { noteChange } from "../../store/drivers/noted-store.ts";
import type { Db } from "../../store/drivers/store.ts";
import type { PipelineRow } from "../../store/queries/pipelines/pipelines.ts";
import {
  type firingsOf,
  insertFiring,
  type Settled,
  settleWaitingFiring,
} from "../../store/queries/schedules/firings.ts";
import {
  countFailure,
  countSkips,
  forgetFailures,
  forgetSkips,
  type ScheduleRow,
} from "../../store/queries/schedules/schedules.ts";
import { beginningOf } from "../../store/queries/short-texts.ts";
import { iso } from "../time/clock.ts";
import { noteSchedule } from "./told-events.ts";
import { tellSkip } from "./told-skips.ts";

/**
 * The ticks that a firing records. Usually there is one; there are several if ticks were missed and one run makes up
 * for all of them.
 */
export interface Meant {
  /** Time of the first tick. */
  readonly tick: string;
  /** Number of ticks. */
  readonly ticks: number;
}

/** Ticks that started no run, and why. */
export interface Unfired extends Meant {
  readonly reason: string;
}

/** Maximum length of a stored reason, in characters. */
const mostReason = 1000;

/** Records a tick that is skipped, because the last run has not ended or another tick already waits for its end. */
export async function recordSkip(db: Db, row: ScheduleRow, skipped: Unfired, now: number): Promise<void> {
  const { ticks, reason } = skipped;
  await insert(db, row, skipped, { outcome: "skipped", at: iso(now), reason, pipeline_id: null });
  await tellSkip(db, { ...row, ...(await countSkips(db, row.id, ticks, reason)) }, skipped, now);
}

/** Records ticks that no server fired in time, and that no later run makes up for because of `catch_up`. */
export async function recordMissed(db: Db, row: ScheduleRow, meant: Meant, now: number): Promise<void> {
  const reason = `it was not fired in time, because no server ran, the server's disk was nearly full, or the server's clock could not be trusted (catch_up is ${row.catch_up}).`;
  await insert(db, row, meant, { outcome: "missed", at: iso(now), reason, pipeline_id: null });
  await tellSkip(db, { ...row, ...(await countSkips(db, row.id, meant.ticks, reason)) }, { ...meant, reason }, now);
}

/** Records a tick that waits for the end of the last run. */
export const recordWait = (db: Db, row: ScheduleRow, waiting: Unfired, now: number) =>
  insert(db, row, waiting, { outcome: "waits", at: iso(now), reason: waiting.reason, pipeline_id: null });

interface Begun {
  /**
   * Ticks to record. Undefined for the tick that waited for the end of the last run, because that tick already has a
   * row.
   */
  readonly meant: Meant | undefined;
  readonly outcome: "fired" | "failed";
  readonly pipelineId: string;
  /** Why the pipeline failed; null if it has begun. */
  readonly reason: string | null;
}

/** Records that a tick created a pipeline. The pipeline has begun (`fired`) or has failed at once (`failed`). */
export async function recordBegun(
  db: Db,
  row: ScheduleRow,
  { meant, outcome, pipelineId, reason }: Begun,
  now: number,
): Promise<void> {
  await record(db, row, meant, { outcome, at: iso(now), reason, pipeline_id: pipelineId });
  await forgetSkips(db, row.id, meant === undefined);
  if (outcome === "fired") await noteSchedule(db, row, { event: "fired", message: null }, now);
}

interface Refused {
  /**
   * Ticks to record. Undefined for the tick that waited for the end of the last run, because that tick already has a
   * row.
   */
  readonly meant: Meant | undefined;
  readonly reason: string;
}

/** Records a tick for which no pipeline could be created. */
export async function recordRefused(db: Db, row: ScheduleRow, { meant, reason }: Refused, now: number): Promise<void> {
  await record(db, row, meant, { outcome: "failed", at: iso(now), reason, pipeline_id: null });
  await countFailure(db, row.id, beginningOf(reason, mostReason));
}

/**
 * Records that a waiting tick is skipped, because the schedule was paused or changed. The tick waited for the end of
 * the last run.
 */
export async function dropWaiting(db: Db, row: ScheduleRow, reason: string, now: number): Promise<void> {
  await record(db, row, undefined, { outcome: "skipped", at: iso(now), reason, pipeline_id: null });
  await countSkips(db, row.id, 1, reason);
}

/**
 * Counts the end of a pipeline for the health of its schedule. `reason` says why the pipeline failed; it is null if the
 * pipeline completed. Do not call it for a canceled pipeline.
 */
export async function recordEnd(
  db: Db,
  { schedule_id: id, name, is_template }: Pick<PipelineRow, "schedule_id" | "name" | "is_template">,
  reason: string | null,
): Promise<void> {
  if (id === null || is_template === 1) return;
  if (reason === null) await forgetFailures(db, id);
  else await countFailure(db, id, beginningOf(`${name}: ${reason}`, mostReason));
}

/** Writes the outcome of a tick. If `meant` is undefined, the tick waited and already has a row, which is updated. */
async function record(db: Db, row: ScheduleRow, meant: Meant | undefined, settled: Settled): Promise<void> {
  if (meant) return insert(db, row, meant, settled);
  noteChange(db, "schedules", row.team_id, String(row.id));
  const reason = settled.reason && beginningOf(settled.reason, mostReason);
  if (await settleWaitingFiring(db, row.id, { ...settled, reason })) return;
  // The tick began to wait under an older version of the server, which stored no firings.
  await insert(db, row, { tick: row.waiting_since ?? settled.at, ticks: 1 }, settled);
}

function insert(db: Db, row: ScheduleRow, { tick, ticks }: Meant, { reason, ...settled }: Settled): Promise<void> {
  noteChange(db, "schedules", row.team_id, String(row.id));
  return insertFiring(db, {
    schedule_id: row.id,
    tick,
    ticks,
    reason: reason && beginningOf(reason, mostReason),
    ...settled,
  });
}

type FiringRow = Awaited<ReturnType<typeof firingsOf>>[number];

export const firingDocument = (row: FiringRow): ScheduleFiring => ({
  tick: row.tick,
  ticks: row.ticks,
  at: row.at,
  late_seconds: Math.max(0, Math.floor((Date.parse(row.at) - Date.parse(row.tick)) / 1000)),
  outcome: row.outcome,
  reason: row.reason,
  pipeline_name: row.name,
  pipeline_status: row.status,
  finished_at: row.finished_at,
});
