/** How far a moment is from now, in words. */
const units = [
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;
const day = 86_400_000;

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });

/**
 * Says how far a moment is from now, such as `3 min. ago` or `in 2 hr.`. Days are those of the calendar, as people count
 * them: on a Tuesday, what begins on Thursday is not tomorrow.
 */
export function relativeTime(moment: number, now: number): string {
  const distance = moment - now;
  if (Math.abs(distance) >= day) return relative.format(daysBetween(now, moment), "day");
  for (const [unit, size] of units) {
    if (Math.abs(distance) >= size) return relative.format(Math.trunc(distance / size), unit);
  }
  return Math.abs(distance) < 10_000
    ? distance <= 0
      ? "just now"
      : "in seconds"
    : relative.format(Math.trunc(distance / 1000), "second");
}

/** Rounded, because a day on which clocks change is an hour longer or shorter. */
const daysBetween = (from: number, to: number) => Math.round((midnightOf(to) - midnightOf(from)) / day);
const midnightOf = (moment: number) => new Date(moment).setHours(0, 0, 0, 0);
