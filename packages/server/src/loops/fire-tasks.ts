/**
 * Fires tasks. Each tick creates one job exactly once, even with several servers. If ticks were missed in an outage,
 * the task fires once for all of them.
 */

import { fireTaskTick, type TaskFiring, type TaskFiringContext } from "../domain/schedules/task-firings.ts";
import { iso } from "../domain/time/clock.ts";
import type { ExecutionContext } from "../execution/execution-context.ts";
import { isPassing } from "../machine/passing.ts";
import { type DueTask, dueTasks, teamsWithDueTasks } from "../store/queries/schedules/tasks.ts";
import { ClockAdvice } from "./clock-advice.ts";
import type { Loop } from "./loop.ts";
import { mendTasks } from "./mend-times.ts";
import { TeamsInTurn } from "./teams-in-turn.ts";

export interface TasksContext
  extends TaskFiringContext,
    Pick<ExecutionContext, "store" | "signals" | "clock" | "log" | "metrics" | "disk"> {}

export function fireTasks(context: TasksContext): Loop {
  const { store, signals, clock } = context;
  const advice = new ClockAdvice(context);
  const turns = new TeamsInTurn<DueTask>({
    teams: (now) => teamsWithDueTasks(store.db, iso(now)),
    of: (team, now, after, limit) => dueTasks(store.db, team, iso(now), { after, limit }),
    note: (tick) => advice.note(tick),
    fire: (task, now) => fire(context, task, now),
  });
  return {
    name: "fire-tasks",
    signal: signals.tasks,
    interval: 500,
    async runOnce() {
      // Ticks that pass while the disk is full are fired once, when there is space again.
      if (await context.disk.isLow()) return;
      if (!(await advice.mayAct((time) => mendTasks(context, time)))) return;
      if (await turns.round(clock.now())) signals.tasks.wake();
    },
    settled: () => turns.settled(),
  };
}

/** Fires one task in its own transaction, so that a failure affects no other task. A failed task stays due. */
async function fire(context: TasksContext, task: DueTask, now: number): Promise<boolean> {
  const { store, log } = context;
  try {
    const fired = await store.write((db) => fireTaskTick(db, context, task, now));
    if (fired) report(context, task.job_id, fired);
    return fired !== undefined;
  } catch (error) {
    if (isPassing(error)) throw error;
    log.error({ err: error, job: task.job_id }, "the task did not fire; it is tried again");
    return false;
  }
}

function report({ log, metrics, signals }: TasksContext, job: string, fired: TaskFiring): void {
  signals.jobChanged(job);
  if (fired.outcome === "fired") {
    signals.dispatch.wake();
    return;
  }
  const { team, why, next } = fired;
  signals.changes.note(team, "tasks", job);
  metrics.ticksSkipped.add({ team: String(team) });
  log.warn({ job, team, why, next }, "the task did not fire");
}
