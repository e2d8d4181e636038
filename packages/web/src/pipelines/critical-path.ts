/** The critical path: the chain of runs that decided when the pipeline ended. Shorten one of them to end earlier. */
import type { JobPipelineRun } from "@millrace/contract";

/** Returns the runs in order. Begins at the run that ended last, and goes back to the parent that it waited for. */
export function criticalPath(runs: readonly JobPipelineRun[], now: number): JobPipelineRun[] {
  const byId = new Map(runs.map((run) => [run.job_id, run]));
  const end = (run: JobPipelineRun) => (run.finished_at === null ? now : Date.parse(run.finished_at));
  const last = (some: readonly JobPipelineRun[]) =>
    some.reduce<JobPipelineRun | undefined>(
      (latest, run) => (run.started_at !== null && (!latest || end(run) > end(latest)) ? run : latest),
      undefined,
    );
  const path: JobPipelineRun[] = [];
  for (let run = last(runs); run; run = last(run.parent_job_ids.flatMap((id) => byId.get(id) ?? []))) path.push(run);
  return path.reverse();
}

/** Milliseconds that a run took, or takes so far. */
export const tookOf = ({ started_at, finished_at }: JobPipelineRun, now: number): number =>
  started_at === null ? 0 : (finished_at === null ? now : Date.parse(finished_at)) - Date.parse(started_at);
