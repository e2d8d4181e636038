/** Tasks: jobs that fire others at their time. */

import { prepared } from "../../drivers/prepared.ts";
import { type Db, isPostgres } from "../../drivers/store.ts";
import type { JobRow } from "../jobs/jobs.ts";

export const insertTask = (db: Db, { id, team_id }: Pick<JobRow, "id" | "team_id">, nextRun: string) =>
  db.insertInto("tasks").values({ job_id: id, team_id, next_run: nextRun, fired: 0 }).execute();

const nth = prepared<{ teamId: number; offset: number }>()((db, value) =>
  db.selectFrom("tasks").select("job_id").where("team_id", "=", value("teamId")).limit(1).offset(value("offset")),
);
/** Whether the team has so many: counts no further than that. */
export const atLeastTasks = async (db: Db, teamId: number, count: number): Promise<boolean> =>
  (await nth(db, { teamId, offset: count - 1 })).rows.length > 0;

const next = prepared<{ jobId: string }>()((db, value) =>
  db.selectFrom("tasks").select("next_run").where("job_id", "=", value("jobId")),
);
export const nextRunOf = async (db: Db, jobId: string): Promise<string | null> =>
  (await next(db, { jobId })).rows[0]?.next_run ?? null;

/** Why it does not fire, shown with its job. */
export const setTaskError = (db: Db, jobId: string, error_message: string | null) =>
  db.updateTable("jobs").set({ error_message }).where("id", "=", jobId).where("status", "=", "TASK").execute();

/** False: it is no task any more. */
export async function setTaskRunAs(db: Db, jobId: string, runAs: string): Promise<boolean> {
  const query = db.updateTable("tasks").set({ run_as: runAs }).where("job_id", "=", jobId);
  return (await query.executeTakeFirst()).numUpdatedRows === 1n;
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
/** Teams with a task that is due. Team by team, so that however many are due, each team costs one look. */
export const teamsWithDueTasks = async (db: Db, now: string): Promise<number[]> =>
  (await teamsWithDue(db, { now })).rows.map(({ id }) => id);

/** A task that is due, and where a walk over them has got to. */
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
/** The first of the team's that are due, after this one. */
export const dueTasks = async (db: Db, teamId: number, now: string, after: DueTask | undefined, limit: number) =>
  (await due(db, { teamId, now, afterRun: after?.next_run ?? "", afterId: after?.job_id ?? "", limit }))
    .rows as DueTask[];

/** Those that fire after this time, by id. */
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

/** Moves a task on without having fired. False: another server took this tick. */
export async function postponeTask(db: Db, jobId: string, from: string, to: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("tasks")
    .set({ next_run: to })
    .where("job_id", "=", jobId)
    .where("next_run", "=", from)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Moves a task on that could not fire, and says why. False: another server took this tick. */
export async function refuseTask(db: Db, jobId: string, from: string, to: string, why: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("tasks")
    .set((eb) => ({ next_run: to, skips: eb("skips", "+", 1), last_error: why }))
    .where("job_id", "=", jobId)
    .where("next_run", "=", from)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Moves a task from one tick to the next. False: another server took this tick. */
export async function advanceTask(db: Db, jobId: string, from: string, to: string): Promise<boolean> {
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
/** The task as it is now, and until the end of the write nobody else changes or fires it. SQLite has one writer anyway. */
export const lockTask = async (db: Db, jobId: string) =>
  (await (isPostgres(db) ? held.locked : held.plain)(db, { jobId })).rows[0];

/** A task with what lists show of its job. */
const shown = (db: Db, teamId: number) =>
  db
    .selectFrom("tasks")
    .innerJoin("jobs", "jobs.id", "tasks.job_id")
    .innerJoin("users", "users.id", "jobs.user_id")
    .selectAll("tasks")
    .select(["jobs.name", "jobs.spec", "jobs.created_at", "jobs.user_id", "users.username"])
    .where("tasks.team_id", "=", teamId);
export type ShownTask = Awaited<ReturnType<typeof listTasks>>[number];

/** Newest first, before this one. */
export function listTasks(db: Db, teamId: number, before: string | undefined, limit: number) {
  const query = shown(db, teamId).orderBy("tasks.job_id", "desc").limit(limit);
  return (before === undefined ? query : query.where("tasks.job_id", "<", before)).execute();
}

export const findTask = (db: Db, teamId: number, id: string): Promise<ShownTask | undefined> =>
  shown(db, teamId).where("tasks.job_id", "=", id).executeTakeFirst();

/** Those that fire next, after this one. */
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

/** What is long of the job stays as it is. Ask under `lockTask`. */
export async function updateTask(db: Db, id: string, { name, spec, next_run }: TaskChanges): Promise<void> {
  await db.updateTable("jobs").set({ name, spec }).where("id", "=", id).where("status", "=", "TASK").execute();
  await db.updateTable("tasks").set({ next_run }).where("job_id", "=", id).execute();
}
