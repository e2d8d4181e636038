/** Progress in the lines of a log: tqdm's bars, and lines with n/m. */

export interface Progress {
  /** The words before the bar, such as `Downloading`. */
  readonly label: string;
  readonly done: number;
  readonly total: number;
  /** The numbers as the job wrote them, such as `45/100` or `1.2G/3.4G`. */
  readonly count: string;
  /** As the job wrote them, or as they were measured; absent if unknown. */
  readonly rate?: string;
  readonly left?: string;
  /** Whether the line is a bar and nothing else. */
  readonly isBar: boolean;
}

const tqdm =
  /^(.*?)(?::\s*)?\s*(\d{1,3})%\s*\|([^|]{0,400})\|\s*([\d.,]+\w{0,3})\/([\d.,]+\w{0,3})\s*\[([\d:]+)<([\d:?]+)(?:,\s*([^\],]+))?[^\]]*\]?\s*(.*)$/;
const ofMany = /(?:^|[\s([])(\d{1,12})\s?\/\s?(\d{1,12})(?=$|[\s)\],:;%]|\.(?:\s|$))/;

/** Returns the progress that a line shows, given its text without colours; undefined if it shows none. */
export function progressOf(text: string): Progress | undefined {
  if (text.length > 1000) return undefined;
  return tqdmOf(text) ?? countOf(text);
}

function tqdmOf(text: string): Progress | undefined {
  const found = tqdm.exec(text);
  if (!found) return undefined;
  const [, label = "", percent = "0", , done = "", total = "", , left = "", rate] = found;
  // tqdm's own percentage is exact where its counts are rounded, such as 1.2G/3.4G.
  const exact = Number(done) / Number(total);
  return {
    label: label.trim(),
    done: Number.isFinite(exact) && exact <= 1 ? Number(done) : Math.min(100, Number(percent)),
    total: Number.isFinite(exact) && exact <= 1 ? Number(total) : 100,
    count: `${done}/${total}`,
    ...(rate === undefined || rate.startsWith("?") ? {} : { rate: rate.trim() }),
    ...(left.startsWith("?") ? {} : { left: clock(left) }),
    isBar: true,
  };
}

function countOf(text: string): Progress | undefined {
  const found = ofMany.exec(text);
  if (!found) return undefined;
  const [done, total] = [Number(found[1]), Number(found[2])];
  if (total < 2 || done > total) return undefined;
  const label = text.slice(0, found.index).trim();
  // A date such as 11/17 has no words before it, and a score such as 3/5 in a sentence is no bar either.
  if (label === "" || /[./\\-]$/.test(label)) return undefined;
  return { label, done, total, count: `${done}/${total}`, isBar: false };
}

/** `01:15` is `1 min 15 s`. */
function clock(text: string): string {
  const [seconds = 0, minutes = 0, hours = 0] = text.split(":").map(Number).reverse();
  return [
    [hours, "h"],
    [minutes, "min"],
    [seconds, "s"],
  ]
    .filter(([count, unit], index) => count !== 0 || (index === 2 && unit === "s" && hours === 0 && minutes === 0))
    .slice(0, 2)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(" ");
}

interface Seen {
  readonly label: string;
  readonly total: number;
  readonly done: number;
  readonly at: number;
}

/** Measures the rate of lines with n/m, from when they were first seen. */
export class Pace {
  #first: Seen | undefined;

  /** Returns the progress with its rate and the time left, once two lines with the same words were seen. */
  measure(progress: Progress, now: number): Progress {
    const { label, total, done } = progress;
    if (progress.rate !== undefined || progress.isBar) return progress;
    const first = this.#first;
    if (!first || first.label !== label || first.total !== total || done < first.done) {
      this.#first = { label, total, done, at: now };
      return progress;
    }
    const seconds = (now - first.at) / 1000;
    const perSecond = (done - first.done) / seconds;
    if (!(seconds >= 1) || !(perSecond > 0)) return progress;
    const left = clock(timeOf((total - done) / perSecond));
    return { ...progress, rate: `${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)}/s`, left };
  }
}

const timeOf = (seconds: number) =>
  [seconds / 3600, (seconds / 60) % 60, seconds % 60].map((part) => Math.floor(part)).join(":");
