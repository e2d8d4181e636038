/** Fires tasks: at each tick a job, once, also with several servers; after an outage one job, not a burst. */
import { iso } from "../domain/clock.ts";
import { readSpec } from "../domain/job-documents.ts";
import { fireTask } from "../domain/jobs.ts";
import type { KeyRing } from "../domain/key-ring.ts";
import { nextTick } from "../domain/ticks.ts";
import { getJob, moveJob } from "../store/jobs.ts";
import type { Db } from "../store/store.ts";
import { advanceTask, deleteTask, dueTasks } from "../store/tasks.ts";
import type { JobLoopContext, Loop } from "./loop.ts";

export type TasksContext = Pick<JobLoopContext, "store" | "keys" | "signals" | "clock" | "log">;

export function fireTasks({ store, keys, signals, clock, log }: TasksContext): Loop {
  return {
    name: "fire-tasks",
    signal: signals.tasks,
    interval: 500,
    async runOnce() {
      const now = clock.now();
      const due = await dueTasks(store.db, iso(now), 100);
      if (due.length === 0) return;
      for (const { job_id, next_run } of due) {
        await store
          .write((db) => fire(db, keys, job_id, next_run, now))
          .catch((error) => log.error({ err: error, job: job_id }, "the task did not fire; it is tried again"));
        signals.jobChanged(job_id);
      }
      signals.dispatch.wake();
    },
  };
}

/** The move to the next tick is the guard: whoever makes it fires. */
async function fire(db: Db, keys: KeyRing, id: string, tick: string, now: number): Promise<void> {
  const task = await getJob(db, id);
  if (!task) return;
  const { cron_expression: cron } = readSpec(task);
  const next = cron ? nextTick(cron, now) : undefined;
  const taken = next === undefined ? await deleteTask(db, id) : await advanceTask(db, id, tick, iso(next));
  if (!taken) return;
  await fireTask(db, keys, task, now);
  if (next === undefined) await moveJob(db, { id, from: ["TASK"], to: "COMPLETE", changes: { finished_at: iso(now) } });
}
