/**
 * Ticks computed without the scheduler's own code: a walk over every minute of a time span that reads the local time
 * from the platform, and a parser of cron fields with lists, ranges and steps only.
 */
const minute = 60_000;

/** The local time at every minute of a span, represented as a UTC time. */
export interface Walls {
  readonly from: number;
  readonly walls: readonly number[];
}

export function wallsOf(timezone: string, from: number, to: number): Walls {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone: timezone, dateStyle: "short", timeStyle: "short" });
  const walls: number[] = [];
  // Clock changes happen at a multiple of ten minutes.
  for (let moment = from, wall = 0; moment < to; moment += minute, wall += minute) {
    if (moment === from || moment % (10 * minute) === 0)
      wall = Date.parse(`${format.format(moment).replace(" ", "T")}Z`);
    walls.push(wall);
  }
  return { from, walls };
}

/** The moments at which an expression ticks, by the rules of docs/schedules.md. */
export function expectedTicks(expression: string, { from, walls }: Walls): number[] {
  const matches = matcherOf(expression);
  const everyHour = expression.split(" ")[1] === "*";
  const ticks: number[] = [];
  let newest = (walls[0] ?? 0) - minute;
  for (const [index, wall] of walls.entries()) {
    const first = everyHour ? wall : newest + minute;
    if (matchesOneOf(matches, first, wall)) ticks.push(from + index * minute);
    newest = Math.max(newest, wall);
  }
  return ticks;
}

/** The local minutes that this real minute covers: also those of a gap before it, and none when it repeats. */
function matchesOneOf(matches: (wall: number) => boolean, first: number, last: number): boolean {
  for (let wall = first; wall <= last; wall += minute) if (matches(wall)) return true;
  return false;
}

function matcherOf(expression: string): (wall: number) => boolean {
  const [minutes = "", hours = "", days = "", months = "", weekdays = ""] = expression.split(" ");
  const [inMinutes, inHours] = [field(minutes, 0, 59), field(hours, 0, 23)];
  const [inDays, inMonths, inWeekdays] = [field(days, 1, 31), field(months, 1, 12), field(weekdays, 0, 7)];
  const either = days !== "*" && weekdays !== "*";
  return (wall) => {
    if (!inMinutes.has((wall / minute) % 60) || !inHours.has(Math.floor(wall / minute / 60) % 24)) return false;
    const date = new Date(wall);
    if (!inMonths.has(date.getUTCMonth() + 1)) return false;
    const onDay = inDays.has(date.getUTCDate());
    const onWeekday = inWeekdays.has(date.getUTCDay()) || (date.getUTCDay() === 0 && inWeekdays.has(7));
    return either ? onDay || onWeekday : onDay && onWeekday;
  };
}

function field(text: string, lowest: number, highest: number): Set<number> {
  const values = new Set<number>();
  for (const part of text.split(",")) {
    const [range = "", step = "1"] = part.split("/");
    const [first, last = first] = range === "*" ? [lowest, highest] : range.split("-").map(Number);
    for (let value = first ?? 0; value <= (last ?? 0); value += Number(step)) values.add(value);
  }
  return values;
}
