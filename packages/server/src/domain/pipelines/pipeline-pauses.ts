/** A pipeline is paused and goes on: asked for by itself, or with the schedule that started it. Inside a write that holds it. */
import { ApiError, jobStates } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { moveJobs } from "../../store/queries/jobs/job-moves.ts";
import { getShortJobs, type ShortJob } from "../../store/queries/jobs/jobs.ts";
import { dequeueAll } from "../../store/queries/jobs/queue.ts";
import { movePipeline, type PipelineRow, type RunState, runsOf } from "../../store/queries/pipelines/pipelines.ts";
import { beginDrafts, jobsOfRuns } from "../lifecycle/pipeline-progress.ts";
import { iso } from "../time/clock.ts";
import { whyNot } from "./pipeline-sources.ts";

/** Pauses a pipeline. What runs finishes; what waits for slots is a draft again, so that nothing begins. */
export async function pauseRuns(db: Db, id: string, now: number): Promise<undefined> {
  await movePipeline(db, { id, from: ["RUNNING"], to: "PAUSED", changes: { updated_at: iso(now) } });
  const ids = await dequeueAll(db, jobsOfRuns(await runsOf(db, id), "waiting"));
  await moveJobs(db, { ids, from: jobStates.waiting, to: "PENDING" });
}

/** Refused where a run could not begin any more: then nothing goes on. */
export async function resumeRuns(db: Db, { id, name }: PipelineRow, now: number): Promise<void> {
  const why = await whyNot(db, await pendingDrafts(db, id));
  if (why !== undefined)
    throw new ApiError("wrong_state", `The pipeline ${name} cannot go on: ${why} Remove that run from the pipeline.`, {
      hint: "remove_run",
    });
  await movePipeline(db, { id, from: ["PAUSED"], to: "RUNNING", changes: { updated_at: iso(now) } });
  await beginReady(db, await runsOf(db, id));
}

/** While it was paused whoever made them may have left. */
const pendingDrafts = async (db: Db, id: string): Promise<ShortJob[]> =>
  getShortJobs(db, jobsOfRuns(await runsOf(db, id), "draft"));

export const beginReady = (db: Db, runs: readonly RunState[]): Promise<void> =>
  beginDrafts(
    db,
    jobsOfRuns(
      runs.filter(({ waits_for }) => waits_for === 0),
      "draft",
    ),
  );
