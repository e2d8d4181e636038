/** The phases of an attempt, and how they are shown as steps of a job. */
import type { Step } from "@millrace/contract";

/**
 * Phases of an attempt in the order in which they run. Each is also the name of a function in the attempt's shell
 * script and part of the name of a marker file.
 */
export const phases = ["repository", "files", "environment", "datasets", "query"] as const;
export type Phase = (typeof phases)[number];

const labels: Record<Phase, string> = {
  repository: "Clone the repository",
  files: "Place the files",
  environment: "Prepare the environment",
  datasets: "Open the team's datasets",
  query: "Run the query",
};

/** A phase that has started, in milliseconds since the Unix epoch. */
export interface BegunPhase {
  readonly phase: Phase;
  readonly at: number;
}

/** Returns the steps of an attempt. A phase ends when the next phase starts or when the attempt ends. */
export const stepsOf = (begun: readonly BegunPhase[], finishedAt: number | undefined): Step[] =>
  begun.map(({ phase, at }, index) => {
    const end = begun[index + 1]?.at ?? finishedAt;
    return {
      name: phase,
      label: labels[phase],
      started_at: new Date(at).toISOString(),
      finished_at: end === undefined ? null : new Date(end).toISOString(),
    };
  });
