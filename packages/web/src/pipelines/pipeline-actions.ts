/** Why an action is not allowed now, in words; the table of the contract decides. */
import {
  type JobPipelineRun,
  type Pipeline,
  type PipelineAction,
  type PipelineStatus,
  pipelineActions,
} from "@millrace/contract";

const stateWords: Readonly<Record<PipelineStatus, string>> = {
  PENDING: "the template of a schedule or backfill",
  RUNNING: "running",
  PAUSED: "paused",
  COMPLETED: "complete",
  FAILED: "failed",
  CANCELED: "canceled",
};

const doneTo: Readonly<Record<PipelineAction, string>> = {
  pause: "be paused",
  resume: "be resumed",
  "remove-job": "lose jobs",
  settings: "get other settings",
  cancel: "be canceled",
  rerun: "be rerun",
  "retry-job": "retry a job",
  "hand-over": "be handed over",
};

/** What a rerun of the jobs that are not complete is called. */
export const rerunTitle = (status: PipelineStatus) => (status === "CANCELED" ? "Rerun the rest" : "Rerun from failed");

/** Undefined if the state of the pipeline allows the action. */
export function actionRefusal(action: PipelineAction, status: PipelineStatus): string | undefined {
  const allowed: readonly PipelineStatus[] = pipelineActions[action];
  if (allowed.includes(status)) return undefined;
  const words = allowed.filter((state) => state !== "PENDING").map((state) => stateWords[state]);
  return `The pipeline is ${stateWords[status]}. Only pipelines that are ${listed(words)} can ${doneTo[action]}.`;
}

const listed = (words: readonly string[]) =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;

export function removeRefusal(pipeline: Pipeline, run: JobPipelineRun): string | undefined {
  const refusal = actionRefusal("remove-job", pipeline.status);
  if (refusal !== undefined) return refusal;
  return run.status === "PENDING" ? undefined : "The job has started. Only jobs that have not started can be removed.";
}

export function retryRefusal(pipeline: Pipeline, run: JobPipelineRun): string | undefined {
  const refusal = actionRefusal("retry-job", pipeline.status);
  if (refusal !== undefined) return refusal;
  if (run.status !== "FAILED" && run.status !== "CANCELED")
    return "Only jobs that failed or were canceled can be retried.";
  const missing = parentsOf(pipeline, run).find(({ status }) => status !== "COMPLETE");
  return missing && `It needs the result of ${missing.name}, which is not complete. Rerun from failed instead.`;
}

export const parentsOf = ({ job_runs }: Pipeline, { parent_job_ids }: JobPipelineRun): JobPipelineRun[] =>
  job_runs.filter(({ job_id }) => parent_job_ids.includes(job_id));
