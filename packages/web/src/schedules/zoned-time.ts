/** Moments as wall-clock times of a time zone. */

/** The reader's time zone. */
export const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const known =
    formats.get(zone) ??
    new Intl.DateTimeFormat(undefined, {
      ...{ weekday: "short", day: "numeric", month: "short", year: "numeric" },
      ...{ hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: zone },
    });
  formats.set(zone, known);
  return known;
}

/** Returns a moment as people of the zone read it. A zone that this browser does not know is shown as UTC. */
export function inZone(at: string, zone: string): string {
  try {
    return formatOf(zone).format(Date.parse(at));
  } catch {
    return `${formatOf("UTC").format(Date.parse(at))} UTC`;
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
