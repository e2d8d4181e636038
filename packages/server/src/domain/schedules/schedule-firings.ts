/**
 * Fires schedules. One transaction creates the pipeline and advances the schedule to its next tick, so each tick fires
 * once. If two servers try to fire the same tick, only one of them can advance the schedule. If a server crashes before
 * the commit, the tick is still due and fires later.
 */
import { type FiringOutcome, isUnfinished } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { teamNameOf } from "../../store/queries/people/teams.ts";
import { usernameOf } from "../../store/queries/people/users.ts";
import { getPipeline, lockPipeline, type PipelineRow } from "../../store/queries/pipelines/pipelines.ts";
import { type DueNotice, postponeNotice, takeNotice } from "../../store/queries/schedules/schedule-notices.ts";
import {
  advanceSchedule,
  lockSchedule,
  type ScheduleRow,
  updateSchedule,
} from "../../store/queries/schedules/schedules.ts";
import { type Actor, audit } from "../access/audit.ts";
import type { Transaction } from "../access/edit.ts";
import {
  type DefaultQuotas,
  type DiskQuotas,
  requireRoomForDatasets,
  requireRoomForTexts,
  requireRoomInQueue,
} from "../access/quotas.ts";
import { readChain, writeChain } from "../datasets/version-notices.ts";
import {
  type Meant,
  recordBegun,
  recordMissed,
  recordRefused,
  recordSkip,
  recordWait,
  type Unfired,
} from "../lifecycle/schedule-record.ts";
import { noteSchedule } from "../lifecycle/told-events.ts";
import { runTemplate } from "../pipelines/new-pipeline.ts";
import type { SourceTeam } from "../pipelines/pipeline-sources.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { iso } from "../time/clock.ts";
import { missedTicks } from "./missed-ticks.ts";
import { refreshTemplate } from "./refresh-schedule.ts";
import { planTick } from "./schedule-times.ts";

export interface FiringContext {
  readonly keys: KeyRing;
  readonly quotas: DefaultQuotas & DiskQuotas;
}

/** The outcome of a tick, and the id of the schedule's team. */
export interface Firing {
  readonly outcome: FiringOutcome;
  readonly team: number;
}

/** Why a pipeline is created: the ticks or the dataset version that fired the schedule, and the scheduled time. */
interface Occasion {
  /** Ticks that this run makes up for; undefined for the tick that waited for the end of the last run. */
  readonly meant: Meant | undefined;
  /** Scheduled time of the run: the newest tick that the run makes up for. */
  readonly moment: string;
  /** If a new dataset version fired the schedule: ids of the schedules that led to this version. */
  readonly ledTo?: readonly number[];
}

/** Fires a tick. Returns undefined if another server fired it, or if the schedule was changed or deleted. */
export async function fireTick(
  transaction: Transaction,
  context: FiringContext,
  id: number,
  tick: string,
): Promise<Firing | undefined> {
  const { db, now } = transaction;
  const row = await lockSchedule(db, id);
  if (!row) return undefined;
  const plan = planTick(row, tick, now);
  if (!(await advanceSchedule(db, id, tick, plan.next))) return undefined;
  const { first, ticks, dropped } = missedTicks(row, tick, plan, now);
  if (dropped > 0) await recordMissed(db, row, { tick, ticks: dropped }, now);
  if (!plan.isDue) return { outcome: "missed", team: row.team_id };
  const meant = { tick: first, ticks };
  const obstacle = row.overlap === "allow" ? undefined : await runUnderWay(db, row);
  if (row.overlap === "wait" && (row.waiting_since || obstacle))
    return wait(transaction, row, { meant, moment: plan.moment }, obstacle);
  if (obstacle)
    return skip(transaction, row, { ...meant, reason: `the run ${obstacle.name} is still going (overlap is skip).` });
  return run(transaction, context, row, { meant, moment: plan.moment });
}

/**
 * Fires the tick that waited for the end of the last run. Returns undefined if no tick waits, or if the last run has
 * not ended.
 */
export async function fireWaiting(
  transaction: Transaction,
  context: FiringContext,
  id: number,
): Promise<Firing | undefined> {
  const { db } = transaction;
  const row = await lockSchedule(db, id);
  if (!row?.waiting_since || (await runUnderWay(db, row))) return undefined;
  return run(transaction, context, row, { meant: undefined, moment: row.waiting_since });
}

/**
 * Fires a schedule for a new version of its trigger dataset. `due` is the notice: the row in the store that announces
 * the version. Returns undefined, and fires nothing, in three cases: the schedule was deleted; its last run has not
 * ended (unless `overlap` is allow); or the notice is no longer due, because another server took it or a further
 * version postponed it.
 */
export async function fireTrigger(
  transaction: Transaction,
  context: FiringContext,
  due: DueNotice,
): Promise<Firing | undefined> {
  const { db } = transaction;
  const row = await lockSchedule(db, due.schedule_id);
  if (!row || (row.overlap !== "allow" && (await runUnderWay(db, row)))) return undefined;
  const notice = await takeNotice(db, due);
  if (!notice) return undefined;
  const meant = { tick: notice.due_at, ticks: 1 };
  return run(transaction, context, row, { meant, moment: notice.due_at, ledTo: readChain(notice.chain) });
}

/** Returns the last pipeline of a schedule if it has not ended; undefined otherwise. */
async function runUnderWay(db: Db, { latest_pipeline_id: id }: ScheduleRow): Promise<PipelineRow | undefined> {
  const latest = id === null ? undefined : await getPipeline(db, id);
  return latest && isUnfinished(latest.status) ? latest : undefined;
}

async function skip({ db, now }: Transaction, row: ScheduleRow, skipped: Unfired): Promise<Firing> {
  await recordSkip(db, row, skipped, now);
  return { outcome: "skipped", team: row.team_id };
}

