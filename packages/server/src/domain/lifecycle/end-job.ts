/**
 * Ends jobs: no other file moves a job to a final state. The transaction that ends a run of a pipeline also starts or
 * cancels the runs that wait for it, so that no run is forgotten if the server crashes. The time that this takes
 * depends on the number of waiting runs, not on the size of the pipeline. Every caller must lock the job's pipeline
 * (`lockPipelinesOf`) before it changes the queue, attempts or jobs. Otherwise the caller's transaction could deadlock
 * with one that cancels the pipeline.
 */
import { jobStates } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { finishJob, finishJobs, type JobEnd, moveJobs } from "../../store/queries/jobs/job-moves.ts";
import type { JobRow } from "../../store/queries/jobs/jobs.ts";
import { dequeueAll } from "../../store/queries/jobs/queue.ts";
import {
  countEndedRun,
  movePipeline,
  type PipelineRow,
  type RunState,
  releaseChildren,
  runsOf,
} from "../../store/queries/pipelines/pipelines.ts";
import { iso } from "../time/clock.ts";
import { beginDrafts, isLive, jobsOfRuns, live, setOpenRuns, settle } from "./pipeline-progress.ts";
import { recordEnd } from "./schedule-record.ts";

/** Ends a job. Returns false, and changes nothing, if the job is in none of the states `end.from`. */
export async function endJob(db: Db, end: JobEnd, now: number): Promise<boolean> {
  const job = await finishJob(db, end);
  if (job?.pipeline_id) await runEnded(db, job.pipeline_id, job, now);
  return job !== undefined;
}

/** Cancels a job that waits in the queue. Returns false if the job is not in the queue. */
export async function cancelWaiting(db: Db, id: string, now: number): Promise<boolean> {
  if ((await takeOffQueue(db, [id])).length === 0) return false;
  return endJob(db, { id, from: ["CANCELING_SCHEDULED"], to: "CANCELED", changes: { finished_at: iso(now) } }, now);
}

/** Removes jobs from the queue, so that no server starts them. Returns the ids of the jobs that were in the queue. */
async function takeOffQueue(db: Db, ids: readonly string[]): Promise<string[]> {
  const taken = await dequeueAll(db, ids);
  await moveJobs(db, { ids: taken, from: jobStates.waiting, to: "CANCELING_SCHEDULED" });
  return taken;
}

/**
 * Cancels the drafts (jobs in state PENDING) among these jobs, and returns the number of canceled jobs. The caller
 * updates `open_runs` of the pipeline.
 */
export async function cancelDrafts(db: Db, ids: readonly string[], now: number): Promise<number> {
  const changes = { finished_at: iso(now) };
  return (await finishJobs(db, { ids, from: jobStates.draft, to: "CANCELED", changes })).length;
}

/**
 * Cancels the runs that have not begun, and returns the number of canceled runs. The caller updates `open_runs` of the
 * pipeline.
 */
async function cancelUnbegun(db: Db, runs: readonly RunState[], now: number): Promise<number> {
  const drafts = await cancelDrafts(db, jobsOfRuns(runs, "draft"), now);
  const taken = await takeOffQueue(db, jobsOfRuns(runs, "waiting"));
  const changes = { finished_at: iso(now) };
  const waiting = await finishJobs(db, { ids: taken, from: ["CANCELING_SCHEDULED"], to: "CANCELED", changes });
  return drafts + waiting.length;
}

/** Updates a pipeline after one of its runs has ended: starts the runs that waited for it, or ends the pipeline. */
async function runEnded(db: Db, pipelineId: string, job: JobRow, now: number): Promise<void> {
  const pipeline = await countEndedRun(db, pipelineId, iso(now));
  if (!pipeline) return;
  if (job.status === "COMPLETE") {
    // The number of parents that each child waits for is updated even if the pipeline has ended: a rerun relies on it.
    const ready = await releaseChildren(db, pipelineId, job.id);
    if (pipeline.status === "RUNNING") await beginDrafts(db, ready);
  } else if (isLive(pipeline)) {
    return failPipeline(db, pipeline, { error_message: describeEnd(job), error_stack: job.error_stack }, now);
  }
  await settle(db, pipeline, now);
}

const runName = ({ name, id }: Pick<JobRow, "name" | "id">) => (name === null ? `Job ${id}` : `${name} (job ${id})`);

function describeEnd(job: JobRow): string {
  const what = job.status === "CANCELED" ? "was canceled" : "failed";
  return `${runName(job)} ${what}${job.error_message ? `: ${job.error_message}` : "."}`;
}

type PipelineFailure = { readonly error_message: string; readonly error_stack: string | null };

/** Ends a pipeline as FAILED. Runs that have not begun are canceled; runs that have begun go on. */
export async function failPipeline(
  db: Db,
  pipeline: PipelineRow,
  failure: PipelineFailure,
  now: number,
): Promise<void> {
  const { id } = pipeline;
  const canceled = await cancelUnbegun(db, await runsOf(db, id), now);
  const open_runs = pipeline.open_runs - canceled;
  const changes = { ...failure, open_runs, updated_at: iso(now), finished_at: iso(now) };
  if (await movePipeline(db, { id, from: live, to: "FAILED", changes }))
    await recordEnd(db, pipeline, failure.error_message);
}

/**
 * Cancels a pipeline: stops the runs that have begun, and cancels the others. The caller must have locked the pipeline.
 */
export async function cancelPipelineRuns(db: Db, id: string, now: number): Promise<void> {
  await cancelUnbegun(db, await runsOf(db, id), now);
  // Reread: a run that waited in the queue a moment ago may have begun.
  const begun = jobsOfRuns(await runsOf(db, id), "begun");
  await moveJobs(db, { ids: begun, from: jobStates.begun, to: "CANCELING" });
  await setOpenRuns(db, id, await runsOf(db, id), now);
  const changes = { updated_at: iso(now), finished_at: iso(now) };
  await movePipeline(db, { id, from: live, to: "CANCELED", changes });
}
