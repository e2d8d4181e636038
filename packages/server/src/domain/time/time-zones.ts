/**
 * Converts between moments (Unix times in milliseconds) and wall-clock times of a time zone. A wall-clock time is
 * represented by the milliseconds that it would have in UTC. The code assumes that a zone changes its offset at most
 * once in two days.
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

/**
 * Returns the IANA name of a time zone in canonical form. Throws on plain offsets, because they have no daylight saving
 * time.
 */
export function checkTimezone(text: string): string {
  const name = text.trim();
  try {
    if (/^[a-z]/i.test(name)) return new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone;
  } catch {}
  throw invalid("timezone", "an IANA time zone such as Europe/Berlin", text);
}

/** Returns the milliseconds that the zone is ahead of UTC at this moment. */
export function offsetAt(moment: number, timezone: string): number {
  if (timezone === "UTC") return 0;
  const parts = formatOf(timezone).formatToParts(moment);
  const part = Object.fromEntries(parts.map(({ type, value }) => [type, Number(value)]));
  const { year = 0, month = 1, day: date, hour, minute, second } = part;
  return Date.UTC(year, month - 1, date, hour, minute, second) - Math.floor(moment / 1000) * 1000;
}

/** Returns the local date at this moment, such as `2030-01-31`. */
export const dateAt = (moment: number, timezone: string): string =>
  iso(moment + offsetAt(moment, timezone)).slice(0, 10);

/**
 * Returns the moment (Unix time in milliseconds) of a wall-clock time. If the clock shows the time twice, returns the
 * first of the two moments. If the clock skips the time, returns the end of the gap.
 */
export function momentOf(wall: number, timezone: string): number {
  const before = offsetAt(wall - day, timezone);
  const after = offsetAt(wall + day, timezone);
  const [first, second] = [wall - before, wall - after].sort((a, b) => a - b) as [number, number];
  if (before === after) return first;
  for (const moment of [first, second]) if (moment + offsetAt(moment, timezone) === wall) return moment;
  return changeAfter(first, before, second, timezone) ?? second;
}

/**
 * Returns the first moment between `from` and `to` at which the zone's offset differs from `offset`. Returns undefined
 * if the offset at `to` is still `offset`.
 */
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