/** Makes a tick wait for the end of the last run. If another tick already waits, this tick is skipped. */
async function wait(
  transaction: Transaction,
  row: ScheduleRow,
  { meant, moment }: Occasion & { readonly meant: Meant },
  obstacle: PipelineRow | undefined,
): Promise<Firing> {
  const { db, now } = transaction;
  const { waiting_since: earlier, id, team_id: team } = row;
  if (earlier)
    return skip(transaction, row, {
      ...meant,
      reason: `the tick of ${earlier} waits already for the last run to end (overlap is wait).`,
    });
  await updateSchedule(db, id, { waiting_since: moment });
  const reason = `the run ${obstacle?.name} is still going (overlap is wait).`;
  await recordWait(db, row, { ...meant, reason }, now);
  return { outcome: "waits", team };
}

/** Creates and begins the pipeline of a tick. Throws if a quota of the team is exceeded. */
async function run(
  transaction: Transaction,
  { keys, quotas }: FiringContext,
  row: ScheduleRow,
  { meant, moment, ledTo }: Occasion,
): Promise<Firing> {
  const { db, now } = transaction;
  const team = { id: row.team_id, name: await teamNameOf(db, row.team_id) };
  // The template is locked before the team, which the check of the queue may lock: whoever changes the template uses
  // the same order.
  if (row.follow === "latest") await lockPipeline(db, row.pipeline_id);
  await requireRoomInQueue(db, team, quotas);
  await requireRoomForDatasets(db, team, quotas);
  if (row.follow === "latest") await followLatest(transaction, team, row);
  const template = (await getPipeline(db, row.pipeline_id)) as PipelineRow;
  const { pipelineId, added } = await runTemplate(transaction, keys, template, {
    scheduled_at: moment,
    scheduled_timezone: row.timezone,
    chain: writeChain([...(ledTo ?? []), row.id]),
  });
  await requireRoomForTexts(db, team, added, quotas);
  const started = await getPipeline(db, pipelineId);
  const fired = {
    latest_pipeline_id: pipelineId,
    fired: row.fired + 1,
    waiting_since: ledTo ? row.waiting_since : null,
  };
  await updateSchedule(db, row.id, { ...fired, last_error: started?.error_message ?? null });
  const outcome = started?.status === "FAILED" ? "failed" : "fired";
  await recordBegun(db, row, { meant, outcome, pipelineId, reason: started?.error_message ?? null }, now);
  return { outcome, team: row.team_id };
}

/**
 * Updates the schedule to the newest scripts. Throws if the update fails, because otherwise old scripts would run
 * unnoticed.
 */
async function followLatest({ db, now }: Transaction, team: SourceTeam, row: ScheduleRow): Promise<void> {
  const detail = await refreshTemplate(db, team, row.pipeline_id, now);
  if (detail === undefined) return;
  const target = { team: { id: team.id }, target: row.name, detail };
  await audit(db, await actorOf(db, row), { action: "schedule.refresh", ...target }, now);
}

/** Milliseconds until a failed trigger, or a failed schedule without a cron expression, is tried again. */
const patience = 60_000;

/**
 * Records that a schedule could not be fired for a new dataset version. Postpones the notice, the row that announces
 * the version, by `patience`. Returns undefined if the schedule was deleted or the notice is no longer due.
 */
export async function recordTriggerFailure(
  transaction: Transaction,
  notice: DueNotice,
  why: string,
): Promise<Firing | undefined> {
  const { db, now } = transaction;
  const row = await lockSchedule(db, notice.schedule_id);
  if (!row || !(await postponeNotice(db, notice, iso(now + patience)))) return undefined;
  await updateSchedule(db, row.id, { last_error: why });
  const meant = { tick: notice.due_at, ticks: 1 };
  // The trigger is retried every minute: failures with the same reason are recorded once.
  if (why !== row.last_error) await recordRefused(db, row, { meant, reason: why }, now);
  await auditFailure(transaction, row, why);
  return { outcome: "failed", team: row.team_id };
}

/**
 * Records that a tick failed, and advances the schedule to its next tick. `tick` is undefined for the tick that waited
 * for the end of the last run. Returns undefined if the schedule was deleted or the tick is no longer due.
 */
export async function recordFailure(
  transaction: Transaction,
  id: number,
  tick: string | undefined,
  why: string,
): Promise<Firing | undefined> {
  const { db, now } = transaction;
  const row = await lockSchedule(db, id);
  if (!row) return undefined;
  const next = tick && (row.cron_expression ? planTick(row, tick, now).next : iso(now + patience));
  if (tick ? !(await advanceSchedule(db, id, tick, next ?? null)) : !row.waiting_since) return undefined;
  await updateSchedule(db, id, { waiting_since: null, last_error: why });
  await recordRefused(db, row, { meant: tick ? { tick, ticks: 1 } : undefined, reason: why }, now);
  await auditFailure(transaction, row, why);
  return { outcome: "failed", team: row.team_id };
}

/** Writes a failure to the audit log and the outbox, unless the last failure had the same reason. */
async function auditFailure({ db, now }: Transaction, row: ScheduleRow, why: string): Promise<void> {
  if (why === row.last_error) return;
  await noteSchedule(db, row, { event: "failure", message: why }, now);
  const event = { action: "schedule.fail", team: { id: row.team_id }, target: row.name, detail: why };
  await audit(db, await actorOf(db, row), event, now);
}

const actorOf = async (db: Db, { user_id, name }: ScheduleRow): Promise<Actor> => ({
  userId: user_id,
  username: await usernameOf(db, user_id),
  via: `schedule ${name}`,
  address: "",
});
