/** Formats times as local time in a time zone. */
import { usageError } from "./errors.ts";

/** The locale whose date format is the one of the API: 2026-01-31 09:00. */
const locale = "sv-SE";

export const wallText = (moment: string, timezone: string): string =>
  new Intl.DateTimeFormat(locale, { timeZone: timezone, dateStyle: "short", timeStyle: "short" }).format(
    new Date(moment),
  );

/** Formats the distance of a time from now, such as `in 5m` or `3h ago`. */
export function distanceText(moment: string, now: number): string {
  const seconds = Math.floor(Math.abs(Date.parse(moment) - now) / 1000);
  const [size, unit] = distances.find(([least]) => seconds >= least) ?? [1, "s"];
  const distance = `${Math.floor(seconds / size)}${unit}`;
  return Date.parse(moment) > now ? `in ${distance}` : `${distance} ago`;
}

const distances = [[86_400, "d"] as const, [3600, "h"] as const, [60, "m"] as const];

/**
 * Formats a time as the API does, in UTC, followed by the local time in parentheses. If the time zone is UTC, the local
 * time is left out.
 */
export const whenText = (moment: string, timezone: string): string =>
  timezone === "UTC" ? moment : `${moment} (${wallText(moment, timezone)} ${timezone})`;

/** Formats a time in ISO 8601, with the UTC offset of the time zone at that time. */
export function localTime(moment: string, timezone: string): string {
  const date = new Date(moment);
  const wall = new Intl.DateTimeFormat(locale, { timeZone: timezone, dateStyle: "short", timeStyle: "medium" });
  const parts = new Intl.DateTimeFormat("en-US", { timeZone: timezone, timeZoneName: "longOffset" }).formatToParts(
    date,
  );
  const offset = parts.find(({ type }) => type === "timeZoneName")?.value.slice("GMT".length) || "+00:00";
  return `${wall.format(date).replace(" ", "T")}${offset}`;
}

export function checkZone(text: string): string {
  try {
    return new Intl.DateTimeFormat(locale, { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    throw usageError(`--tz: unknown time zone '${text}'`, { why: "Expected an IANA name such as Europe/Berlin" });
  }
}
