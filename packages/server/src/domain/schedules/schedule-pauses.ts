/**
 * Pauses and resumes the pipelines of a schedule together with the schedule. A schedule whose runs may overlap can have
 * any number of them. A few are changed in the write that changes the schedule. Many are changed in writes of their own
 * after it, so that others write in between: if the server stops meanwhile, the caller has no answer and calls again.
 *
 * Each write locks the pipelines first and then the schedule. A pipeline that ends locks both in the same order, so there
 * is no deadlock.
 */

import type { Db, Store } from "../../store/drivers/store.ts";
import { WriteAgain } from "../../store/drivers/unavailable.ts";
import { nextTurn, parts } from "../../store/queries/batches.ts";
import {
  lockPipeline,
  lockPipelines,
  type PipelineRow,
  pipelinesOfSchedule,
} from "../../store/queries/pipelines/pipelines.ts";
import { lockSchedule, type ScheduleRow } from "../../store/queries/schedules/schedules.ts";
import { audit } from "../access/audit.ts";
import type { Edit } from "../access/edit.ts";
import type { Team } from "../access/principals.ts";
import { type DefaultQuotas, type DiskQuotas, requireRoomForDatasets, requireRoomInQueue } from "../access/quotas.ts";
import { pauseRuns, resumeRuns } from "../pipelines/pipeline-pauses.ts";

/** Maximum number of pipelines that are paused or resumed in one write. */
const pipelinesPerWrite = 5;

/** The pipelines that a pause or a resume of a schedule changes. */
export interface Pausable {
  readonly isPause: boolean;
  /** Ids of those that the write has locked. */
  readonly held: ReadonlySet<string>;
  /** Whether they are too many for one write. */
  readonly areMany: boolean;
}

/** The status of the pipelines that a pause or a resume changes. */
const statusBefore = (isPause: boolean) => (isPause ? "RUNNING" : "PAUSED");

/** Locks the pipelines of a schedule that a pause or a resume will change, unless they are many. */
export async function holdPipelinesOf(db: Db, scheduleId: number, isPause: boolean): Promise<Pausable> {
  const ids = (await pipelinesOfSchedule(db, scheduleId, statusBefore(isPause))).map(({ id }) => id);
  if (ids.length > pipelinesPerWrite) return { isPause, held: new Set(), areMany: true };
  await lockPipelines(db, ids);
  return { isPause, held: new Set(ids), areMany: false };
}

/** Pauses or resumes the pipelines of a locked schedule, unless they are many. Throws if there is no room for them. */
export async function pauseOrResume(
  edit: Edit,
  team: Team,
  row: ScheduleRow,
  { isPause, held, areMany }: Pausable,
  quotas: DefaultQuotas & DiskQuotas,
): Promise<void> {
  const { db } = edit;
  const found = areMany ? [] : await pipelinesIn(db, row, held, statusBefore(isPause));
  if (!isPause && (areMany || found.length > 0)) {
    await requireRoomInQueue(db, team, quotas);
    await requireRoomForDatasets(db, team, quotas);
  }
  for (const pipeline of found) await change(edit, team, row, pipeline, isPause);
}

/**
 * Lists the pipelines of a locked schedule that have this status. While the schedule is locked, it starts no pipeline.
 * But a pipeline may have been started or resumed just before the schedule was locked, and is then not locked itself.
 * In this case, throws `WriteAgain`, and the transaction is retried.
 */
async function pipelinesIn(db: Db, row: ScheduleRow, held: ReadonlySet<string>, status: PipelineRow["status"]) {
  const rows = await pipelinesOfSchedule(db, row.id, status);
  if (rows.every(({ id }) => held.has(id))) return rows;
  throw new WriteAgain("a pipeline of the schedule was started or resumed before the schedule could be locked");
}

/** Pauses or resumes the many pipelines of a schedule, a few in each write, as long as the schedule stays so. */
export async function pauseOrResumeMany(
  store: Store,
  { actor, now }: Pick<Edit, "actor" | "now">,
  team: Team,
  scheduleId: number,
  isPause: boolean,
): Promise<void> {
  const status = statusBefore(isPause);
  for (const part of parts(await pipelinesOfSchedule(store.db, scheduleId, status), pipelinesPerWrite)) {
    const goesOn = await store.write(async (db) => {
      await lockPipelines(
        db,
        part.map(({ id }) => id),
      );
      const row = await lockSchedule(db, scheduleId);
      if (!row || (row.is_paused === 1) !== isPause) return false;
      for (const pipeline of part) await change({ db, actor, now }, team, row, pipeline, isPause);
      return true;
    });
    if (!goesOn) return;
  }
}

/** Pauses or resumes one pipeline, even if somebody has resumed or paused it separately. */
async function change(
  { db, now, actor }: Edit,
  team: Team,
  schedule: ScheduleRow,
  pipeline: Pick<PipelineRow, "id" | "name">,
  isPause: boolean,
): Promise<void> {
  await nextTurn();
  // It may have ended, or been paused or resumed, before this write locked it.
  if ((await lockPipeline(db, pipeline.id)).status !== statusBefore(isPause)) return;
  if (isPause) await pauseRuns(db, pipeline.id, now);
  else await resumeRuns(db, pipeline, now);
  const action = isPause ? "pipeline.pause" : "pipeline.resume";
  await audit(db, actor, { action, team, target: pipeline.name, detail: `with the schedule ${schedule.name}` }, now);
}
