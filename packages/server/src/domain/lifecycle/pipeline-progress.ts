/**
 * Progress of pipelines: puts drafts (jobs of runs that have not begun) in the queue, and ends a pipeline whose runs
 * have all ended.
 */
import { isIn, type jobStates, type PipelineStatus, pipelineStates } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { beginDraftJobs } from "../../store/queries/jobs/job-moves.ts";
import { enqueueAll } from "../../store/queries/jobs/queue.ts";
import {
  movePipeline,
  type PipelineRow,
  type RunState,
  runsOf,
  updatePipeline,
} from "../../store/queries/pipelines/pipelines.ts";
import { iso } from "../time/clock.ts";
import { queueRow } from "./job-queue.ts";
import { recordEnd } from "./schedule-record.ts";

export const { live } = pipelineStates;

export const isLive = ({ status }: PipelineRow) => (live as readonly PipelineStatus[]).includes(status);
export const isComplete = ({ status }: Pick<RunState, "status">) => status === "COMPLETE";

/** Returns the job ids of the runs whose state is in this group of states. */
export const jobsOfRuns = (runs: readonly RunState[], group: keyof typeof jobStates): string[] =>
  runs.flatMap(({ created_job_id, status }) => (created_job_id !== null && isIn(group, status) ? created_job_id : []));

/** Puts drafts (jobs that have not begun) in the queue. Drafts that were removed or canceled meanwhile are left out. */
export async function beginDrafts(db: Db, ids: readonly string[]): Promise<void> {
  const begun = await beginDraftJobs(db, ids);
  await enqueueAll(
    db,
    begun.map((job) => queueRow(job)),
  );
}

/**
 * Ends a pipeline if all its runs have ended (`open_runs` is 0). Its state is then COMPLETED if every run is complete,
 * otherwise FAILED.
 */
export async function settle(db: Db, pipeline: PipelineRow, now: number): Promise<void> {
  const { id, open_runs } = pipeline;
  if (open_runs > 0 || !isLive(pipeline)) return;
  const runs = await runsOf(db, id);
  const left = runs.filter((run) => !isComplete(run));
  const [first] = left;
  const error_message = first
    ? `${left.length} of ${runs.length} runs are not complete. The first of them, ${first.name}, is ${first.status}.`
    : null;
  const changes = { error_message, error_stack: null, updated_at: iso(now), finished_at: iso(now) };
  if (await movePipeline(db, { id, from: live, to: first ? "FAILED" : "COMPLETED", changes }))
    await recordEnd(db, pipeline, error_message);
}

/** Counts the runs that have not ended, stores the count in `open_runs` of the pipeline, and returns it. */
export async function setOpenRuns(db: Db, id: string, runs: readonly RunState[], now: number): Promise<number> {
  const open_runs = runs.filter(({ status }) => status !== null && !isIn("final", status)).length;
  await updatePipeline(db, id, { open_runs, updated_at: iso(now) });
  return open_runs;
}
