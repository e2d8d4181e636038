/** A draft is a paused pipeline of which nothing has run yet: it waits for its review. */
import type { Pipeline } from "@millrace/contract";

export const isDraft = ({ status, job_runs }: Pipeline) =>
  status === "PAUSED" && job_runs.every((run) => run.status === "PENDING");
