/**
 * How pipelines move along: inside the write that ends a job. So nothing can be missed, whoever dies when, and what may
 * begin next shares that commit. The end of a run costs as much as it has children, however many runs there are.
 */
import { isIn, jobStates, type PipelineStatus, pipelineStates } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { cancelDrafts, type JobRow, markBegun, moveJob } from "../../store/queries/jobs/jobs.ts";
import { enqueueAll } from "../../store/queries/jobs/queue.ts";
import {
  countEndedRun,
  movePipeline,
  type PipelineRow,
  type RunState,
  releaseChildren,
  runsOf,
  updatePipeline,
} from "../../store/queries/pipelines/pipelines.ts";
import { iso } from "../time/clock.ts";
import { queueRow, takeOffQueue } from "./job-queue.ts";
import { recordEnd } from "./schedule-record.ts";

const { live } = pipelineStates;

export const isLive = ({ status }: PipelineRow) => (live as readonly PipelineStatus[]).includes(status);
export const isComplete = ({ status }: Pick<RunState, "status">) => status === "COMPLETE";

/** A job that has just ended was a run of this pipeline. */
export async function runEnded(db: Db, pipelineId: string, job: JobRow, now: number): Promise<void> {
  const pipeline = await countEndedRun(db, pipelineId, iso(now));
  if (!pipeline) return;
  if (job.status === "COMPLETE") {
    // Counted whatever the pipeline's state: a rerun goes on from here.
    const ready = await releaseChildren(db, pipelineId, job.id);
    if (pipeline.status === "RUNNING") await beginDrafts(db, ready);
  } else if (isLive(pipeline)) {
    return failPipeline(db, pipeline, describeEnd(job), job.error_stack, now);
  }
  await settle(db, pipeline, now);
}

const runName = ({ name, id }: Pick<JobRow, "name" | "id">) => (name === null ? `Job ${id}` : `${name} (job ${id})`);

function describeEnd(job: JobRow): string {
  const what = job.status === "CANCELED" ? "was canceled" : "failed";
  return `${runName(job)} ${what}${job.error_message ? `: ${job.error_message}` : "."}`;
}

/** Drafts whose turn has come wait for slots. Removed or canceled meanwhile, they stay what they are. */
export async function beginDrafts(db: Db, ids: readonly string[]): Promise<void> {
  const begun = await markBegun(db, ids);
  await enqueueAll(
    db,
    begun.map((job) => queueRow(job)),
  );
}

/** Once nothing is left to end: complete, unless something was not. */
export async function settle(db: Db, pipeline: PipelineRow, now: number): Promise<void> {
  const { id, open_runs } = pipeline;
  if (open_runs > 0 || !isLive(pipeline)) return;
  const runs = await runsOf(db, id);
  const left = runs.filter((run) => !isComplete(run));
  const [first] = left;
  const error_message = first
    ? `${left.length} of ${runs.length} runs are not complete, the first is ${first.name}: it is ${first.status}.`
    : null;
  const changes = { error_message, error_stack: null, updated_at: iso(now), finished_at: iso(now) };
  if (await movePipeline(db, { id, from: live, to: first ? "FAILED" : "COMPLETED", changes }))
    await recordEnd(db, pipeline, error_message);
}

/** Runs that have not begun never will; those under way finish. */
export async function failPipeline(
  db: Db,
  pipeline: PipelineRow,
  error_message: string,
  error_stack: string | null,
  now: number,
): Promise<void> {
  const { id, open_runs } = pipeline;
  const canceled = await cancelWaiting(db, await runsOf(db, id), now);
  const changes = {
    error_message,
    error_stack,
    open_runs: open_runs - canceled,
    updated_at: iso(now),
    finished_at: iso(now),
  };
  if (await movePipeline(db, { id, from: live, to: "FAILED", changes })) await recordEnd(db, pipeline, error_message);
}

/** What has not begun. Returns how many. */
async function cancelWaiting(db: Db, runs: readonly RunState[], now: number): Promise<number> {
  const idsOf = (some: readonly RunState[]) => some.flatMap(({ created_job_id }) => created_job_id ?? []);
  const drafts = runs.filter(({ status }) => status === "PENDING");
  let canceled = await cancelDrafts(db, idsOf(drafts), iso(now));
  for (const id of idsOf(runs.filter(({ status }) => isIn("waiting", status)))) {
    if (!(await takeOffQueue(db, id))) continue;
    const changes = { finished_at: iso(now) };
    if (await moveJob(db, { id, from: ["CANCELING_SCHEDULED"], to: "CANCELED", changes })) canceled++;
  }
  return canceled;
}

/** A pipeline that is held, RUNNING or PAUSED: what runs is ended, nothing begins. */
export async function cancelRuns(db: Db, id: string, now: number): Promise<void> {
  await cancelWaiting(db, await runsOf(db, id), now);
  // Looked at again: what waited a moment ago may have begun.
  for (const { created_job_id: job, status } of await runsOf(db, id))
    if (job !== null && isIn("begun", status)) await moveJob(db, { id: job, from: jobStates.begun, to: "CANCELING" });
  await setOpenRuns(db, id, await runsOf(db, id), now);
  const changes = { updated_at: iso(now), finished_at: iso(now) };
  await movePipeline(db, { id, from: live, to: "CANCELED", changes });
}

/** After runs were put in or taken out. */
export async function setOpenRuns(db: Db, id: string, runs: readonly RunState[], now: number): Promise<number> {
  const open_runs = runs.filter(({ status }) => status !== null && !isIn("final", status)).length;
  await updatePipeline(db, id, { open_runs, updated_at: iso(now) });
  return open_runs;
}
