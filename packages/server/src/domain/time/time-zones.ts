/**
 * Time zones: what the clock on the wall shows at a moment, and the moments at which it shows something. Wall-clock times
 * are milliseconds too, as if the wall hung in UTC. Zones change their offset at most once in two days.
 */
import { invalid } from "@millrace/contract";
import { day, iso } from "./clock.ts";

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timezone: string): Intl.DateTimeFormat {
  let format = formats.get(timezone);
  if (!format) {
    const numeric = "numeric";
    const fields = {
      year: numeric,
      month: numeric,
      day: numeric,
      hour: numeric,
      minute: numeric,
      second: numeric,
    } as const;
    format = new Intl.DateTimeFormat("en-US", { timeZone: timezone, hourCycle: "h23", ...fields });
    formats.set(timezone, format);
  }
  return format;
}

/** An IANA name, as the platform writes it. Plain offsets are refused: they know no daylight saving. */
export function checkTimezone(text: string): string {
  const name = text.trim();
  try {
    if (/^[a-z]/i.test(name)) return new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone;
  } catch {}
  throw invalid("timezone", "an IANA time zone such as Europe/Berlin", text);
}

/** How far the wall is ahead of UTC at this moment. */
export function offsetAt(moment: number, timezone: string): number {
  if (timezone === "UTC") return 0;
  const parts = formatOf(timezone).formatToParts(moment);
  const part = Object.fromEntries(parts.map(({ type, value }) => [type, Number(value)]));
  const { year = 0, month = 1, day: date, hour, minute, second } = part;
  return Date.UTC(year, month - 1, date, hour, minute, second) - Math.floor(moment / 1000) * 1000;
}

/** The date that the clock on the wall shows then. */
export const dateAt = (moment: number, timezone: string): string =>
  iso(moment + offsetAt(moment, timezone)).slice(0, 10);

/** The moment of a wall-clock time: the first of two, and where there is none the moment after the gap. */
export function momentOf(wall: number, timezone: string): number {
  const before = offsetAt(wall - day, timezone);
  const after = offsetAt(wall + day, timezone);
  const [first, second] = [wall - before, wall - after].sort((a, b) => a - b) as [number, number];
  if (before === after) return first;
  for (const moment of [first, second]) if (moment + offsetAt(moment, timezone) === wall) return moment;
  return changeAfter(first, before, second, timezone) ?? second;
}

/** The first moment after `from`, and not after `to`, at which the offset is another than the one given. */
export function changeAfter(from: number, offset: number, to: number, timezone: string): number | undefined {
  if (offsetAt(to, timezone) === offset) return undefined;
  let [same, other] = [Math.floor(from / 1000), Math.ceil(to / 1000)];
  while (other - same > 1) {
    const middle = Math.floor((same + other) / 2);
    if (offsetAt(middle * 1000, timezone) === offset) same = middle;
    else other = middle;
  }
  return other * 1000;
}
