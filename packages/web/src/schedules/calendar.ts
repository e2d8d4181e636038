/** Arranges what happened by day into the weeks of a calendar. */

export interface CalendarDay<T> {
  /** Such as 2026-11-17. */
  readonly date: string;
  readonly items: readonly T[];
}

const dayMs = 86_400_000;
const dateOf = (moment: number) => new Date(moment).toISOString().slice(0, 10);

/**
 * Returns weeks of seven days, Monday first. The last week contains `today`, and its later days are left out. There are
 * as many weeks as the oldest item needs, at least `least` and at most `most`.
 */
export function weeksOf<T>(
  items: readonly T[],
  dayOf: (item: T) => string,
  today: string,
  { least, most }: { readonly least: number; readonly most: number },
): CalendarDay<T>[][] {
  const days = Map.groupBy(items, dayOf);
  const last = Date.parse(today);
  const monday = last - ((new Date(last).getUTCDay() + 6) % 7) * dayMs;
  const oldest = Math.min(last, ...[...days.keys()].map((date) => Date.parse(date)));
  const needed = Math.ceil((monday - oldest) / (7 * dayMs)) + 1;
  const count = Math.min(most, Math.max(least, needed));
  return Array.from({ length: count }, (_, week) => {
    const first = monday - (count - 1 - week) * 7 * dayMs;
    return Array.from({ length: 7 }, (_, day) => first + day * dayMs)
      .filter((moment) => moment <= last)
      .map((moment) => ({ date: dateOf(moment), items: days.get(dateOf(moment)) ?? [] }));
  });
}
