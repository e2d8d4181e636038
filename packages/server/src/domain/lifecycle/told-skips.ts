/**
 * Decides which skipped ticks of a schedule are reported: the first of a series, and after that the first of each day.
 * If a schedule fires every five minutes and its run hangs, reporting every skip would send 288 messages a day.
 * `forgetSkips` ends a series.
 */

import type { Db } from "../../store/drivers/store.ts";
import { type ScheduleRow, type ToldSkips, updateSchedule } from "../../store/queries/schedules/schedules.ts";
import { dateAt } from "../time/time-zones.ts";
import { noteSchedule } from "./told-events.ts";

interface Skip {
  readonly tick: string;
  readonly reason: string;
}

/**
 * Reports a skipped tick, unless a tick of the same day was already reported. The counters in `row` already include
 * this skip.
 */
export async function tellSkip(db: Db, row: ScheduleRow, { tick, reason }: Skip, now: number): Promise<void> {
  const date = dateAt(Date.parse(tick), row.timezone);
  if (row.skip_told_on === date) return;
  const message = `The tick of ${tick} started no run: ${reason}${othersOf(row)}`;
  // Without a subscriber nothing was reported: a receiver that subscribes later gets the next skip.
  if (await noteSchedule(db, row, { event: "skip", message }, now))
    await updateSchedule(db, row.id, { skip_told_on: date, skips_told: row.skips });
}

function othersOf({ skips, skips_told }: ToldSkips): string {
  const count = skips - skips_told;
  if (count === 1) return "";
  return ` In total, ${count} ticks started no run${skips_told > 0 ? " since the last message" : ""}.`;
}
