/**
 * Pauses and resumes the pipelines of a schedule together with the schedule. A schedule whose runs may overlap can have
 * any number of them. A few are changed in the write that changes the schedule. Many are changed in writes of their own
 * after it, so that others write in between; until all of them are, the schedule's row says so, and the loop that fires
 * schedules goes on with what a stop of the server left.
 *
 * Each write locks the pipelines first and then the schedule. A pipeline that ends locks both in the same order, so there
 * is no deadlock.
 */
import { ApiError } from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import { WriteAgain } from "../../store/drivers/unavailable.ts";
import { nextTurn, parts } from "../../store/queries/batches.ts";
import {
  lockPipeline,
  lockPipelines,
  type PipelineRow,
  pipelinesOfSchedule,
} from "../../store/queries/pipelines/pipelines.ts";
import { lockSchedule, type ScheduleRow, updateSchedule } from "../../store/queries/schedules/schedules.ts";
import { type Actor, audit } from "../access/audit.ts";
import type { Edit } from "../access/edit.ts";
import type { Team } from "../access/principals.ts";
import { type DefaultQuotas, type DiskQuotas, requireRoomForDatasets, requireRoomInQueue } from "../access/quotas.ts";
import { pauseRuns, requireRepeatable, resumeRuns } from "../pipelines/pipeline-pauses.ts";

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

/** Throws if one of the many paused pipelines of a schedule cannot be resumed, so that nothing changes. */
export async function requireResumable(db: Db, scheduleId: number): Promise<void> {
  const paused = await pipelinesOfSchedule(db, scheduleId, statusBefore(false));
  if (paused.length <= pipelinesPerWrite) return;
  for (const pipeline of paused) {
    await nextTurn();
    await requireRepeatable(db, pipeline);
  }
}

/**
 * Pauses or resumes the many pipelines of a schedule, a few in each write, as long as the schedule says that they are
 * to be. Returns why some stay paused: they were looked at before, but the creator of a job may have left meanwhile.
 */
export async function pauseOrResumeMany(
  store: Store,
  scheduleId: number,
  isPause: boolean,
  now: number,
): Promise<ApiError | undefined> {
  const found = await pipelinesOfSchedule(store.db, scheduleId, statusBefore(isPause));
  let refusal: ApiError | undefined;
  for (const part of parts(found, pipelinesPerWrite)) {
    const done = await store.write((db) => changePart(db, scheduleId, part, isPause, now));
    if (!done) return undefined;
    refusal ??= done.refusal;
  }
  await store.write(async (db) => {
    const row = await lockSchedule(db, scheduleId);
    if ((row?.is_paused === 1) === isPause) await updateSchedule(db, scheduleId, { switching: null });
  });
  return refusal;
}

type Pipeline = Pick<PipelineRow, "id" | "name">;

/** Returns undefined if the schedule was changed meanwhile: then whoever changed it takes over. */
async function changePart(
  db: Db,
  scheduleId: number,
  part: readonly Pipeline[],
  isPause: boolean,
  now: number,
): Promise<{ readonly refusal: ApiError | undefined } | undefined> {
  await lockPipelines(
    db,
    part.map(({ id }) => id),
  );
  const row = await lockSchedule(db, scheduleId);
  if (!row?.switching || (row.is_paused === 1) !== isPause) return undefined;
  const actor = JSON.parse(row.switching) as Actor;
  let refusal: ApiError | undefined;
  for (const pipeline of part)
    await change({ db, actor, now }, { id: row.team_id }, row, pipeline, isPause).catch((error) => {
      if (!(error instanceof ApiError)) throw error;
      refusal ??= error;
    });
  return { refusal };
}

/** Pauses or resumes one pipeline, even if somebody has resumed or paused it separately. */
async function change(
  { db, now, actor }: Edit,
  team: Pick<Team, "id">,
  schedule: ScheduleRow,
  pipeline: Pipeline,
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
