/** Builds the loops that start work at its time: tasks, schedules, triggers and backfills. */
import type { QuotaSettings } from "../configuration/groups/quotas.ts";
import type { ExecutionContext } from "../execution/execution-context.ts";
import { fireSchedules } from "../loops/fire-schedules.ts";
import { fireTasks } from "../loops/fire-tasks.ts";
import { fireTriggers } from "../loops/fire-triggers.ts";
import type { Loop } from "../loops/loop.ts";
import { runBackfills } from "../loops/run-backfills.ts";

type Firing = Pick<ExecutionContext, "store" | "keys" | "signals" | "clock" | "log" | "metrics" | "disk">;

export function scheduleLoops(execution: Firing, quotas: QuotaSettings): Loop[] {
  const { store, keys, signals, clock, log, metrics, disk } = execution;
  const firing = { store, keys, signals, clock, log, metrics, disk, quotas };
  return [fireTasks(firing), fireSchedules(firing), fireTriggers(firing), runBackfills(firing)];
}
