/** Parses `--start-time`: a date, or a common English phrase for one. */
import { usageError } from "../errors.ts";

export const units: Record<string, number> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
};
const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/**
 * Parses a time and returns it in UTC, because the server may be in another time zone. If the text has no UTC offset,
 * it is in the user's time zone.
 */
export function parseStartTime(text: string, now = new Date(), command = "job run"): string {
  const words = text.trim().toLowerCase();
  const date = isoDate(words) ?? fromNow(words, now) ?? dayAndTime(words, now);
  if (date && !Number.isNaN(date.getTime())) return date.toISOString();
  throw usageError(`--start-time: '${text}' is not a valid time`, {
    why: "Expected 2026-01-31T09:00 (with an offset, or in your own time zone), 'in 2 hours', 'tomorrow 9am', 'monday 18:30'",
    next: `millrace ${command} --help`,
  });
}

export function isoDate(text: string): Date | undefined {
  const match = /^(\d{4}-\d\d-\d\d)(?:[t ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?\s*(z|[+-]\d\d:?\d\d)?$/.exec(text);
  if (!match) return undefined;
  const [, day, time = "00:00", zone = ""] = match;
  const offset = /^[+-]\d{4}$/.test(zone) ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase();
  return new Date(`${day}T${time}${offset}`);
}

function fromNow(text: string, now: Date): Date | undefined {
  if (text === "now") return now;
  const match = /^in (\d+|an?) (second|minute|hour|day|week)s?$/.exec(text);
  if (!match) return undefined;
  const [, count = "", unit = ""] = match;
  return new Date(now.getTime() + (/^\d/.test(count) ? Number(count) : 1) * (units[unit] ?? 0));
}

/**
 * Parses `9am`, `today 18:30`, `tomorrow` or `monday at 9:15 pm`. The result is in the future, except for a time with
 * `today`, which may have passed.
 */
function dayAndTime(text: string, now: Date): Date | undefined {
  const match = /^([a-z]{5,9})?\s*(?:at\s+)?(\d.*)?$/.exec(text);
  if (!match || text === "") return undefined;
  const [, day, clock] = match;
  const time = clock === undefined ? ([0, 0] as const) : clockTime(clock);
  const weekday = weekdays.indexOf(day ?? "");
  if (!time || (day !== undefined && weekday < 0 && day !== "today" && day !== "tomorrow")) return undefined;
  const date = new Date(now);
  date.setHours(...time, 0, 0);
  if (day === "tomorrow") date.setDate(date.getDate() + 1);
  if (weekday >= 0) date.setDate(date.getDate() + ((weekday - date.getDay() + 7) % 7));
  if (date <= now && day !== "today") date.setDate(date.getDate() + (weekday >= 0 ? 7 : 1));
  return date;
}

function clockTime(text: string): readonly [hours: number, minutes: number] | undefined {
  const match = /^(\d{1,2})(?::(\d\d))?\s*(am|pm)?$/.exec(text);
  if (!match || (match[2] === undefined && match[3] === undefined)) return undefined;
  const [hours, minutes] = [Number(match[1]), Number(match[2] ?? 0)];
  if (minutes > 59 || hours > (match[3] ? 12 : 23) || (match[3] && hours === 0)) return undefined;
  return [match[3] ? (hours % 12) + (match[3] === "pm" ? 12 : 0) : hours, minutes];
}
