/** What differs between two runs of a job: the script and the settings. */
import type { Job } from "@millrace/contract";
import { countOf } from "../look/amount.ts";
import { diffLines } from "./line-diff.ts";
import { settingsOf } from "./settings-of.ts";

export interface Changed {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

export function changedSettings(before: Job, after: Job): Changed[] {
  const then = new Map(settingsOf(before));
  return settingsOf(after)
    .map(([name, value]) => ({ name, before: then.get(name) ?? "", after: value }))
    .filter((one) => one.before !== one.after);
}

/** The changes in a few words, such as `script (2 lines), requirements`; empty if nothing has changed. */
export function changesInWords(before: Job, after: Job): string {
  const settings = changedSettings(before, after).map(({ name }) => words[name] ?? name.toLowerCase());
  return [...scriptInWords(before.query, after.query), ...settings].join(", ");
}

const words: Readonly<Record<string, string>> = { Python: "Python version", Script: "path of the script" };

/** A line that was replaced counts once. */
function scriptInWords(before: string, after: string): string[] {
  if (before === after) return [];
  const lines = diffLines(before, after);
  const count = (wanted: string) => lines.filter(({ kind }) => kind === wanted).length;
  return [`script (${countOf(Math.max(count("added"), count("removed")), "line")})`];
}
