/** Times and durations as people read them. */
import { useNow } from "./clock.ts";
import { relativeTime } from "./relative-time.ts";

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });

/** A moment as date and time, the same on every screen: `Nov 17, 2026, 11:38:29`. */
export const exactTime = (at: number | string | Date) => exact.format(new Date(at));

/** A moment relative to now; the exact time is its title, and what screen readers say. */
export function Time({ at }: { at: string | null | undefined }) {
  const now = useNow(at != null);
  if (at == null) return <span className="soft">–</span>;
  const moment = Date.parse(at);
  const whole = exactTime(moment);
  return (
    <time dateTime={at} title={whole} className="nowrap">
      {relativeTime(moment, now)}
      <span className="hidden-text">{` (${whole})`}</span>
    </time>
  );
}

/** A duration in milliseconds, in at most two units: `< 0.1 s`, `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 0.05) return "< 0.1 s";
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  const parts = [
    [Math.floor(whole / 86_400), "d"],
    [Math.floor(whole / 3600) % 24, "h"],
    [Math.floor(whole / 60) % 60, "min"],
    [whole % 60, "s"],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count.toLocaleString("en")} ${unit}`)
    .join(" ");
}

/** How long something took, or takes so far. */
export function Took({ from, to }: { from: string | null | undefined; to: string | null | undefined }) {
  const now = useNow(from != null && to == null);
  if (from == null) return <span className="soft">–</span>;
  return <span className="nowrap">{duration((to == null ? now : Date.parse(to)) - Date.parse(from))}</span>;
}
