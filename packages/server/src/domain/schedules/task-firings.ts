/**
 * Fires tasks. One transaction creates the job and advances the task to its next tick, so each tick fires once. If two
 * servers try to fire the same tick, only one of them can advance the task. If a server crashes before the commit, the
 * tick is still due and fires later.
 */
import { ApiError } from "@millrace/contract";
import { usesLibrary } from "../../runtimes/uses-library.ts";
import type { Db } from "../../store/drivers/store.ts";
import { bytesOfVariables, getJob, getShortJob, type ShortJob } from "../../store/queries/jobs/jobs.ts";
import { teamNameOf } from "../../store/queries/people/teams.ts";
import { advanceTask, type DueTask, deleteTask, lockTask, refuseTask } from "../../store/queries/schedules/tasks.ts";
import {
  type DefaultQuotas,
  type DiskQuotas,
  requireRoomForDatasets,
  requireRoomForMoreTexts,
  requireRoomInQueue,
} from "../access/quotas.ts";
import { fireTask } from "../jobs/jobs.ts";
import { endJob } from "../lifecycle/end-job.ts";
import { readSpec } from "../lifecycle/job-documents.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { iso } from "../time/clock.ts";
import { newestTicks, nextTick } from "../time/ticks.ts";
import { noteAbsence, taskOwner } from "./task-owners.ts";
import { taskTimes } from "./tasks.ts";

export interface TaskFiringContext {
  readonly keys: KeyRing;
  readonly quotas: DefaultQuotas & DiskQuotas;
}

/** Outcome of a tick. If no job was created, `why` is the reason and `next` is the time of the next tick. */
export type TaskFiring =
  | { readonly outcome: "fired" }
  | { readonly outcome: "refused"; readonly team: number; readonly why: string; readonly next: string };

/** Milliseconds until a refused task without a cron expression is tried again. */
const patience = 60_000;

/** Fires a tick of a task. Returns undefined if another server fired it, or if the task was changed or canceled. */
export async function fireTaskTick(
  db: Db,
  { keys, quotas }: TaskFiringContext,
  { job_id: id, next_run: tick }: DueTask,
  now: number,
): Promise<TaskFiring | undefined> {
  // The task is locked before it is read, since another transaction may be changing or pausing it.
  const held = await lockTask(db, id);
  if (held?.next_run !== tick) return undefined;
  const task = await getShortJob(db, id);
  if (!task) return undefined;
  const { cron_expression: cron, start_after, timezone } = taskTimes(task);
  const next = cron ? nextTick(cron, timezone, now) : undefined;
  const owner = await taskOwner(db, task, held);
  const why = owner.absent ?? (await refusal(db, task, quotas));
  if (why !== undefined) {
    const later = iso(next ?? now + patience);
    const refused = { outcome: "refused", team: task.team_id, why, next: later } as const;
    if (!(await refuseTask(db, { jobId: id, from: tick, to: later }, why))) return undefined;
    await noteAbsence(db, task, owner, now);
    return refused;
  }
  const taken =
    next === undefined ? await deleteTask(db, id) : await advanceTask(db, { jobId: id, from: tick, to: iso(next) });
  if (!taken) return undefined;
  await noteAbsence(db, task, owner, now);
  // One job may make up for several ticks: its scheduled time is the newest. A postponed task without cron keeps
  // start_after.
  const [newest] = cron ? newestTicks(cron, timezone, { from: Date.parse(tick), to: now }, 1) : [];
  const scheduled_at = newest === undefined ? ((cron ? null : start_after) ?? tick) : iso(newest);
  await fireTask({ db, now }, keys, owner.original, { scheduled_at, scheduled_timezone: timezone });
  if (next === undefined)
    await endJob(db, { id, from: ["TASK"], to: "COMPLETE", changes: { finished_at: iso(now) } }, now);
  return { outcome: "fired" };
}

/** Returns the quota error that a user would get for creating this job now; undefined if there is room. */
async function refusal(
  db: Db,
  { id, team_id, environment }: ShortJob,
  quotas: TaskFiringContext["quotas"],
): Promise<string | undefined> {
  const team = { id: team_id, name: await teamNameOf(db, team_id) };
  const full = await refusalOf(() => requireRoomInQueue(db, team, quotas));
  if (full !== undefined) return full;
  // Jobs share the long texts of their task, but each has a copy of its variables.
  const long = await refusalOf(() => requireRoomForMoreTexts(db, team, bytesOfVariables(environment), quotas));
  if (long !== undefined) return long;
  const over = await refusalOf(() => requireRoomForDatasets(db, team, quotas));
  if (over === undefined) return undefined;
  // The whole script may be long, so it is read only if the team is over its quota.
  const task = await getJob(db, id);
  return task && usesLibrary(readSpec(task)) ? over : undefined;
}

/** Returns the message of the ApiError that a check throws; undefined if it passes. */
async function refusalOf(ask: () => Promise<void>): Promise<string | undefined> {
  try {
    await ask();
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}
