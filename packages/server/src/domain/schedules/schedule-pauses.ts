/**
 * Pauses and resumes the pipelines of a schedule together with the schedule. The caller's transaction must lock the
 * pipelines first (`holdPipelinesOf`) and then the schedule. A pipeline that ends locks both in the same order, so
 * there is no deadlock.
 */

import type { Db } from "../../store/drivers/store.ts";
import { WriteAgain } from "../../store/drivers/unavailable.ts";
import { nextTurn } from "../../store/queries/batches.ts";
import { lockPipelines, type PipelineRow, pipelinesOfSchedule } from "../../store/queries/pipelines/pipelines.ts";
import type { ScheduleRow } from "../../store/queries/schedules/schedules.ts";
import { audit } from "../access/audit.ts";
import type { Edit } from "../access/edit.ts";
import type { Team } from "../access/principals.ts";
import { type DefaultQuotas, type DiskQuotas, requireRoomForDatasets, requireRoomInQueue } from "../access/quotas.ts";
import { pauseRuns, resumeRuns } from "../pipelines/pipeline-pauses.ts";

/** Ids of the pipelines that the transaction has locked. */
type Held = ReadonlySet<string>;

/** A schedule whose row and pipelines the transaction has locked. */
interface HeldSchedule {
  readonly row: ScheduleRow;
  readonly held: Held;
}

/** Locks the pipelines of a schedule that a pause or a resume will change. Call it before the schedule is locked. */
export async function holdPipelinesOf(db: Db, scheduleId: number, isPause: boolean): Promise<Held> {
  const ids = (await pipelinesOfSchedule(db, scheduleId, isPause ? "RUNNING" : "PAUSED")).map(({ id }) => id);
  await lockPipelines(db, ids);
  return new Set(ids);
}

/**
 * Lists the pipelines of a locked schedule that have this status. While the schedule is locked, it starts no pipeline.
 * But a pipeline may have been started or resumed just before the schedule was locked, and is then not locked itself.
 * In this case, throws `WriteAgain`, and the transaction is retried.
 */
async function pipelinesIn(db: Db, { row, held }: HeldSchedule, status: PipelineRow["status"]) {
  const rows = await pipelinesOfSchedule(db, row.id, status);
  if (rows.every(({ id }) => held.has(id))) return rows;
  throw new WriteAgain("a pipeline of the schedule was started or resumed before the schedule could be locked");
}

/** Pauses every running pipeline of a schedule, including those that somebody resumed separately. */
export async function pausePipelinesOf({ db, now, actor }: Edit, team: Team, schedule: HeldSchedule): Promise<void> {
  for (const pipeline of await pipelinesIn(db, schedule, "RUNNING")) {
    await nextTurn();
    await pauseRuns(db, pipeline.id, now);
    const detail = `with the schedule ${schedule.row.name}`;
    await audit(db, actor, { action: "pipeline.pause", team, target: pipeline.name, detail }, now);
  }
}

/** Resumes every paused pipeline of a schedule, including those that somebody paused separately. */
export async function resumePipelinesOf(
  { db, now, actor }: Edit,
  team: Team,
  schedule: HeldSchedule,
  quotas: DefaultQuotas & DiskQuotas,
): Promise<void> {
  const paused = await pipelinesIn(db, schedule, "PAUSED");
  if (paused.length === 0) return;
  await requireRoomInQueue(db, team, quotas);
  await requireRoomForDatasets(db, team, quotas);
  for (const pipeline of paused) {
    await nextTurn();
    await resumeRuns(db, pipeline, now);
    const detail = `with the schedule ${schedule.row.name}`;
    await audit(db, actor, { action: "pipeline.resume", team, target: pipeline.name, detail }, now);
  }
}
