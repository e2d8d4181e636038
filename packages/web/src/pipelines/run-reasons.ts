/** Why a run of a pipeline has not run. */
import type { JobPipelineRun, Pipeline } from "@millrace/contract";
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
