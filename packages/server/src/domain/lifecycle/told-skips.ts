/**
 * When skips of a schedule are told: the first of a row, and the first of each further day while the row goes on. A schedule
 * that runs every five minutes, and whose run hangs, would otherwise tell of it 288 times a day. forgetSkips ends a row.
 */

import type { Db } from "../../store/drivers/store.ts";
import { type ScheduleRow, type ToldSkips, updateSchedule } from "../../store/queries/schedules/schedules.ts";
import { dateAt } from "../time/time-zones.ts";
import { noteSchedule } from "./told-events.ts";

interface Skip {
  readonly tick: string;
  readonly reason: string;
}

/** Call it inside the write that counts the skip, with the row as that write left it. */
export async function tellSkip(db: Db, row: ScheduleRow, { tick, reason }: Skip, now: number): Promise<void> {
  const date = dateAt(Date.parse(tick), row.timezone);
  if (row.skip_told_on === date) return;
  const message = `The tick of ${tick} came to nothing: ${reason}${othersOf(row)}`;
  // Where nobody listens nothing was told: whoever comes to listen hears of the next one.
  if (await noteSchedule(db, row, { event: "skip", message }, now))
    await updateSchedule(db, row.id, { skip_told_on: date, skips_told: row.skips });
}

function othersOf({ skips, skips_told }: ToldSkips): string {
  const count = skips - skips_told;
  if (count === 1) return "";
  return ` These are ${count} ticks${skips_told > 0 ? " since the last message" : ""}.`;
}
