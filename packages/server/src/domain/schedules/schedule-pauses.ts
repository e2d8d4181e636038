/**
 * Pauses and resumes the pipelines of a schedule together with the schedule. The end of a pipeline writes to its
 * schedule, so the caller's transaction locks the pipelines first (`holdPipelinesOf`) and then the schedule.
 */

import type { Db } from "../../store/drivers/store.ts";
import { WriteAgain } from "../../store/drivers/unavailable.ts";
import { lockPipelines, type PipelineRow, pipelinesOfSchedule } from "../../store/queries/pipelines/pipelines.ts";
import type { ScheduleRow } from "../../store/queries/schedules/schedules.ts";
import { audit } from "../access/audit.ts";
import type { Edit } from "../access/edit.ts";
import type { Team } from "../access/principals.ts";
import { type DefaultQuotas, type DiskQuotas, requireRoomForDatasets, requireRoomInQueue } from "../access/quotas.ts";
import { pauseRuns, resumeRuns } from "../pipelines/pipeline-pauses.ts";

/** Ids of the pipelines that the transaction has locked. */
type Held = ReadonlySet<string>;

/** Locks the pipelines of a schedule that a pause or a resume will change. Call it before the schedule is locked. */
export async function holdPipelinesOf(db: Db, scheduleId: number, isPause: boolean): Promise<Held> {
  const ids = (await pipelinesOfSchedule(db, scheduleId, isPause ? "RUNNING" : "PAUSED")).map(({ id }) => id);
  await lockPipelines(db, ids);
  return new Set(ids);
}

/** Lists the pipelines in a state again, now that the schedule is locked and fires none. Begins anew if one was missed. */
async function heldIn(db: Db, id: number, status: PipelineRow["status"], held: Held): Promise<PipelineRow[]> {
  const rows = await pipelinesOfSchedule(db, id, status);
  if (rows.every((row) => held.has(row.id))) return rows;
  throw new WriteAgain("a pipeline of the schedule began or was resumed before the schedule could be locked");
}

/** Pauses every running pipeline of a schedule, also those that somebody resumed separately. */
export async function pausePipelinesOf(
  { db, now, actor }: Edit,
  team: Team,
  { id, name }: ScheduleRow,
  held: Held,
): Promise<void> {
  for (const pipeline of await heldIn(db, id, "RUNNING", held)) {
    await pauseRuns(db, pipeline.id, now);
    const detail = `with the schedule ${name}`;
    await audit(db, actor, { action: "pipeline.pause", team, target: pipeline.name, detail }, now);
  }
}

/** Resumes every paused pipeline of a schedule, also those that somebody paused separately. */
export async function resumePipelinesOf(
  { db, now, actor }: Edit,
  team: Team,
  { id, name }: ScheduleRow,
  held: Held,
  quotas: DefaultQuotas & DiskQuotas,
): Promise<void> {
  const paused = await heldIn(db, id, "PAUSED", held);
  if (paused.length === 0) return;
  await requireRoomInQueue(db, team, quotas);
  await requireRoomForDatasets(db, team, quotas);
  for (const pipeline of paused) {
    await resumeRuns(db, pipeline, now);
    const detail = `with the schedule ${name}`;
    await audit(db, actor, { action: "pipeline.resume", team, target: pipeline.name, detail }, now);
  }
}
