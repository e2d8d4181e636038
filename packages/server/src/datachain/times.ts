/** Times as the library writes them in a warehouse. */

/** From ISO 8601 with milliseconds, so that it sorts with the library's own. */
export const libraryTime = (time: string) => time.replace("T", " ").replace("Z", "000");

/** `2026-01-31 08:30:00.123456`, with or without an offset of zero, as ISO 8601; null: it is no such time. */
export function readLibraryTime(value: unknown): string | null {
  const match =
    typeof value === "string" ? /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d{1,6})?(?:\+00:00|Z)?$/.exec(value) : null;
  const time = match ? Date.parse(`${match[1]}T${match[2]}${(match[3] ?? ".0").slice(0, 4)}Z`) : Number.NaN;
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
