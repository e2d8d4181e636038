/** Queries on tasks, which are jobs that create other jobs at set times. */

import { prepared } from "../../drivers/prepared.ts";
import { type Db, isPostgres } from "../../drivers/store.ts";
import type { JobRow } from "../jobs/jobs.ts";
import type { Page } from "../pages.ts";

export const insertTask = (db: Db, { id, team_id }: Pick<JobRow, "id" | "team_id">, nextRun: string) =>
  db.insertInto("tasks").values({ job_id: id, team_id, next_run: nextRun, fired: 0 }).execute();

const nth = prepared<{ teamId: number; offset: number }>()((db, value) =>
  db.selectFrom("tasks").select("job_id").where("team_id", "=", value("teamId")).limit(1).offset(value("offset")),
);
/** Whether the team has at least this many tasks; counts no further. */
export const atLeastTasks = async (db: Db, teamId: number, count: number): Promise<boolean> =>
  (await nth(db, { teamId, offset: count - 1 })).rows.length > 0;

const next = prepared<{ jobId: string }>()((db, value) =>
  db.selectFrom("tasks").select("next_run").where("job_id", "=", value("jobId")),
);
export const nextRunOf = async (db: Db, jobId: string): Promise<string | null> =>
  (await next(db, { jobId })).rows[0]?.next_run ?? null;

/** Sets the error of the task's job, which tells users why the task does not fire. */
export const setTaskError = (db: Db, jobId: string, error_message: string | null) =>
  db.updateTable("jobs").set({ error_message }).where("id", "=", jobId).where("status", "=", "TASK").execute();

/**
 * Sets the user as whom a task's jobs run. Returns false if the job is no longer a task, or if `before` is given and the
 * task was handed over since it was read.
 */
export async function setTaskRunAs(db: Db, jobId: string, runAs: string, before?: string): Promise<boolean> {
  const query = db.updateTable("tasks").set({ run_as: runAs }).where("job_id", "=", jobId);
  const same = before === undefined ? query : query.where("run_as", "=", before);
  return (await same.executeTakeFirst()).numUpdatedRows === 1n;
}

const teamsWithDue = prepared<{ now: string }>()((db, value) =>
  db
    .selectFrom("teams")
    .select("id")
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom("tasks")
          .select("job_id")
          .whereRef("tasks.team_id", "=", "teams.id")
          .where("next_run", "<=", value("now")),
      ),
    )
    .orderBy("id"),
);
/** Returns the teams with a due task. Costs one index lookup per team, however many tasks are due. */
export const teamsWithDueTasks = async (db: Db, now: string): Promise<number[]> =>
  (await teamsWithDue(db, { now })).rows.map(({ id }) => id);

/** A due task; also the cursor of a paged walk over due tasks. */
export type DueTask = { readonly job_id: string; readonly next_run: string };

const due = prepared<{ teamId: number; now: string; afterRun: string; afterId: string; limit: number }>()((db, value) =>
  db
    .selectFrom("tasks")
    .select(["job_id", "next_run"])
    .where("team_id", "=", value("teamId"))
    .where("next_run", "<=", value("now"))
    .where((eb) => eb(eb.refTuple("next_run", "job_id"), ">", eb.tuple(value("afterRun"), value("afterId"))))
    .orderBy("next_run")
    .orderBy("job_id")
    .limit(value("limit")),
);
/** Returns a page of the team's due tasks, earliest first. */
export const dueTasks = async (db: Db, teamId: number, now: string, { after, limit }: Page<DueTask>) =>
  (await due(db, { teamId, now, afterRun: after?.next_run ?? "", afterId: after?.job_id ?? "", limit }))
    .rows as DueTask[];

/** Lists the tasks that next fire after `time`, ordered by job id, starting after `afterId`. */
export const tasksAfter = (db: Db, time: string, afterId: string, limit: number) =>
  db
    .selectFrom("tasks")
    .selectAll()
    .where("next_run", ">", time)
    .where("job_id", ">", afterId)
    .orderBy("job_id")
    .limit(limit)
    .$narrowType<{ next_run: string }>()
    .execute();

/** The move of a task from its due tick (scheduled time) to another time. */
interface TickMove {
  readonly jobId: string;
  readonly from: string;
  readonly to: string;
}

