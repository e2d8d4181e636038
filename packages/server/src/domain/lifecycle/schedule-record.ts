/**
 * What becomes of the ticks and runs of a schedule is written down inside the write in which it happens: as a firing, and
 * in the numbers that its health follows from.
 */
import type { ScheduleFiring } from "@millrace/contract";
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

/** The tick that something was meant for, and how many ticks it stands for. */
export interface Meant {
  readonly tick: string;
  readonly ticks: number;
}

/** Ticks that fired nothing, and why. */
export interface Unfired extends Meant {
  readonly reason: string;
}

/** Characters of a reason. */
const mostReason = 1000;

/** A tick that comes while the last run is still going. */
export async function recordSkip(db: Db, row: ScheduleRow, skipped: Unfired, now: number): Promise<void> {
  const { ticks, reason } = skipped;
  await insert(db, row, skipped, { outcome: "skipped", at: iso(now), reason, pipeline_id: null });
  await tellSkip(db, { ...row, ...(await countSkips(db, row.id, ticks, reason)) }, skipped, now);
}

/** Ticks that nobody fired in time, and that are not made up for. */
export async function recordMissed(db: Db, row: ScheduleRow, meant: Meant, now: number): Promise<void> {
  const reason = `nothing fired at its time: no server ran, its disk was nearly full, or its clock was in doubt (catch_up is ${row.catch_up}).`;
  await insert(db, row, meant, { outcome: "missed", at: iso(now), reason, pipeline_id: null });
  await tellSkip(db, { ...row, ...(await countSkips(db, row.id, meant.ticks, reason)) }, { ...meant, reason }, now);
}

export const recordWait = (db: Db, row: ScheduleRow, waiting: Unfired, now: number) =>
  insert(db, row, waiting, { outcome: "waits", at: iso(now), reason: waiting.reason, pipeline_id: null });

interface Begun {
  /** Undefined: the tick that waited. */
  readonly meant: Meant | undefined;
  readonly outcome: "fired" | "failed";
  readonly pipelineId: string;
  readonly reason: string | null;
}

/** A pipeline has begun, or has failed at once. */
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
  /** Undefined: the tick that waited. */
  readonly meant: Meant | undefined;
  readonly reason: string;
}

/** A tick that could not run. */
export async function recordRefused(db: Db, row: ScheduleRow, { meant, reason }: Refused, now: number): Promise<void> {
  await record(db, row, meant, { outcome: "failed", at: iso(now), reason, pipeline_id: null });
  await countFailure(db, row.id, beginningOf(reason, mostReason));
}

/** The tick that waits never runs. */
export async function dropWaiting(db: Db, row: ScheduleRow, reason: string, now: number): Promise<void> {
  await record(db, row, undefined, { outcome: "skipped", at: iso(now), reason, pipeline_id: null });
  await countSkips(db, row.id, 1, reason);
}

/** A pipeline has ended, well where there is no reason. One that somebody cancels says nothing about its schedule. */
export async function recordEnd(
  db: Db,
  { schedule_id: id, name, is_template }: Pick<PipelineRow, "schedule_id" | "name" | "is_template">,
  reason: string | null,
): Promise<void> {
  if (id === null || is_template === 1) return;
  if (reason === null) await forgetFailures(db, id);
  else await countFailure(db, id, beginningOf(`${name}: ${reason}`, mostReason));
}

/** A tick has one row: that of one that waited is made to say what became of it. */
async function record(db: Db, row: ScheduleRow, meant: Meant | undefined, settled: Settled): Promise<void> {
  if (meant) return insert(db, row, meant, settled);
  const reason = settled.reason && beginningOf(settled.reason, mostReason);
  if (await settleWaitingFiring(db, row.id, { ...settled, reason })) return;
  // It began to wait before there were firings.
  await insert(db, row, { tick: row.waiting_since ?? settled.at, ticks: 1 }, settled);
}

const insert = (db: Db, row: ScheduleRow, { tick, ticks }: Meant, { reason, ...settled }: Settled) =>
  insertFiring(db, {
    schedule_id: row.id,
    tick,
    ticks,
    reason: reason && beginningOf(reason, mostReason),
    ...settled,
  });

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
