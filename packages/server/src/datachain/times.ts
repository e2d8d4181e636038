/** Converts between ISO 8601 and the time format that the datachain library writes to a warehouse. */

/**
 * Converts an ISO 8601 time with milliseconds to the library's format. The result has microseconds, so that it sorts
 * correctly among times that the library wrote.
 */
export const libraryTime = (time: string) => time.replace("T", " ").replace("Z", "000");

/** Converts a time such as `2026-01-31 08:30:00.123456`, in UTC, to ISO 8601. Returns null for any other value. */
export function readLibraryTime(value: unknown): string | null {
  const match =
    typeof value === "string" ? /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d{1,6})?(?:\+00:00|Z)?$/.exec(value) : null;
  const time = match ? Date.parse(`${match[1]}T${match[2]}${(match[3] ?? ".0").slice(0, 4)}Z`) : Number.NaN;
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
