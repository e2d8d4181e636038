/** Fires tasks: at each tick a job, once, also with several servers; after an outage one job, not a burst. */
import { iso } from "../domain/clock.ts";
import { endJob } from "../domain/end-job.ts";
import { readSpec } from "../domain/job-documents.ts";
import { fireTask } from "../domain/jobs.ts";
import { type DefaultQuotas, mayQueue } from "../domain/quotas.ts";
import { nextTick } from "../domain/ticks.ts";
import { getShortJob } from "../store/jobs.ts";
import type { Db } from "../store/store.ts";
import { advanceTask, deleteTask, dueTasks, postponeTask } from "../store/tasks.ts";
import { ClockAdvice } from "./clock-advice.ts";
import type { JobLoopContext, Loop } from "./loop.ts";
import { mendTasks } from "./mend-times.ts";
import { isPassing } from "./passing.ts";

export interface TasksContext
  extends Pick<JobLoopContext, "store" | "keys" | "signals" | "clock" | "log" | "metrics" | "disk"> {
  readonly quotas: DefaultQuotas;
}

/** A task that fires once and finds the team's queue full tries again after so many milliseconds. */
const patience = 60_000;

export function fireTasks(context: TasksContext): Loop {
  const { store, signals, clock, log } = context;
  const advice = new ClockAdvice(context);
  return {
    name: "fire-tasks",
    signal: signals.tasks,
    interval: 500,
    async runOnce() {
      // Ticks that pass meanwhile are fired once when there is room again.
      if (await context.disk.isLow()) return;
      if (!(await advice.mayAct((time) => mendTasks(context, time)))) return;
      const now = clock.now();
      const due = await dueTasks(store.db, iso(now), 100);
      const newest = due.at(-1);
      if (!newest) return;
      await advice.note(newest.next_run);
      for (const { job_id, next_run } of due) {
        await store
          .write((db) => fire(db, context, job_id, next_run, now))
          .then((skipped) => skipped && reportSkipped(context, job_id, skipped))
          .catch((error) => {
            if (isPassing(error)) throw error;
            log.error({ err: error, job: job_id }, "the task did not fire; it is tried again");
          });
        signals.jobChanged(job_id);
      }
      signals.dispatch.wake();
    },
  };
}

/** A tick that fired no job, since the queue of the team was full. */
interface Skipped {
  readonly team: number;
  readonly next: string;
}

function reportSkipped({ log, metrics }: TasksContext, job: string, { team, next }: Skipped): void {
  metrics.ticksSkipped.add({ team: String(team) });
  log.warn({ job, team, next }, "the task did not fire: its team has as many jobs waiting as it may");
}

/** The move to the next tick is the guard: whoever makes it fires. */
async function fire(
  db: Db,
  { keys, quotas }: TasksContext,
  id: string,
  tick: string,
  now: number,
): Promise<Skipped | undefined> {
  const task = await getShortJob(db, id);
  if (!task) return;
  const { cron_expression: cron } = readSpec(task);
  const next = cron ? nextTick(cron, "UTC", now) : undefined;
  if (!(await mayQueue(db, task.team_id, quotas))) {
    const later = iso(next ?? now + patience);
    return (await postponeTask(db, id, tick, later)) ? { team: task.team_id, next: later } : undefined;
  }
  const taken = next === undefined ? await deleteTask(db, id) : await advanceTask(db, id, tick, iso(next));
  if (!taken) return;
  await fireTask(db, keys, task, now);
  if (next === undefined)
    await endJob(db, { id, from: ["TASK"], to: "COMPLETE", changes: { finished_at: iso(now) } }, now);
  return;
}
