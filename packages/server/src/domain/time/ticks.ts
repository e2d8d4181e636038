/**
 * Times: what people type, and the ticks of cron expressions. Which wall-clock times an expression means is the cron
 * library's to say; which moments those are, also where clocks change, is said here and in docs/schedules.md.
 */
import { invalid } from "@millrace/contract";
import { Cron } from "croner";
import { day, iso } from "./clock.ts";
import { changeAfter, momentOf, offsetAt } from "./time-zones.ts";

const names: ReadonlyMap<string, string> = new Map([
  ["@hourly", "0 * * * *"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@weekly", "0 0 * * 0"],
  ["@monthly", "0 0 1 * *"],
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
]);
const fieldsOf = (expression: string) => names.get(expression.toLowerCase()) ?? expression;

/** Reading an expression costs many times what finding a tick does. */
const calendars = new Map<string, Cron>();

/** The wall-clock times that an expression means. */
function calendarOf(expression: string): Cron {
  let calendar = calendars.get(expression);
  if (!calendar) {
    // With an offset, not a zone: the library then has no need to ask the platform, and is fourteen times as fast.
    calendar = new Cron(fieldsOf(expression), { utcOffset: 0, paused: true });
    if (calendars.size > 500) calendars.clear();
    calendars.set(expression, calendar);
  }
  return calendar;
}

/** Five fields or one of the names; anything else is refused. */
export function checkCron(expression: string): string {
  const text = expression.trim().replace(/\s+/g, " ");
  const expected = `five cron fields or one of ${[...names.keys()].join(" ")}`;
  if (fieldsOf(text).split(" ").length !== 5) throw invalid("cron_expression", expected, expression);
  if (nextRunOf(text, expected) === null)
    throw invalid("cron_expression", "a time that comes at least once; this one never does", expression);
  return text;
}

function nextRunOf(expression: string, expected: string): Date | null {
  try {
    return calendarOf(expression).nextRun();
  } catch (error) {
    throw invalid("cron_expression", `${expected} (${(error as Error).message})`, expression);
  }
}

/** The first tick after this moment; undefined when there is none before the year 3000. */
export function nextTick(expression: string, timezone: string, after: number): number | undefined {
  const next = meansEveryHour(expression) ? nextInRhythm : nextByName;
  return next(calendarOf(expression), timezone, after);
}

/** With `*` for the hour: what counts is the time between two ticks, not which hour it is. */
const meansEveryHour = (expression: string) => /^\S+ (\*|\*\/1|0-23) /.test(fieldsOf(expression));

const nextWall = (calendar: Cron, wall: number) => calendar.nextRun(new Date(wall))?.getTime();

/** Hours that are named have their tick once: after the gap where they do not exist, the first time where they do twice. */
function nextByName(calendar: Cron, timezone: string, after: number): number | undefined {
  let wall = nextWall(calendar, after + offsetAt(after, timezone));
  while (wall !== undefined) {
    const moment = momentOf(wall, timezone);
    if (moment > after) return moment;
    wall = nextWall(calendar, wall);
  }
  return undefined;
}

/** Whenever the clock shows such a minute: between two changes of the offset at a time. */
function nextInRhythm(calendar: Cron, timezone: string, after: number): number | undefined {
  let from = after;
  let offset = offsetAt(from, timezone);
  for (;;) {
    const wall = nextWall(calendar, from + offset);
    if (wall === undefined) return undefined;
    const tick = wall - offset;
    const horizon = Math.min(tick, from + 2 * day);
    const change = changeAfter(from, offset, horizon, timezone);
    if (change !== undefined) from = change - 1;
    else if (horizon === tick) return tick;
    else from = Math.max(horizon, tick - 2 * day);
    offset = offsetAt(change ?? from, timezone);
  }
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** The newest ticks of a span of time, at most so many: what is made up for after an outage. Neither end is left out. */
export function newestTicks(expression: string, timezone: string, span: Span, count: number): number[] {
  const oldest = firstTicks(expression, timezone, span, count + 1);
  if (oldest.length <= count) return oldest;
  // Only where there are many: of those that are rare the library would look through centuries.
  const wall = new Date(span.to + offsetAt(span.to, timezone));
  const from = calendarOf(expression).previousRuns(count, wall).at(-1)?.getTime() ?? 0;
  const newer = { from: Math.max(span.from, momentOf(from, timezone)), to: span.to };
  return firstTicks(expression, timezone, newer, Number.POSITIVE_INFINITY).slice(-count);
}

/** The oldest ticks of a span of time, at most so many. */
export function firstTicks(expression: string, timezone: string, { from, to }: Span, count: number): number[] {
  const ticks: number[] = [];
  let tick = nextTick(expression, timezone, from - 1);
  while (tick !== undefined && tick <= to && ticks.length < count) {
    ticks.push(tick);
    tick = nextTick(expression, timezone, tick);
  }
  return ticks;
}

/** ISO 8601; without an offset it is a wall-clock time in the given zone. */
export function readTime(text: string, timezone: string, field: string): string {
  const match = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?\s*(Z|[+-]\d\d:?\d\d)?$/i.exec(
    text.trim(),
  );
  const expected = "a time such as 2030-01-31T08:30 or 2030-01-31T08:30:00+01:00";
  if (!match) throw invalid(field, expected, text);
  const [, year, month, date, hour = "00", minute = "00", second = "00", fraction = "0", offset] = match;
  const wall = `${year}-${month}-${date}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, "0")}`;
  const zone = offset?.replace(/^([+-]\d\d)(\d\d)$/, "$1:$2").toUpperCase();
  // Date takes the 31st of February for a day in March; a person who typed it made a mistake.
  const plain = new Date(`${wall}Z`);
  if (Number.isNaN(plain.getTime()) || plain.getUTCDate() !== Number(date)) throw invalid(field, expected, text);
  const time = zone ? Date.parse(wall + zone) : momentOf(plain.getTime(), timezone);
  // Beyond the year 9999 times no longer sort as text.
  if (Number.isNaN(time) || time < 0 || time >= Date.UTC(10_000, 0)) throw invalid(field, expected, text);
  return iso(time);
}
