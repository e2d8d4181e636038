/** Counts ticks that were missed before a tick fires, up to a hundred. */
import { mostCaughtUp } from "@millrace/contract";
import type { ScheduleRow } from "../../store/queries/schedules/schedules.ts";
import { firstTicks } from "../time/ticks.ts";
import { type Plan, punctual, type ScheduleTimes } from "./schedule-times.ts";

interface MissedTicks {
  /** Time of the first tick that the run stands for. */
  readonly first: string;
  /** Number of ticks that the run stands for; 0 if there is no run. */
  readonly ticks: number;
  /** Number of ticks that get no run: the oldest ones. */
  readonly dropped: number;
}

/** Divides the ticks from `tick` until now into those that the next run stands for and those that are dropped. */
export function missedTicks(
  row: ScheduleTimes & Pick<ScheduleRow, "catch_up">,
  tick: string,
  { isDue, moment }: Plan,
  now: number,
): MissedTicks {
  const { cron_expression: cron, timezone, catch_up } = row;
  const from = Date.parse(tick);
  if (!cron || now - from < punctual) return { first: tick, ticks: isDue ? 1 : 0, dropped: isDue ? 0 : 1 };
  const countTo = (to: number) => firstTicks(cron, timezone, { from, to }, mostCaughtUp).length;
  if (!isDue) return { first: tick, ticks: 0, dropped: Math.max(1, countTo(now)) };
  if (catch_up === "one") return { first: tick, ticks: Math.max(1, countTo(now)), dropped: 0 };
  return { first: moment, ticks: 1, dropped: countTo(Date.parse(moment) - 1) };
}
