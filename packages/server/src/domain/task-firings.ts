/**
 * How a task fires. All of it happens in the write that moves the task to its next tick: whoever makes that move has the
 * tick, and whoever dies before the commit leaves it to the next one.
 */
import { getJob } from "../store/jobs.ts";
import type { Db } from "../store/store.ts";
import { advanceTask, type DueTask, deleteTask, postponeTask } from "../store/tasks.ts";
import { iso } from "./clock.ts";
import { endJob } from "./end-job.ts";
import { readSpec } from "./job-documents.ts";
import { fireTask } from "./jobs.ts";
import type { KeyRing } from "./key-ring.ts";
import { type DefaultQuotas, mayQueue } from "./quotas.ts";
import { nextTick } from "./ticks.ts";

export interface TaskFiringContext {
  readonly keys: KeyRing;
  readonly quotas: DefaultQuotas;
}

/** What became of a tick. */
export type TaskFiring =
  | { readonly outcome: "fired" }
  | { readonly outcome: "skipped"; readonly team: number; readonly next: string };

/** A task that fires once and finds the team's queue full tries again after so many milliseconds. */
const patience = 60_000;

/** Undefined: there is no such tick any more, or another server took it. */
export async function fireTaskTick(
  db: Db,
  { keys, quotas }: TaskFiringContext,
  { job_id: id, next_run: tick }: DueTask,
  now: number,
): Promise<TaskFiring | undefined> {
  const task = await getJob(db, id);
  if (!task) return undefined;
  const { cron_expression: cron } = readSpec(task);
  const next = cron ? nextTick(cron, "UTC", now) : undefined;
  if (!(await mayQueue(db, task.team_id, quotas))) {
    const later = iso(next ?? now + patience);
    const skipped = { outcome: "skipped", team: task.team_id, next: later } as const;
    return (await postponeTask(db, id, tick, later)) ? skipped : undefined;
  }
  const taken = next === undefined ? await deleteTask(db, id) : await advanceTask(db, id, tick, iso(next));
  if (!taken) return undefined;
  await fireTask(db, keys, task, now);
  if (next === undefined)
    await endJob(db, { id, from: ["TASK"], to: "COMPLETE", changes: { finished_at: iso(now) } }, now);
  return { outcome: "fired" };
}
