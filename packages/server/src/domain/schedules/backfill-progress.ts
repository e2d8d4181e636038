/**
 * Progress of backfills. A moment is one scheduled time of a backfill. One transaction creates the pipeline of a moment
 * and marks the moment as begun. So a crash neither loses a moment nor begins a moment twice.
 */

import { isUnfinished } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { teamNameOf } from "../../store/queries/people/teams.ts";
import { getPipeline, lockPipeline, type PipelineRow } from "../../store/queries/pipelines/pipelines.ts";
import {
  type BackfillRow,
  countMoments,
  lockBackfill,
  nextMoment,
  takeMoment,
  unfinishedRun,
  updateBackfill,
} from "../../store/queries/schedules/backfills.ts";
import { type Actor, audit } from "../access/audit.ts";
import {
  type DefaultQuotas,
  type DiskQuotas,
  requireRoomForDatasets,
  requireRoomForTexts,
  requireRoomInQueue,
} from "../access/quotas.ts";
import { cancelPipelineRuns } from "../lifecycle/end-job.ts";
import { runTemplate } from "../pipelines/new-pipeline.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { iso } from "../time/clock.ts";

export interface BackfillContext {
  readonly keys: KeyRing;
  readonly quotas: DefaultQuotas & DiskQuotas;
}

/**
 * Returns the next step of a backfill: begin the pipeline of its next moment (scheduled time), end the backfill, or
 * wait for pipelines that still run.
 */
async function nextOf(db: Db, { id, on_failure, parallel }: BackfillRow): Promise<"begin" | "end" | "wait"> {
  const { waiting, running, failed } = await countMoments(db, id);
  const isOver = waiting === 0 || (on_failure === "stop" && failed > 0);
  if (isOver) return running === 0 ? "end" : "wait";
  return running < parallel ? "begin" : "wait";
}

/**
 * Takes the next step of a backfill. Returns true if another step may follow at once. Returns false if the backfill
 * waits or has ended.
 */
export async function advanceBackfill(
  db: Db,
  { keys, quotas }: BackfillContext,
  id: number,
  now: number,
): Promise<boolean> {
  const row = await lockBackfill(db, id);
  if (row?.status !== "RUNNING") return false;
  if (row.canceling !== null) return cancelNextRun(db, id, now);
  const todo = await nextOf(db, row);
  if (todo === "wait") return false;
  if (todo === "end") {
    await end(db, row, now);
    return true;
  }
  const next = await nextMoment(db, id);
  if (!next) return false;
  const team = { id: row.team_id, name: await teamNameOf(db, row.team_id) };
  await requireRoomInQueue(db, team, quotas);
  await requireRoomForDatasets(db, team, quotas);
  const template = (await getPipeline(db, row.pipeline_id)) as PipelineRow;
  const moment = { scheduled_at: next.moment, scheduled_timezone: row.timezone };
  const { pipelineId, added } = await runTemplate({ db, now }, keys, template, moment);
  await requireRoomForTexts(db, team, added, quotas);
  if (!(await takeMoment(db, id, next.position, pipelineId)))
    throw new Error("another transaction has already started the backfill's run for this scheduled time");
  await updateBackfill(db, id, { last_error: null, updated_at: iso(now) });
  return true;
}

/**
 * Cancels the next pipeline of a backfill that is being canceled, or ends the backfill if there is none. Returns
 * whether another step follows.
 */
export async function cancelNextRun(db: Db, id: number, now: number): Promise<boolean> {
  const row = await lockBackfill(db, id);
  if (row?.status !== "RUNNING" || row.canceling === null) return false;
  const run = await unfinishedRun(db, id);
  if (run === undefined) {
    const changes = { status: "CANCELED", canceling: null, last_error: null } as const;
    await updateBackfill(db, id, { ...changes, updated_at: iso(now), finished_at: iso(now) });
    return false;
  }
  // The pipeline may have ended while this transaction waited for the lock.
  const { name, status } = await lockPipeline(db, run);
  if (!isUnfinished(status)) return true;
  await cancelPipelineRuns(db, run, now);
  const change = {
    action: "pipeline.cancel",
    team: { id: row.team_id },
    target: name,
    detail: `with the backfill ${id}`,
  };
  await audit(db, JSON.parse(row.canceling) as Actor, change, now);
  return true;
}

/** Ends a backfill. Its state is COMPLETED if the runs for all its scheduled times are complete, otherwise FAILED. */
async function end(db: Db, { id, total }: BackfillRow, now: number): Promise<void> {
  const { completed } = await countMoments(db, id);
  const status = completed === total ? "COMPLETED" : "FAILED";
  await updateBackfill(db, id, { status, last_error: null, updated_at: iso(now), finished_at: iso(now) });
}
