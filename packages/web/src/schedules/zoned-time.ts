/** Moments as wall-clock times of a time zone. */

/** The reader's time zone. */
export const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string, withYear: boolean): Intl.DateTimeFormat {
  const key = `${zone} ${withYear}`;
  const known =
    formats.get(key) ??
    new Intl.DateTimeFormat(undefined, {
      ...{ weekday: "short", day: "numeric", month: "short", ...(withYear ? { year: "numeric" } : {}) },
      ...{ hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: zone },
    });
  formats.set(key, known);
  return known;
}

/**
 * Returns a moment as people of the zone read it, with the year if it is not the present one. A zone that this browser
 * does not know is shown as UTC.
 */
export function inZone(at: string, zone: string, now = new Date()): string {
  const withYear = dateInZone(at, zone).slice(0, 4) !== dateInZone(now.toISOString(), zone).slice(0, 4);
  try {
    return formatOf(zone, withYear).format(Date.parse(at));
  } catch {
    return `${formatOf("UTC", withYear).format(Date.parse(at))} UTC`;
  }
}

const parts = new Map<string, Intl.DateTimeFormat>();

/** Returns the date of a moment in a zone, such as 2026-11-17. */
export function dateInZone(at: string, zone: string): string {
  try {
    // Swedish writes dates as ISO 8601 does.
    const format = parts.get(zone) ?? new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeZone: zone });
    parts.set(zone, format);
    return format.format(Date.parse(at));
  } catch {
    return at.slice(0, 10);
  }
}

/** Time zones that this browser knows. */
export const allZones = (): string[] => ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];
