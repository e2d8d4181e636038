/**
 * Parses times that users type, and computes the ticks of cron expressions. The cron library computes local wall-clock
 * times; this file converts them to Unix times, also across daylight saving changes. docs/schedules.md has the rules.
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

/** Cache of parsed expressions: parsing costs many times as much as finding a tick. */
const calendars = new Map<string, Cron>();

/** Returns the parsed expression, which computes wall-clock times. */
function calendarOf(expression: string): Cron {
  let calendar = calendars.get(expression);
  if (!calendar) {
    // With a fixed offset instead of a zone the library makes no time zone queries, which makes it fourteen times as
    // fast.
    calendar = new Cron(fieldsOf(expression), { utcOffset: 0, paused: true });
    if (calendars.size > 500) calendars.clear();
    calendars.set(expression, calendar);
  }
  return calendar;
}

/** Returns a cron expression with normalized spaces. Throws unless it has five fields or is a name such as @daily. */
export function checkCron(expression: string): string {
  const text = expression.trim().replace(/\s+/g, " ");
  const fields = fieldsOf(text).split(" ");
  if (fields.length !== 5)
    throw invalid("cron_expression", `five cron fields or one of ${[...names.keys()].join(" ")}`, expression);
  const wrong = fields.findIndex((field, place) => !isField(field, place));
  if (wrong !== -1) throw invalid("cron_expression", `five cron fields with ${values[wrong]}`, fields[wrong] ?? "");
  if (calendarOf(text).nextRun() === null)
    throw invalid("cron_expression", "an expression that matches at least one date", expression);
  return text;
}

/** The values of the five fields. */
const values = [
  "a minute from 0 to 59",
  "an hour from 0 to 23",
  "a day of the month from 1 to 31",
  "a month from 1 to 12",
  "a day of the week from 0 to 7",
] as const;

/** Each field is parsed alone, because the errors of the library do not say clearly which one is wrong. */
function isField(text: string, place: number): boolean {
  try {
    calendarOf(values.map((_, index) => (index === place ? text : "*")).join(" "));
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the first tick that is later than `after`; undefined if there is none before the year 3000. Both times are
 * Unix times in milliseconds.
 */
export function nextTick(expression: string, timezone: string, after: number): number | undefined {
  const next = meansEveryHour(expression) ? nextInRhythm : nextByName;
  return next(calendarOf(expression), timezone, after);
}

/**
 * Returns whether the hour field is `*`. The ticks of such an expression keep their intervals when daylight saving time
 * begins or ends.
 */
const meansEveryHour = (expression: string) => /^\S+ (\*|\*\/1|0-23) /.test(fieldsOf(expression));

/** Returns the first wall-clock time that matches an expression and is later than `wall`. */
const nextWall = (calendar: Cron, wall: number) => calendar.nextRun(new Date(wall))?.getTime();

/**
 * Returns the next tick of an expression that names hours. Each named hour ticks once a day. If the clock skips the
 * hour, the tick is at the end of the gap. If the clock repeats the hour, the tick is in the first of the two hours.
 */
function nextByName(calendar: Cron, timezone: string, after: number): number | undefined {
  let wall = nextWall(calendar, after + offsetAt(after, timezone));
  while (wall !== undefined) {
    const moment = momentOf(wall, timezone);
    if (moment > after) return moment;
    wall = nextWall(calendar, wall);
  }
  return undefined;
}

/**
 * Returns the next tick of an expression whose hour field is `*`. Divides time into periods in which the zone's offset
 * from UTC is constant, and searches one period after another.
 */
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

/** A span of time, in milliseconds since the epoch, including both ends. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** Returns the newest ticks in a span of time: at most `count`, oldest first. Used to catch up after an outage. */
export function newestTicks(expression: string, timezone: string, span: Span, count: number): number[] {
  const oldest = firstTicks(expression, timezone, span, count + 1);
  if (oldest.length <= count) return oldest;
  // Searched backwards only if there are many ticks: for a rare expression the library would search through centuries.
  const wall = new Date(span.to + offsetAt(span.to, timezone));
  const from = calendarOf(expression).previousRuns(count, wall).at(-1)?.getTime() ?? 0;
  const newer = { from: Math.max(span.from, momentOf(from, timezone)), to: span.to };
  return firstTicks(expression, timezone, newer, Number.POSITIVE_INFINITY).slice(-count);
}

/** Returns the oldest ticks in a span of time: at most `count`, oldest first. */
export function firstTicks(expression: string, timezone: string, { from, to }: Span, count: number): number[] {
  return [...ticksIn(expression, timezone, { from, to }).take(count)];
}

/** Yields the ticks in a span of time, oldest first. */
export function* ticksIn(expression: string, timezone: string, { from, to }: Span): Generator<number, undefined> {
  let tick = nextTick(expression, timezone, from - 1);
  while (tick !== undefined && tick <= to) {
    yield tick;
    tick = nextTick(expression, timezone, tick);
  }
}

/** Parses an ISO 8601 time and returns it in UTC. A time without an offset is a wall-clock time in the given zone. */
export function readTime(text: string, timezone: string, field: string): string {
  const match = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?\s*(Z|[+-]\d\d:?\d\d)?$/i.exec(
    text.trim(),
  );
  const expected = "a time such as 2030-01-31T08:30 or 2030-01-31T08:30:00+01:00";
  if (!match) throw invalid(field, expected, text);
  const [, year, month, date, hour = "00", minute = "00", second = "00", fraction = "0", offset] = match;
  const wall = `${year}-${month}-${date}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, "0")}`;
  const zone = offset?.replace(/^([+-]\d\d)(\d\d)$/, "$1:$2").toUpperCase();
  // Date would read the 31st of February as a day in March, but such a date is a typing error.
  const plain = new Date(`${wall}Z`);
  if (Number.isNaN(plain.getTime()) || plain.getUTCDate() !== Number(date))
    throw invalid(field, "a date in the calendar and a time of day from 00:00:00 to 23:59:59", text);
  const time = zone ? Date.parse(wall + zone) : momentOf(plain.getTime(), timezone);
  // The store sorts times as text, which works only up to the year 9999.
  if (Number.isNaN(time) || time < 0 || time >= Date.UTC(10_000, 0))
    throw invalid(field, "a time from the year 1970 to the year 9999 with an existing UTC offset", text);
  return iso(time);
}
