/** Status changes of jobs: one guarded statement that allows only the transitions in the contract. */
import { type FinalStatus, type JobStatus, jobStates, jobTransitions } from "@millrace/contract";
import type { Updateable } from "kysely";
import { columnsOf, preparedByShape } from "../../drivers/prepared.ts";
import { type Db, isPostgres } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";
import { eachPart } from "../batches.ts";
import { heardJob, noteJobs } from "../events/outbox.ts";
import type { JobRow } from "./jobs.ts";

/** Returns every status from which `to` can be reached in one transition. */
export const statesBefore = (to: JobStatus) =>
  (Object.keys(jobTransitions) as JobStatus[]).filter((s) => (jobTransitions[s] as readonly JobStatus[]).includes(to));

interface Transition<To extends JobStatus> {
  readonly from: readonly JobStatus[];
  readonly to: To;
  readonly changes?: Updateable<Omit<Tables["jobs"], "status">>;
}

interface Move<To extends JobStatus> extends Transition<To> {
  readonly id: string;
  /** Attempt number. If set, the status changes only if this is still the newest attempt of the job. */
  readonly fence?: number;
}

interface Moves<To extends JobStatus> extends Transition<To> {
  readonly ids: readonly string[];
}

type UnfinishedStatus = Exclude<JobStatus, FinalStatus>;
export type JobEnd = Move<FinalStatus>;
export type JobEnds = Moves<FinalStatus>;

/** Moves a job to a status that is not final. Returns false if the job was in none of the `from` states. */
export async function moveJob(db: Db, move: Move<UnfinishedStatus>): Promise<boolean> {
  const { rows } = await movedJob(db, shapeOf(move), valuesOf(move));
  await noteJobs(db, rows);
  return rows.length === 1;
}

/** Moves many jobs with a few statements. Returns the ids of those that were in one of the `from` states. */
export const moveJobs = (db: Db, moves: Moves<UnfinishedStatus>): Promise<string[]> => moveAll(db, moves);

/**
 * Moves many jobs like `moveJobs`, but skips jobs whose rows another write has locked. Used by callers that have not
 * locked the jobs' pipelines, because waiting for a write that has locked them could cause a deadlock.
 */
export const moveFreeJobs = (db: Db, moves: Moves<UnfinishedStatus>): Promise<string[]> =>
  isPostgres(db) ? moveAll(db, moves, (ids) => freeJobs(db, ids)) : moveAll(db, moves);

const freeJobs = (db: Db, ids: readonly string[]) =>
  db.selectFrom("jobs").select("id").where("id", "in", ids).forNoKeyUpdate().skipLocked();

/**
 * Moves a job to a final status and returns its row with the shortened spec. Returns undefined if the job was in none
 * of the `from` states. Only `domain/lifecycle/end-job.ts` calls this function; it also notifies whatever waits for the
 * end of the job.
 */
export async function finishJob(db: Db, move: JobEnd): Promise<JobRow | undefined> {
  const { rows } = await finishedJob(db, shapeOf(move), valuesOf(move));
  await noteJobs(db, rows);
  return rows[0];
}

/** Moves many jobs to a final status. Only `domain/lifecycle/end-job.ts` calls this. */
export const finishJobs = (db: Db, moves: JobEnds): Promise<string[]> => moveAll(db, moves);

/** Moves draft jobs to CREATED. Returns those that were drafts, with their shortened specs. */
export async function beginDraftJobs(db: Db, ids: readonly string[]): Promise<JobRow[]> {
  const begun: JobRow[] = [];
  await eachPart(ids, async (part) => {
    const query = setStatus(db, { from: jobStates.draft, to: "CREATED" }).where("id", "in", part);
    const rows = await query.returningAll().returning(heardJob).execute();
    await noteJobs(db, rows);
    for (const row of rows) begun.push(row);
  });
  return begun;
}

async function moveAll(
  db: Db,
  { ids, ...transition }: Moves<JobStatus>,
  among: (part: readonly string[]) => readonly string[] | ReturnType<typeof freeJobs> = (part) => part,
): Promise<string[]> {
  const changed: string[] = [];
  await eachPart(ids, async (part) => {
    const rows = await setStatus(db, transition).where("id", "in", among(part)).returning(heardJob).execute();
    await noteJobs(db, rows);
    for (const { id } of rows) changed.push(id);
  });
  return changed;
}

/** What two moves must share so that one compiled statement serves both. */
interface MoveShape {
  readonly from: readonly JobStatus[];
  readonly to: JobStatus;
  readonly isFenced: boolean;
  readonly columns: readonly string[];
}

type MoveValues = Updateable<Tables["jobs"]> & { readonly id: string; readonly fence: number };

const shapeOf = ({ from, to, fence, changes = {} }: Move<JobStatus>): MoveShape => ({
  from,
  to,
  isFenced: fence !== undefined,
  columns: columnsOf(changes),
});

const valuesOf = ({ id, fence = 0, changes }: Move<JobStatus>): MoveValues => ({ ...changes, id, fence });

const movedJob = preparedByShape<MoveShape, MoveValues>()((db, value, shape) =>
  moving(db, value, shape).returning(heardJob),
);
const finishedJob = preparedByShape<MoveShape, MoveValues>()((db, value, shape) =>
  moving(db, value, shape).returningAll().returning(heardJob),
);

function moving(
  db: Db,
  value: <Name extends keyof MoveValues & string>(name: Name) => MoveValues[Name],
  { from, to, isFenced, columns }: MoveShape,
) {
  const changes = Object.fromEntries(columns.map((name) => [name, value(name as keyof MoveValues)]));
  const query = setStatus(db, { from, to, changes }).where("id", "=", value("id"));
  return isFenced ? query.where("attempt", "=", value("fence")) : query;
}

/** Builds the only statement that changes the status of a job. */
function setStatus(db: Db, { from, to, changes }: Transition<JobStatus>) {
  for (const state of from) {
    if (!(jobTransitions[state] as readonly JobStatus[]).includes(to))
      throw new Error(`a job cannot change from ${state} to ${to}`);
  }
  return db
    .updateTable("jobs")
    .set({ ...changes, status: to })
    .where("status", "in", from);
}
