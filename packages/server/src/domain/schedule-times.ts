/** When a schedule fires: from what was asked for, and from one tick to the next, also after an outage. */
import {
  type CreatePipelineScheduleInput,
  invalid,
  mostCaughtUp,
  type UpdatePipelineScheduleInput,
} from "@millrace/contract";
import type { ScheduleRow } from "../store/schedules.ts";
import { iso } from "./clock.ts";
import { punctual } from "./schedule-health.ts";
import { checkCron, countTicks, newestTicks, nextTick, readTime } from "./ticks.ts";
import { checkTimezone } from "./time-zones.ts";

export type ScheduleTimes = Pick<ScheduleRow, "start_after" | "cron_expression" | "timezone">;

type TimesInput = Pick<
  CreatePipelineScheduleInput | UpdatePipelineScheduleInput,
  "start_after" | "cron_expression" | "timezone"
>;

/** Absent and null leave what is there, an empty text takes it away. */
export function readTimes(input: TimesInput, present: ScheduleTimes): ScheduleTimes {
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
  if (!times.start_after && !times.cron_expression)
    throw invalid("cron_expression", "a cron expression, a start_after, or both: with neither it would never run");
  return times;
}

/** A time that has passed counts when it stands alone: what is to run once, and is late, runs at once. */
export function firstRun(times: ScheduleTimes, now: number): string {
  if (!times.cron_expression && times.start_after) return times.start_after;
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

interface Plan {
  /** The tick that a run is due for, the first of several; undefined: none is. */
  readonly due: string | undefined;
  /** How many ticks that run stands for. Counted up to a hundred, as those are that are dropped. */
  readonly ticks: number;
  /** How many ticks from the first on get no run. */
  readonly dropped: number;
  readonly next: string | null;
}

/** What becomes of a tick that has come, or that went by long ago, perhaps with others after it. */
export function planTick(row: ScheduleTimes & Pick<ScheduleRow, "catch_up">, tick: string, now: number): Plan {
  const next = runAfter(row, now);
  const from = Date.parse(tick);
  if (now - from < punctual) return { due: tick, ticks: 1, dropped: 0, next };
  const { cron_expression: cron, timezone, catch_up } = row;
  const newest = (count: number) => (cron ? newestTicks(cron, timezone, { from, to: now }, count) : []);
  const countTo = (to: number) => (cron ? countTicks(cron, timezone, { from, to }, mostCaughtUp) : 1);
  if (catch_up === "one") return { due: tick, ticks: Math.max(1, countTo(now)), dropped: 0, next };
  if (catch_up === "none") {
    const last = newest(1)[0] ?? from;
    if (now - last >= punctual) return { due: undefined, ticks: 0, dropped: Math.max(1, countTo(now)), next };
    return { due: iso(last), ticks: 1, dropped: countTo(last - 1), next };
  }
  const [first = from, second] = newest(mostCaughtUp);
  const dropped = first > from ? countTo(first - 1) : 0;
  return { due: iso(first), ticks: 1, dropped, next: second === undefined ? next : iso(second) };
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
