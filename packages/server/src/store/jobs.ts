/** Jobs in the store. */
import { type JobStatus, jobTransitions } from "@millrace/contract";
import type { Insertable, Selectable, Updateable } from "kysely";
import type { Db } from "./store.ts";
import type { Tables } from "./tables.ts";

export type JobRow = Selectable<Tables["jobs"]>;
/** A job with the names that people know instead of ids. */
export type NamedJobRow = Awaited<ReturnType<typeof findJob>> & {};

export interface JobFilter {
  readonly teamId: number;
  readonly statuses?: readonly JobStatus[] | undefined;
  readonly name?: string | undefined;
  readonly username?: string | undefined;
  /** Only jobs older than this one. */
  readonly before?: string | undefined;
  readonly limit: number;
}

export const insertJob = (db: Db, job: Insertable<Tables["jobs"]>) => db.insertInto("jobs").values(job).execute();

export const getJob = (db: Db, id: string) => db.selectFrom("jobs").selectAll().where("id", "=", id).executeTakeFirst();

/** A job of this team, with names. */
export const findJob = (db: Db, teamId: number, id: string) =>
  namedJobs(db).where("jobs.team_id", "=", teamId).where("jobs.id", "=", id).executeTakeFirst();

export async function listJobs(db: Db, filter: JobFilter): Promise<NamedJobRow[]> {
  if (filter.statuses === undefined) return namedPage(db, filter);
  const ids = await idsByStatus(db, filter, filter.statuses);
  if (ids.length === 0) return [];
  return namedJobs(db).where("jobs.id", "in", ids).orderBy("jobs.id", "desc").execute();
}

function namedJobs(db: Db) {
  return db
    .selectFrom("jobs")
    .innerJoin("users", "users.id", "jobs.user_id")
    .innerJoin("teams", "teams.id", "jobs.team_id")
    .innerJoin("clusters", "clusters.id", "jobs.cluster_id")
    .leftJoin("tasks", "tasks.job_id", "jobs.id")
    .selectAll("jobs")
    .select(["users.username", "teams.name as team_name", "clusters.name as cluster_name", "tasks.next_run"]);
}

function namedPage(db: Db, filter: JobFilter): Promise<NamedJobRow[]> {
  let query = namedJobs(db).where("jobs.team_id", "=", filter.teamId);
  if (filter.before !== undefined) query = query.where("jobs.id", "<", filter.before);
  if (filter.name !== undefined) query = query.where("jobs.name", "=", filter.name);
  if (filter.username !== undefined) query = query.where("users.username", "=", filter.username);
  return query.orderBy("jobs.id", "desc").limit(filter.limit).execute();
}

/**
 * One page per state, then the newest of them all. A plain `status in (…)` would sort every job in those states,
 * which among a million finished ones is the whole table.
 */
async function idsByStatus(db: Db, filter: JobFilter, statuses: readonly JobStatus[]): Promise<string[]> {
  const pages = await Promise.all(
    statuses.map((status) => {
      let query = db
        .selectFrom("jobs")
        .select("jobs.id")
        .where("jobs.team_id", "=", filter.teamId)
        .where("jobs.status", "=", status);
      if (filter.before !== undefined) query = query.where("jobs.id", "<", filter.before);
      if (filter.name !== undefined) query = query.where("jobs.name", "=", filter.name);
      if (filter.username !== undefined) {
        query = query.where(
          "jobs.user_id",
          "=",
          db.selectFrom("users").select("id").where("username", "=", filter.username),
        );
      }
      return query.orderBy("jobs.id", "desc").limit(filter.limit).execute();
    }),
  );
  const ids = pages.flat().map((row) => row.id);
  return ids.sort().reverse().slice(0, filter.limit);
}

export interface Move {
  readonly id: string;
  readonly from: readonly JobStatus[];
  readonly to: JobStatus;
  /** Only while this is still the newest attempt. */
  readonly fence?: number;
  readonly changes?: Updateable<Tables["jobs"]>;
}

/** The one way in which a job changes its state: guarded, along the edges of the contract. False: it was elsewhere. */
export async function moveJob(db: Db, { id, from, to, fence, changes }: Move): Promise<boolean> {
  for (const state of from) {
    if (!(jobTransitions[state] as readonly JobStatus[]).includes(to)) throw new Error(`no way from ${state} to ${to}`);
  }
  let query = db
    .updateTable("jobs")
    .set({ ...changes, status: to })
    .where("id", "=", id)
    .where("status", "in", from);
  if (fence !== undefined) query = query.where("attempt", "=", fence);
  const { numUpdatedRows } = await query.executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Every state from which `to` can be reached in one move. */
export const statesBefore = (to: JobStatus) =>
  (Object.keys(jobTransitions) as JobStatus[]).filter((s) => (jobTransitions[s] as readonly JobStatus[]).includes(to));

export const setSteps = (db: Db, id: string, steps: string) =>
  db.updateTable("jobs").set({ steps }).where("id", "=", id).execute();