/**
 * Moves a task to another time without firing it. Returns false if another server already claimed this tick (scheduled
 * time).
 */
export async function postponeTask(db: Db, { jobId, from, to }: TickMove): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("tasks")
    .set({ next_run: to })
    .where("job_id", "=", jobId)
    .where("next_run", "=", from)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/**
 * Moves a task that could not fire to its next tick (scheduled time), and stores the reason. Returns false if another
 * server already claimed the tick that is due.
 */
export async function refuseTask(db: Db, { jobId, from, to }: TickMove, why: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("tasks")
    .set((eb) => ({ next_run: to, skips: eb("skips", "+", 1), last_error: why }))
    .where("job_id", "=", jobId)
    .where("next_run", "=", from)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/**
 * Moves a task that fired to its next tick (scheduled time). Returns false if another server already claimed the tick
 * that is due.
 */
export async function advanceTask(db: Db, { jobId, from, to }: TickMove): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("tasks")
    .set((eb) => ({ next_run: to, fired: eb("fired", "+", 1), last_error: null }))
    .where("job_id", "=", jobId)
    .where("next_run", "=", from)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

export async function deleteTask(db: Db, jobId: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom("tasks").where("job_id", "=", jobId).executeTakeFirst();
  return numDeletedRows === 1n;
}

const held = {
  plain: prepared<{ jobId: string }>()((db, value) =>
    db.selectFrom("tasks").selectAll().where("job_id", "=", value("jobId")),
  ),
  locked: prepared<{ jobId: string }>()((db, value) =>
    db.selectFrom("tasks").selectAll().where("job_id", "=", value("jobId")).forUpdate(),
  ),
};
/**
 * Reads a task and locks its row until the write ends, so that nobody else changes or fires it. SQLite has only one
 * writer and needs no lock.
 */
export const lockTask = async (db: Db, jobId: string) =>
  (await (isPostgres(db) ? held.locked : held.plain)(db, { jobId })).rows[0];

/** Selects tasks with the columns of their jobs that are shown in lists. */
const shown = (db: Db, teamId: number) =>
  db
    .selectFrom("tasks")
    .innerJoin("jobs", "jobs.id", "tasks.job_id")
    .innerJoin("users", "users.id", "jobs.user_id")
    .selectAll("tasks")
    .select(["jobs.name", "jobs.spec", "jobs.created_at", "jobs.user_id", "users.username"])
    .where("tasks.team_id", "=", teamId);
export type ShownTask = Awaited<ReturnType<typeof listTasks>>[number];

/** Lists a team's tasks, newest first, with ids below `before`. */
export function listTasks(db: Db, teamId: number, before: string | undefined, limit: number) {
  const query = shown(db, teamId).orderBy("tasks.job_id", "desc").limit(limit);
  return (before === undefined ? query : query.where("tasks.job_id", "<", before)).execute();
}

export const findTask = (db: Db, teamId: number, id: string): Promise<ShownTask | undefined> =>
  shown(db, teamId).where("tasks.job_id", "=", id).executeTakeFirst();

/** Lists the team's tasks that will fire, earliest first, starting after the cursor `after`. */
export const nextTasks = (db: Db, teamId: number, after: DueTask, limit: number) =>
  shown(db, teamId)
    .where("tasks.next_run", "is not", null)
    .where((eb) => eb(eb.refTuple("tasks.next_run", "tasks.job_id"), ">", eb.tuple(after.next_run, after.job_id)))
    .orderBy("tasks.next_run")
    .orderBy("tasks.job_id")
    .limit(limit)
    .$narrowType<{ next_run: string }>()
    .execute();

export interface TaskChanges {
  readonly name: string | null;
  readonly spec: string;
  readonly next_run: string | null;
}

/**
 * Updates a task and its job. Fields of the spec that are shortened (`cut`) must stay the same, because their full
 * texts in `texts` are not updated. The caller must have called `lockTask` in the same write.
 */
export async function updateTask(db: Db, id: string, { name, spec, next_run }: TaskChanges): Promise<void> {
  await db.updateTable("jobs").set({ name, spec }).where("id", "=", id).where("status", "=", "TASK").execute();
  await db.updateTable("tasks").set({ next_run }).where("job_id", "=", id).execute();
}
