/**
 * Pauses and resumes a pipeline, alone or together with its schedule. The caller's transaction must have locked the
 * pipeline.
 */
import { ApiError, jobStates } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { moveJobs } from "../../store/queries/jobs/job-moves.ts";
import { getShortJobs, type ShortJob } from "../../store/queries/jobs/jobs.ts";
import { dequeueAll } from "../../store/queries/jobs/queue.ts";
import { movePipeline, type PipelineRow, type RunState, runsOf } from "../../store/queries/pipelines/pipelines.ts";
import { beginDrafts, jobsOfRuns } from "../lifecycle/pipeline-progress.ts";
import { iso } from "../time/clock.ts";
import { whyNotRepeatable } from "./pipeline-sources.ts";

/** Pauses a pipeline. Runs that have begun finish. Runs in the queue leave the queue until the pipeline is resumed. */
export async function pauseRuns(db: Db, id: string, now: number): Promise<undefined> {
  await movePipeline(db, { id, from: ["RUNNING"], to: "PAUSED", changes: { updated_at: iso(now) } });
  const ids = await dequeueAll(db, jobsOfRuns(await runsOf(db, id), "waiting"));
  await moveJobs(db, { ids, from: jobStates.waiting, to: "PENDING" });
}

/** Throws if one of the pipeline's runs that have not begun can no longer run. */
export async function requireRepeatable(db: Db, { id, name }: Pick<PipelineRow, "id" | "name">): Promise<void> {
  // The creator of a job may have left the team during the pause.
  const why = await whyNotRepeatable(db, await pendingDrafts(db, id));
  if (why !== undefined)
    throw new ApiError(
      "wrong_state",
      `The pipeline ${name} cannot be resumed: ${why} Remove the run of this job from the pipeline.`,
      {
        hint: "remove_run",
      },
    );
}

/** Resumes a pipeline. Throws if one of its runs that have not begun can no longer run; nothing is changed then. */
export async function resumeRuns(db: Db, pipeline: Pick<PipelineRow, "id" | "name">, now: number): Promise<void> {
  const { id } = pipeline;
  await requireRepeatable(db, pipeline);
  await movePipeline(db, { id, from: ["PAUSED"], to: "RUNNING", changes: { updated_at: iso(now) } });
  await beginReady(db, await runsOf(db, id));
}

/** Returns the jobs of the pipeline's runs that have not begun and are not in the queue. */
const pendingDrafts = async (db: Db, id: string): Promise<ShortJob[]> =>
  getShortJobs(db, jobsOfRuns(await runsOf(db, id), "draft"));

/** Adds jobs to the queue: those of the runs that have not begun and wait for no other run. */
export const beginReady = (db: Db, runs: readonly RunState[]): Promise<void> =>
  beginDrafts(
    db,
    jobsOfRuns(
      runs.filter(({ waits_for }) => waits_for === 0),
      "draft",
    ),
  );
