/** How many runs of a pipeline are in which kind of state. */
import type { JobPipelineRun } from "@millrace/contract";
import type { Tone } from "../look/status.tsx";

export interface Count {
  readonly tone: Tone;
  readonly count: number;
}

const order: readonly Tone[] = ["good", "bad", "run", "warn", "off", "wait"];

/** The kinds that occur, the finished ones first. */
export function countsOf(runs: readonly JobPipelineRun[], toneOf: (status: string) => Tone): Count[] {
  const counts = new Map<Tone, number>();
  for (const { status } of runs) counts.set(toneOf(status), (counts.get(toneOf(status)) ?? 0) + 1);
  return order.flatMap((tone) => ({ tone, count: counts.get(tone) ?? 0 })).filter(({ count }) => count > 0);
}

const words: Readonly<Record<Tone, string>> = {
  good: "complete",
  bad: "failed",
  run: "running",
  warn: "canceling",
  off: "canceled",
  wait: "waiting",
};

export const countsInWords = (counts: readonly Count[]) =>
  counts.map(({ tone, count }) => `${count.toLocaleString("en")} ${words[tone]}`).join(", ");
