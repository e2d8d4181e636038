/** A pipeline is paused and goes on: asked for by itself, or with the schedule that started it. Inside a write that holds it. */
import { ApiError } from "@millrace/contract";
import { getJob, type JobRow, moveJob } from "../store/jobs.ts";
import { movePipeline, type PipelineRow, type RunState, runsOf } from "../store/pipelines.ts";
import { dequeue } from "../store/queue.ts";
import type { Db } from "../store/store.ts";
import { iso } from "./clock.ts";
import { beginDraft, isWaiting, waitingStatuses } from "./pipeline-progress.ts";
import { whyNot } from "./pipeline-sources.ts";

/** What runs finishes. What waits for slots is taken back: nothing begins. */
export async function pauseRuns(db: Db, id: string, now: number): Promise<undefined> {
  await movePipeline(db, { id, from: ["RUNNING"], to: "PAUSED", changes: { updated_at: iso(now) } });
  for (const { created_job_id: job, status } of await runsOf(db, id))
    if (job !== null && isWaiting(status) && (await dequeue(db, job)))
      await moveJob(db, { id: job, from: waitingStatuses, to: "PENDING" });
}

/** Refused where a run could not begin any more: then nothing goes on. */
export async function resumeRuns(db: Db, { id, name }: PipelineRow, now: number): Promise<void> {
  const why = await whyNot(db, await pendingDrafts(db, id));
  if (why !== undefined)
    throw new ApiError(
      "wrong_state",
      `The pipeline ${name} cannot go on: ${why} Remove that run with \`pipeline remove-job\`.`,
    );
  await movePipeline(db, { id, from: ["PAUSED"], to: "RUNNING", changes: { updated_at: iso(now) } });
  await beginReady(db, await runsOf(db, id));
}

/** While it was paused whoever made them may have left. */
async function pendingDrafts(db: Db, id: string): Promise<JobRow[]> {
  const drafts: JobRow[] = [];
  for (const { created_job_id, status } of await runsOf(db, id)) {
    const draft = created_job_id !== null && status === "PENDING" ? await getJob(db, created_job_id) : undefined;
    if (draft) drafts.push(draft);
  }
  return drafts;
}

export async function beginReady(db: Db, runs: readonly RunState[]): Promise<void> {
  for (const { created_job_id, waits_for, status } of runs)
    if (created_job_id !== null && waits_for === 0 && status === "PENDING") await beginDraft(db, created_job_id);
}
