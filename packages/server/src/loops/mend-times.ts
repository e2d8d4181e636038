/** Corrects the next run of schedules and tasks if it is too far in the future because a wrong clock set it. */

import { doubtfulFrom, mendedRun } from "../domain/schedules/schedule-times.ts";
import { taskTimes } from "../domain/schedules/tasks.ts";
import { iso } from "../domain/time/clock.ts";
import type { ExecutionContext } from "../execution/execution-context.ts";
import { nextTurn } from "../store/queries/batches.ts";
import { getJob } from "../store/queries/jobs/jobs.ts";
import { advanceSchedule, schedulesAfter } from "../store/queries/schedules/schedules.ts";
import { postponeTask, tasksAfter } from "../store/queries/schedules/tasks.ts";

export type MendContext = Pick<ExecutionContext, "store" | "clock" | "log">;

/** Number of rows that are read and mended before other work runs: a rare tick takes most of a millisecond to find. */
const page = 16;

export async function mendSchedules({ store, clock, log }: MendContext, now = clock.now()): Promise<void> {
  for (let last = 0; ; ) {
    const rows = await schedulesAfter(store.db, iso(doubtfulFrom(now)), last, page);
    for (const row of rows) {
      const next = row.next_run && mendedRun(row, row.next_run, now);
      if (!next || !(await store.write((db) => advanceSchedule(db, row.id, row.next_run ?? "", next)))) continue;
      log.warn(
        { schedule: row.id, from: row.next_run, to: next },
        "corrected the next run of a schedule, which a wrong clock had set",
      );
    }
    if (rows.length < page) return;
    last = rows.at(-1)?.id ?? 0;
    await nextTurn();
  }
}

export async function mendTasks({ store, clock, log }: MendContext, now = clock.now()): Promise<void> {
  for (let last = ""; ; ) {
    const rows = await tasksAfter(store.db, iso(doubtfulFrom(now)), last, page);
    for (const { job_id: id, next_run } of rows) {
      const task = await getJob(store.db, id);
      const next = task && mendedRun(taskTimes(task), next_run, now);
      if (!next || !(await store.write((db) => postponeTask(db, { jobId: id, from: next_run, to: next })))) continue;
      log.warn({ job: id, from: next_run, to: next }, "corrected the next run of a task, which a wrong clock had set");
    }
    if (rows.length < page) return;
    last = rows.at(-1)?.job_id ?? "";
    await nextTurn();
  }
}
