/**
 * Emits an event for each schedule that did not fire at its time, once for each missed time. A schedule is reported
 * only if it is late in two consecutive runs of this loop. Otherwise a short clock error or a server start would report
 * all schedules.
 */

import { noteSchedule } from "../domain/lifecycle/told-events.ts";
import { healthOf } from "../domain/schedules/schedule-health.ts";
import { punctual } from "../domain/schedules/schedule-times.ts";
import { iso } from "../domain/time/clock.ts";
import type { ExecutionContext } from "../execution/execution-context.ts";
import type { Db } from "../store/drivers/store.ts";
import { markFailing } from "../store/queries/events/outbox.ts";
import { lateSchedules, lockSchedule } from "../store/queries/schedules/schedules.ts";
import { Signal } from "../turns/signals.ts";
import type { Loop } from "./loop.ts";

const page = 200;

export function tellOverdue({ store, clock }: Pick<ExecutionContext, "store" | "clock">): Loop {
  let seen = new Map<number, string>();
  return {
    name: "tell-overdue",
    signal: new Signal(),
    interval: 30_000,
    async runOnce() {
      const now = clock.now();
      const late = new Map<number, string>();
      for (let last = 0; ; ) {
        const rows = await lateSchedules(store.db, iso(now - punctual), last, page);
        for (const { id, next_run } of rows) {
          late.set(id, next_run);
          if (seen.get(id) === next_run) await store.write((db) => tell(db, id, next_run, now));
        }
        if (rows.length < page) break;
        last = rows.at(-1)?.id ?? 0;
      }
      seen = late;
    },
  };
}

async function tell(db: Db, id: number, nextRun: string, now: number): Promise<void> {
  const row = await lockSchedule(db, id);
  if (row?.next_run !== nextRun) return;
  const { health, reason } = healthOf(row, now);
  if (health === "overdue" && (await markFailing(db, row.team_id, `overdue ${id} ${nextRun}`, iso(now))))
    await noteSchedule(db, row, { event: "overdue", message: reason }, now);
}
