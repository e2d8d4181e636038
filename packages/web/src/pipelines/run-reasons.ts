/** Why a run of a pipeline has not run, or why it failed. */
import type { JobPipelineRun, Pipeline } from "@millrace/contract";
import { reasonLine } from "../look/reason.ts";
import { parentsOf } from "./pipeline-actions.ts";

/** Undefined if the run has started, or if nothing more is known than its state. */
export function reasonNotRun(pipeline: Pipeline, run: JobPipelineRun): string | undefined {
  if (run.started_at !== null) return undefined;
  if (run.status === "CANCELED") {
    const cause = failedUpstream(pipeline, run);
    return cause
      ? `It did not run, because ${cause.name} ${cause.status === "FAILED" ? "failed" : "was canceled"}.`
      : undefined;
  }
  if (run.status !== "PENDING") return undefined;
  const waits = parentsOf(pipeline, run).filter(({ status }) => status !== "COMPLETE");
  if (waits.length > 0) return `It waits for ${namesOf(waits)}.`;
  return pipeline.status === "PAUSED" ? "It starts when the pipeline is resumed." : undefined;
}

/**
 * Why a run failed, in one line. Undefined if it did not, or if the pipeline had failed before: the pipeline keeps the
 * reason of the first failure, which begins with the name and the id of the job.
 */
export function reasonFailed({ error_message }: Pipeline, { status, created_job_id }: JobPipelineRun) {
  if (status !== "FAILED" || created_job_id === null) return undefined;
  const [, reason] = (error_message ?? "").split(new RegExp(`\\b${created_job_id}\\)? failed: `));
  return reason === undefined ? undefined : reasonLine(reason);
}

const few = 3;

export const namesOf = (runs: readonly JobPipelineRun[]) => {
  const names = runs.slice(0, few).map(({ name }) => name);
  return runs.length > few ? `${names.join(", ")} and ${runs.length - few} more` : names.join(", ");
};

/** The nearest run upstream that ended without a result after it had started. */
function failedUpstream({ job_runs }: Pipeline, run: JobPipelineRun): JobPipelineRun | undefined {
  const byId = new Map(job_runs.map((one) => [one.job_id, one]));
  const seen = new Set(run.parent_job_ids);
  for (const id of seen) {
    const parent = byId.get(id);
    if (parent && parent.started_at !== null && (parent.status === "FAILED" || parent.status === "CANCELED"))
      return parent;
    for (const next of parent?.parent_job_ids ?? []) seen.add(next);
  }
  return undefined;
}
