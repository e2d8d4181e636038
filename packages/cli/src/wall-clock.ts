/** Formats times as local time in a time zone. */
import { usageError } from "./errors.ts";

/** A locale that formats dates as the API does: 2026-01-31 09:00. */
const locale = "sv-SE";

export const wallText = (moment: string, timezone: string): string =>
  new Intl.DateTimeFormat(locale, { timeZone: timezone, dateStyle: "short", timeStyle: "short" }).format(
    new Date(moment),
  );

/** Formats how far a time is from now, such as `in 5m` or `3h ago`. */
export function distanceText(moment: string, now: number): string {
  const seconds = Math.floor(Math.abs(Date.parse(moment) - now) / 1000);
  const [size, unit] = distances.find(([least]) => seconds >= least) ?? [1, "s"];
  const distance = `${Math.floor(seconds / size)}${unit}`;
  return Date.parse(moment) > now ? `in ${distance}` : `${distance} ago`;
}

const distances = [[86_400, "d"] as const, [3600, "h"] as const, [60, "m"] as const];

/** Formats a time in UTC as the API does, followed by the local time in the time zone. */
export const whenText = (moment: string, timezone: string): string =>
  timezone === "UTC" ? moment : `${moment} (${wallText(moment, timezone)} ${timezone})`;

/** Formats a time in ISO 8601, with the offset that the time zone has at that time. */
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
