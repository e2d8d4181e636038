/** A pipeline is paused and goes on: asked for by itself, or with the schedule that started it. Inside a write that holds it. */
import { ApiError, isIn, jobStates } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { getShortJobs, moveJob, type ShortJob } from "../../store/queries/jobs/jobs.ts";
import { dequeue } from "../../store/queries/jobs/queue.ts";
import { movePipeline, type PipelineRow, type RunState, runsOf } from "../../store/queries/pipelines/pipelines.ts";
import { beginDrafts } from "../lifecycle/pipeline-progress.ts";
import { iso } from "../time/clock.ts";
import { whyNot } from "./pipeline-sources.ts";

/** What runs finishes. What waits for slots is taken back: nothing begins. */
export async function pauseRuns(db: Db, id: string, now: number): Promise<undefined> {
  await movePipeline(db, { id, from: ["RUNNING"], to: "PAUSED", changes: { updated_at: iso(now) } });
  for (const { created_job_id: job, status } of await runsOf(db, id))
    if (job !== null && isIn("waiting", status) && (await dequeue(db, job)))
      await moveJob(db, { id: job, from: jobStates.waiting, to: "PENDING" });
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
const pendingDrafts = async (db: Db, id: string): Promise<ShortJob[]> =>
  getShortJobs(db, draftsOf((await runsOf(db, id)).filter(isPending)));

export const beginReady = (db: Db, runs: readonly RunState[]): Promise<void> =>
  beginDrafts(db, draftsOf(runs.filter((run) => isPending(run) && run.waits_for === 0)));

const isPending = ({ status }: RunState) => status === "PENDING";
const draftsOf = (runs: readonly RunState[]) => runs.flatMap(({ created_job_id }) => created_job_id ?? []);
