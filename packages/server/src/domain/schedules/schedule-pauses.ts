/**
 * Pauses and resumes the pipelines of a schedule together with the schedule. The caller's transaction has locked the
 * schedule.
 */

import type { Db } from "../../store/drivers/store.ts";
import { lockPipeline, type PipelineRow, pipelinesOfSchedule } from "../../store/queries/pipelines/pipelines.ts";
import type { ScheduleRow } from "../../store/queries/schedules/schedules.ts";
import { audit } from "../access/audit.ts";
import type { Edit } from "../access/edit.ts";
import type { Team } from "../access/principals.ts";
import { type DefaultQuotas, type DiskQuotas, requireRoomForDatasets, requireRoomInQueue } from "../access/quotas.ts";
import { pauseRuns, resumeRuns } from "../pipelines/pipeline-pauses.ts";

/** Pauses every running pipeline of a schedule, also those that somebody resumed separately. */
export async function pausePipelinesOf({ db, now, actor }: Edit, team: Team, { id, name }: ScheduleRow): Promise<void> {
  for (const { id: pipelineId } of await pipelinesOfSchedule(db, id, "RUNNING")) {
    const pipeline = await lockIn(db, pipelineId, "RUNNING");
    if (!pipeline) continue;
    await pauseRuns(db, pipelineId, now);
    const detail = `with the schedule ${name}`;
    await audit(db, actor, { action: "pipeline.pause", team, target: pipeline.name, detail }, now);
  }
}

/** Resumes every paused pipeline of a schedule, also those that somebody paused separately. */
export async function resumePipelinesOf(
  { db, now, actor }: Edit,
  team: Team,
  { id, name }: ScheduleRow,
  quotas: DefaultQuotas & DiskQuotas,
): Promise<void> {
  const paused = await pipelinesOfSchedule(db, id, "PAUSED");
  if (paused.length === 0) return;
  await requireRoomInQueue(db, team, quotas);
  await requireRoomForDatasets(db, team, quotas);
  for (const { id: pipelineId } of paused) {
    const pipeline = await lockIn(db, pipelineId, "PAUSED");
    if (!pipeline) continue;
    await resumeRuns(db, pipeline, now);
    const detail = `with the schedule ${name}`;
    await audit(db, actor, { action: "pipeline.resume", team, target: pipeline.name, detail }, now);
  }
}

/** Locks a pipeline. Returns undefined if its state changed while another transaction held the lock. */
async function lockIn(db: Db, id: string, status: PipelineRow["status"]): Promise<PipelineRow | undefined> {
  const pipeline = await lockPipeline(db, id);
  return pipeline.status === status ? pipeline : undefined;
}
