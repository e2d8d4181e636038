/** Times of schedules. Reads the times from a request, and computes the next tick, also after an outage. */
import {
  type CreatePipelineScheduleInput,
  invalid,
  mostCaughtUp,
  type SchedulePreview,
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

/**
 * Returns the times after a change. An absent or null field keeps its value, and an empty text removes the value.
 * Throws if the schedule would have neither a time nor a trigger.
 */
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
      "at least one of cron_expression, start_after and, for a schedule, trigger_dataset. Without any of these, no run would ever start",
    );
  return times;
}

/**
 * Returns the time of the first run; null if only a dataset triggers the schedule. Without a cron expression, the first
 * run is at `start_after`. If that time has passed, the schedule runs at once.
 */
export function firstRun(times: ScheduleTimes, now: number): string | null {
  if (!times.cron_expression) return times.start_after;
  const first = runAfter(times, now);
  if (first) return first;
  throw invalid(
    "cron_expression",
    `an expression with a tick after ${times.start_after ?? iso(now)} and before the year 3000`,
    times.cron_expression,
  );
}

/** Returns the time of the first run after `after` (Unix time in milliseconds); null if there is none. */
export function runAfter({ start_after, cron_expression, timezone }: ScheduleTimes, after: number): string | null {
  const start = start_after ? Date.parse(start_after) : undefined;
  if (!cron_expression) return start !== undefined && start > after ? iso(start) : null;
  const tick = nextTick(cron_expression, timezone, Math.max(after, (start ?? 0) - 1));
  return tick === undefined ? null : iso(tick);
}

/** Returns the times of the next runs, at most `count`. The first of them is `first`. */
export function runsFrom(times: ScheduleTimes, first: string | null, count: number): string[] {
  const runs: string[] = [];
  for (let run = first; run !== null && runs.length < count; run = runAfter(times, Date.parse(run))) runs.push(run);
  return runs;
}

/** Number of next runs that the API shows. */
export const shownRuns = 5;

/** Returns the next runs that a schedule or task with these times would have. */
export function previewTimes(input: TimesInput, now: number): SchedulePreview {
  const times = readTimes(input, { start_after: null, cron_expression: null, timezone: "UTC" }, false);
  return { ...times, next_runs: runsFrom(times, firstRun(times, now), shownRuns) };
}

/** A tick is on time if it fires less than this many milliseconds late. This is the shortest time between two ticks. */
export const punctual = 60_000;

/** What happens at a tick that is due. */
export interface Plan {
  /** Whether a pipeline is created for the tick. */
  readonly isDue: boolean;
  /** Scheduled time of the pipeline: the newest tick that the pipeline makes up for. */
  readonly moment: string;
  /** Time of the next tick; null if there is none. */
  readonly next: string | null;
}

/**
 * Plans what happens at a tick that is due. If the tick is late, further ticks may have passed since; `catch_up`
 * decides for which of them a pipeline is created.
 */
export function planTick(row: ScheduleTimes & Pick<ScheduleRow, "catch_up">, tick: string, now: number): Plan {
  const next = runAfter(row, now);
  const from = Date.parse(tick);
  const isPunctual = now - from < punctual;
  // A schedule that runs once may have been postponed: its scheduled time stays start_after.
  if (!row.cron_expression)
    return { isDue: isPunctual || row.catch_up !== "none", moment: row.start_after ?? tick, next };
  if (isPunctual) return { isDue: true, moment: tick, next };
  const count = row.catch_up === "all" ? mostCaughtUp : 1;
  const [first = from, second] = newestTicks(row.cron_expression, row.timezone, { from, to: now }, count);
  const isDue = row.catch_up !== "none" || now - first < punctual;
  return { isDue, moment: iso(first), next: second === undefined ? next : iso(second) };
}

/**
 * If the clock is set back by at most this many milliseconds, a schedule keeps its stored `next_run`, so that no tick
 * fires a second time.
 */
const repeatedMs = 3_600_000;

/** Returns a Unix time in milliseconds. A stored next run after that time may have been computed with a wrong clock. */
export const doubtfulFrom = (now: number) => now + repeatedMs;

/**
 * Returns the corrected time of the next run if the stored time was computed with a clock that was ahead by more than
 * an hour. Returns undefined if the stored time is right. Ticks that fired too early because of the wrong clock fire
 * again at the right time.
 */
export function mendedRun(times: ScheduleTimes, run: string, now: number): string | undefined {
  if (!times.cron_expression) {
    // The run was postponed with the wrong clock: a schedule that runs once is tried again at once.
    const isPutOff = times.start_after !== null && run > times.start_after && run > iso(doubtfulFrom(now));
    return isPutOff ? (times.start_after ?? undefined) : undefined;
  }
  const latest = runAfter(times, doubtfulFrom(now));
  return latest !== null && run > latest ? (runAfter(times, now) ?? undefined) : undefined;
}
