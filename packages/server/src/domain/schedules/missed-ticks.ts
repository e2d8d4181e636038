/**
 * Counts the ticks (scheduled times) that a schedule missed, for example while no server ran; at most `mostCaughtUp`.
 */
import { mostCaughtUp } from "@millrace/contract";
import type { ScheduleRow } from "../../store/queries/schedules/schedules.ts";
import { firstTicks } from "../time/ticks.ts";
import { type Plan, punctual, type ScheduleTimes } from "./schedule-times.ts";

interface MissedTicks {
  /** Time of the oldest tick that the run makes up for. If there is no run, time of the oldest skipped tick. */
  readonly first: string;
  /** Number of ticks that the run makes up for; 0 if there is no run. */
  readonly ticks: number;
  /**
   * Number of skipped ticks. If there is a run, the skipped ticks are older than the ticks that the run makes up for.
   */
  readonly dropped: number;
}

/** Divides the ticks from `tick` until `now` into ticks that one run makes up for and ticks that are skipped. */
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
