/** How long the phases of a job usually take: the middle of its recent successful runs. */
import type { Job } from "@millrace/contract";
import { phasesOf } from "./job-phases.ts";

/** With fewer runs than this, nothing is usual. */
const fewest = 3;
/** Milliseconds: what is shorter is not worth a word. */
const least = 1000;

/** Returns the usual milliseconds by the name of the phase, without the queue, which says nothing about the job. */
export function usualPhases(runs: readonly Job[]): ReadonlyMap<string, number> {
  const all = new Map<string, number[]>();
  for (const run of runs) {
    for (const { name, from, to } of phasesOf(run))
      if (name !== "queue" && to !== undefined) all.set(name, [...(all.get(name) ?? []), to - from]);
  }
  const usual = [...all].map(([name, times]) => [name, middle(times)] as const);
  return new Map(usual.filter(([name, time]) => (all.get(name)?.length ?? 0) >= fewest && time >= least));
}

const middle = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
