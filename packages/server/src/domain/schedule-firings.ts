/**
 * How a schedule fires. All of it happens in the write that moves the schedule to its next tick: whoever makes that move
 * has the tick, and whoever dies before the commit leaves it to the next one.
 */
import { isUnfinished } from "@millrace/contract";
import { getPipeline, type PipelineRow } from "../store/pipelines.ts";
import { type DueNotice, postponeNotice, takeNotice } from "../store/schedule-notices.ts";
import { advanceSchedule, lockSchedule, type ScheduleRow, updateSchedule } from "../store/schedules.ts";
import type { Db } from "../store/store.ts";
import { teamNameOf } from "../store/teams.ts";
import { usernameOf } from "../store/users.ts";
import { type Actor, audit } from "./audit.ts";
import { iso } from "./clock.ts";
import type { KeyRing } from "./key-ring.ts";
import { runTemplate } from "./new-pipeline.ts";
import { type DefaultQuotas, type DiskQuotas, requireRoomForDatasets, requireRoomInQueue } from "./quotas.ts";
import { planTick } from "./schedule-times.ts";
import { readChain, writeChain } from "./schedule-triggers.ts";
import { noteSchedule } from "./told-events.ts";

export interface FiringContext {
  readonly keys: KeyRing;
  readonly quotas: DefaultQuotas & DiskQuotas;
}

/** What became of a tick. */
export interface Firing {
  readonly outcome: "fired" | "skipped" | "waits" | "missed" | "failed";
  readonly team: number;
}

/** Undefined: there is no such tick any more, another server took it, or somebody changed the schedule. */
export async function fireTick(
  db: Db,
  context: FiringContext,
  id: number,
  tick: string,
  now: number,
): Promise<Firing | undefined> {
  const row = await lockSchedule(db, id);
  if (!row) return undefined;
  const { isDue, moment, next } = planTick(row, tick, now);
  if (!(await advanceSchedule(db, id, tick, next))) return undefined;
  const team = row.team_id;
  if (!isDue) {
    await noteSchedule(db, row, "skip", `No server ran at ${tick}, and it does not catch up.`, now);
    return { outcome: "missed", team };
  }
  if (row.overlap === "skip" && (await isBusy(db, row))) {
    await noteSchedule(db, row, "skip", `The run before was still going at ${tick}.`, now);
    return { outcome: "skipped", team };
  }
  if (row.overlap === "wait" && (row.waiting_since || (await isBusy(db, row)))) {
    await updateSchedule(db, id, { waiting_since: row.waiting_since ?? moment });
    return { outcome: "waits", team };
  }
  return run(db, context, row, moment, now);
}

/** The tick that waited for the newest run, which has ended. */
export async function fireWaiting(
  db: Db,
  context: FiringContext,
  id: number,
  now: number,
): Promise<Firing | undefined> {
  const row = await lockSchedule(db, id);
  if (!row?.waiting_since || (await isBusy(db, row))) return undefined;
  return run(db, context, row, row.waiting_since, now);
}

/** Its dataset has been quiet for long enough. While a run is going the notice waits, unless the two may go side by side. */
export async function fireTrigger(
  db: Db,
  context: FiringContext,
  due: DueNotice,
  now: number,
): Promise<Firing | undefined> {
  const row = await lockSchedule(db, due.schedule_id);
  if (!row || (row.overlap !== "allow" && (await isBusy(db, row)))) return undefined;
  const notice = await takeNotice(db, due);
  return notice && run(db, context, row, notice.due_at, now, readChain(notice.chain));
}

async function isBusy(db: Db, { latest_pipeline_id: id }: ScheduleRow): Promise<boolean> {
  const latest = id === null ? undefined : await getPipeline(db, id);
  return latest !== undefined && isUnfinished(latest.status);
}

async function run(
  db: Db,
  { keys, quotas }: FiringContext,
  row: ScheduleRow,
  scheduled_at: string,
  now: number,
  ledTo: readonly number[] = [],
): Promise<Firing> {
  const team = { id: row.team_id, name: await teamNameOf(db, row.team_id) };
  await requireRoomInQueue(db, team, quotas);
  await requireRoomForDatasets(db, team, quotas);
  const template = (await getPipeline(db, row.pipeline_id)) as PipelineRow;
  const pipelineId = await runTemplate(db, keys, template, now, {
    scheduled_at,
    scheduled_timezone: row.timezone,
    chain: writeChain([...ledTo, row.id]),
  });
  const started = await getPipeline(db, pipelineId);
  const fired = { latest_pipeline_id: pipelineId, fired: row.fired + 1, waiting_since: null };
  await updateSchedule(db, row.id, { ...fired, last_error: started?.error_message ?? null });
  const isFailed = started?.status === "FAILED";
  if (!isFailed) await noteSchedule(db, row, "fired", null, now);
  return { outcome: isFailed ? "failed" : "fired", team: row.team_id };
}

/** What runs once, and could not, is tried again after so many milliseconds. */
const patience = 60_000;

/** What a dataset should have fired, and could not. Undefined as for the firing. */
export async function recordTriggerFailure(
  db: Db,
  notice: DueNotice,
  why: string,
  now: number,
): Promise<Firing | undefined> {
  const row = await lockSchedule(db, notice.schedule_id);
  if (!row || !(await postponeNotice(db, notice, iso(now + patience)))) return undefined;
  await updateSchedule(db, row.id, { last_error: why });
  await auditFailure(db, row, why, now);
  return { outcome: "failed", team: row.team_id };
}

/** A tick, or what waited, that could not be fired. The schedule goes on, and says why; undefined as for the firing. */
export async function recordFailure(
  db: Db,
  id: number,
  tick: string | undefined,
  why: string,
  now: number,
): Promise<Firing | undefined> {
  const row = await lockSchedule(db, id);
  if (!row) return undefined;
  const next = tick && (row.cron_expression ? planTick(row, tick, now).next : iso(now + patience));
  if (tick ? !(await advanceSchedule(db, id, tick, next ?? null)) : !row.waiting_since) return undefined;
  await updateSchedule(db, id, { waiting_since: null, last_error: why });
  await auditFailure(db, row, why, now);
  return { outcome: "failed", team: row.team_id };
}

/** A schedule that fails at every tick says so once. */
async function auditFailure(db: Db, row: ScheduleRow, why: string, now: number): Promise<void> {
  if (why === row.last_error) return;
  await noteSchedule(db, row, "failure", why, now);
  const event = { action: "schedule.fail", team: { id: row.team_id }, target: row.name, detail: why };
  await audit(db, await actorOf(db, row), event, now);
}

const actorOf = async (db: Db, { user_id, name }: ScheduleRow): Promise<Actor> => ({
  userId: user_id,
  username: await usernameOf(db, user_id),
  via: `schedule ${name}`,
  address: "",
});
