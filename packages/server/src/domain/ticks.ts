/** Times: what people type, and the ticks of cron expressions. */
import { invalid } from "@millrace/contract";
import { Cron } from "croner";
import { iso } from "./clock.ts";

const names = ["@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"];

/** Five fields or one of the names; anything else is refused. */
export function checkCron(expression: string): string {
  const text = expression.trim().replace(/\s+/g, " ");
  const expected = `five cron fields or one of ${names.join(" ")}`;
  if (text.startsWith("@") ? !names.includes(text.toLowerCase()) : text.split(" ").length !== 5) {
    throw invalid("cron_expression", expected, expression);
  }
  try {
    if (!new Cron(text, { timezone: "UTC", paused: true }).nextRun()) throw new Error("it never comes");
  } catch (error) {
    throw invalid("cron_expression", `${expected} (${(error as Error).message})`, expression);
  }
  return text;
}

/** The first tick after this moment; undefined when there is none. Ticks are counted in UTC. */
export function nextTick(expression: string, after: number): number | undefined {
  const cron = new Cron(expression.replace("@midnight", "@daily"), { timezone: "UTC", paused: true });
  return cron.nextRun(new Date(after))?.getTime();
}

/** ISO 8601; without an offset it is a wall-clock time in the given zone. */
export function readTime(text: string, timezone: string, field: string): string {
  const match = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?\s*(Z|[+-]\d\d:?\d\d)?$/i.exec(
    text.trim(),
  );
  const expected = "a time such as 2030-01-31T08:30 or 2030-01-31T08:30:00+01:00";
  if (!match) throw invalid(field, expected, text);
  const [, year, month, date, hour = "00", minute = "00", second = "00", fraction = "0", offset] = match;
  const wall = `${year}-${month}-${date}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, "0")}`;
  const zone = offset?.replace(/^([+-]\d\d)(\d\d)$/, "$1:$2").toUpperCase();
  // Date takes the 31st of February for a day in March; a person who typed it made a mistake.
  const plain = new Date(`${wall}Z`);
  if (Number.isNaN(plain.getTime()) || plain.getUTCDate() !== Number(date)) throw invalid(field, expected, text);
  const time = zone ? Date.parse(wall + zone) : wallTime(wall, timezone);
  // Beyond the year 9999 times no longer sort as text.
  if (Number.isNaN(time) || time < 0 || time >= Date.UTC(10_000, 0)) throw invalid(field, expected, text);
  return iso(time);
}

/** A wall-clock time in a zone as milliseconds. Twice corrected, so that it is right beside a change of offset too. */
function wallTime(wall: string, timezone: string): number {
  const asUtc = Date.parse(`${wall}Z`);
  const first = asUtc - offsetAt(asUtc, timezone);
  return asUtc - offsetAt(first, timezone);
}

function offsetAt(time: number, timezone: string): number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: timezone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const part = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]));
  const shown = Date.UTC(
    part["year"] ?? 0,
    (part["month"] ?? 1) - 1,
    part["day"],
    part["hour"],
    part["minute"],
    part["second"],
  );
  return shown - Math.floor(time / 1000) * 1000;
}
