/** When a schedule fires: from what was asked for, and from one tick to the next, also after an outage. */
import {
  type CreatePipelineScheduleInput,
  invalid,
  mostCaughtUp,
  type UpdatePipelineScheduleInput,
} from "@millrace/contract";
import type { ScheduleRow } from "../../store/queries/schedules/schedules.ts";
import { iso } from "../time/clock.ts";
import { checkCron, newestTicks, nextTick, readTime } from "../time/ticks.ts";
import { checkTimezone } from "../time/time-zones.ts";

export type ScheduleTimes = Pick<ScheduleRow, "start_after" | "cron_expression" | "timezone">;

type TimesInput = Pick<
  CreatePipelineScheduleInput | UpdatePipelineScheduleInput,
  "start_after" | "cron_expression" | "timezone"
>;

/** Absent and null leave what is there, an empty text takes it away. What a dataset fires needs no time. */
export function readTimes(input: TimesInput, present: ScheduleTimes, hasTrigger: boolean): ScheduleTimes {
  const read = <T>(text: string | null | undefined, kept: T, none: T, parse: (text: string) => T): T => {
    if (text === null || text === undefined) return kept;
    return text.trim() === "" ? none : parse(text);
  };
  const timezone = read(input.timezone, present.timezone, "UTC", checkTimezone);
  const times = {
    timezone,
    start_after: read(input.start_after, present.start_after, null, (text) => readTime(text, timezone, "start_after")),
    cron_expression: read(input.cron_expression, present.cron_expression, null, checkCron),
  };
  if (!times.start_after && !times.cron_expression && !hasTrigger)
    throw invalid(
      "cron_expression",
      "a cron expression, a start_after, or both, or a trigger_dataset: with none it would never run",
    );
  return times;
}

/** A time that has passed counts when it stands alone: what is to run once, and is late, runs at once. */
export function firstRun(times: ScheduleTimes, now: number): string | null {
  if (!times.cron_expression) return times.start_after;
  const first = runAfter(times, now);
  if (first) return first;
  throw invalid("cron_expression", "an expression with a tick after start_after and before the year 3000");
}

/** The first run after this moment; null: there is none. */
export function runAfter({ start_after, cron_expression, timezone }: ScheduleTimes, after: number): string | null {
  const start = start_after ? Date.parse(start_after) : undefined;
  if (!cron_expression) return start !== undefined && start > after ? iso(start) : null;
  const tick = nextTick(cron_expression, timezone, Math.max(after, (start ?? 0) - 1));
  return tick === undefined ? null : iso(tick);
}

/** The next runs that are not there yet, at most so many. */
export function runsFrom(times: ScheduleTimes, first: string | null, count: number): string[] {
  const runs: string[] = [];
  for (let run = first; run !== null && runs.length < count; run = runAfter(times, Date.parse(run))) runs.push(run);
  return runs;
}

/** A tick is on time for so many milliseconds: as long as the next one is away at least. */
export const punctual = 60_000;

export interface Plan {
  /** Whether a run is due for the tick, or for those that it stands for. */
  readonly isDue: boolean;
  /** Which tick that is: of several that one run stands for, the newest. */
  readonly moment: string;
  readonly next: string | null;
}

/** What becomes of a tick that has come, or that went by long ago, perhaps with others after it. */
export function planTick(row: ScheduleTimes & Pick<ScheduleRow, "catch_up">, tick: string, now: number): Plan {
  const next = runAfter(row, now);
  const from = Date.parse(tick);
  const isPunctual = now - from < punctual;
  // What runs once may have been put off: its moment is the one that was asked for.
  if (!row.cron_expression)
    return { isDue: isPunctual || row.catch_up !== "none", moment: row.start_after ?? tick, next };
  if (isPunctual) return { isDue: true, moment: tick, next };
  const count = row.catch_up === "all" ? mostCaughtUp : 1;
  const [first = from, second] = newestTicks(row.cron_expression, row.timezone, { from, to: now }, count);
  const isDue = row.catch_up !== "none" || now - first < punctual;
  return { isDue, moment: iso(first), next: second === undefined ? next : iso(second) };
}

/** A clock that is set back by less than this only repeats ticks, and none of them fires twice. */
const repeatedMs = 3_600_000;

/** Only a run after this moment may be one that a wrong clock chose. */
export const doubtfulFrom = (now: number) => now + repeatedMs;

/**
 * The run to wait for instead of one that is too far away: later than any that follows from the clock as it is, or as it
 * was up to an hour ahead. Undefined: it is right. Ticks that fired while the clock was wrong do not count: they come
 * again when it is their time.
 */
export function mendedRun(times: ScheduleTimes, run: string, now: number): string | undefined {
  if (!times.cron_expression) {
    // Put off while the clock was wrong: what runs once is tried again at once.
    const isPutOff = times.start_after !== null && run > times.start_after && run > iso(doubtfulFrom(now));
    return isPutOff ? (times.start_after ?? undefined) : undefined;
  }
  const latest = runAfter(times, doubtfulFrom(now));
  return latest !== null && run > latest ? (runAfter(times, now) ?? undefined) : undefined;
}
