/** How far a moment is from now, in words. */
const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });

/**
 * Says how far a moment is from now, such as `3 min. ago` or `in 2 hr.`, rounded to the nearest. Days are those of the
 * calendar, as people count them: on a Tuesday, what begins on Thursday is not tomorrow.
 */
export function relativeTime(moment: number, now: number): string {
  const distance = moment - now;
  const rounded = (unit: number) => Math.round(distance / unit);
  const days = daysBetween(now, moment);
  if (Math.abs(rounded(hour)) >= 24 && days !== 0) return relative.format(days, "day");
  if (Math.abs(rounded(minute)) >= 60) return relative.format(rounded(hour), "hour");
  if (Math.abs(rounded(second)) >= 60) return relative.format(rounded(minute), "minute");
  if (Math.abs(rounded(second)) >= 10) return relative.format(rounded(second), "second");
  return distance <= 0 ? "just now" : "in seconds";
}

/** Rounded, because a day on which clocks change is an hour longer or shorter. */
const daysBetween = (from: number, to: number) => Math.round((midnightOf(to) - midnightOf(from)) / day);
const midnightOf = (moment: number) => new Date(moment).setHours(0, 0, 0, 0);
