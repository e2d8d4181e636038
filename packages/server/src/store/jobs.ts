/** Jobs in the store. */
import { type JobStatus, jobTransitions } from "@millrace/contract";
import type { Insertable, Selectable, Updateable } from "kysely";
import { prepared } from "./prepared.ts";
import type { Db } from "./store.ts";
import type { Tables } from "./tables.ts";

export type JobRow = Selectable<Tables["jobs"]>;

/** What showing a job takes: how it fares, its fixed fields as JSON, and where the names that people know are found. */
const shown = [
  "id",
  "user_id",
  "cluster_id",
  "status",
  "started_at",
  "finished_at",
  "exit_code",
  "error_message",
  "error_stack",
  "environment",
  "metrics",
  "steps",
  "spec",
] as const;

export type ShownJob = Pick<JobRow, (typeof shown)[number]>;

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

const byId = prepared<{ id: string }>()((db, value) => db.selectFrom("jobs").selectAll().where("id", "=", value("id")));
export const getJob = async (db: Db, id: string): Promise<JobRow | undefined> => (await byId(db, { id })).rows[0];

const stateById = prepared<{ id: string }>()((db, value) =>
  db.selectFrom("jobs").select(["team_id", "status", "attempt"]).where("id", "=", value("id")),
);
/** Only where a job stands: for whoever asks often. */
export const getJobState = async (db: Db, id: string) => (await stateById(db, { id })).rows[0];

const secretsById = prepared<{ id: string }>()((db, value) =>
  db.selectFrom("jobs").select(["id", "status", "attempt", "environment", "secrets"]).where("id", "=", value("id")),
);
/** What a job was given that its log must not show, encrypted. */
export const getJobSecrets = async (db: Db, id: string) => (await secretsById(db, { id })).rows[0];
export type JobSecretsRow = NonNullable<Awaited<ReturnType<typeof getJobSecrets>>>;

const shownById = prepared<{ teamId: number; id: string }>()((db, value) =>
  db.selectFrom("jobs").select(shown).where("team_id", "=", value("teamId")).where("id", "=", value("id")),
);
/** A job of this team. */
export const findJob = async (db: Db, teamId: number, id: string): Promise<ShownJob | undefined> =>
  (await shownById(db, { teamId, id })).rows[0];

const newest = prepared<{ teamId: number; limit: number }>()((db, value) =>
  db
    .selectFrom("jobs")
    .select(shown)
    .where("team_id", "=", value("teamId"))
    .orderBy("id", "desc")
    .limit(value("limit")),
);

/** Newest first. Without joins: twenty rows have few users and clusters, and looking those up costs a third of joining. */
export async function listJobs(db: Db, filter: JobFilter): Promise<ShownJob[]> {
  const { teamId, limit, statuses, name, username, before } = filter;
  if (statuses === undefined && name === undefined && username === undefined && before === undefined) {
    return (await newest(db, { teamId, limit })).rows;
  }
  const ids = statuses === undefined ? await pageOfIds(db, filter) : await newestOfEach(db, filter, statuses);
  if (ids.length === 0) return [];
  return db.selectFrom("jobs").select(shown).where("id", "in", ids).orderBy("id", "desc").execute();
}

/**
 * One page per state, then the newest of them all. A plain `status in (…)` would sort every job in those states, which
 * among a million finished ones is the whole table.
 */
async function newestOfEach(db: Db, filter: JobFilter, statuses: readonly JobStatus[]): Promise<string[]> {
  const pages = await Promise.all(statuses.map((status) => pageOfIds(db, filter, status)));
  return pages.flat().sort().reverse().slice(0, filter.limit);
}

const idsInState = prepared<{ teamId: number; status: JobStatus; limit: number }>()((db, value) =>
  db
    .selectFrom("jobs")
    .select("id")
    .where("team_id", "=", value("teamId"))
    .where("status", "=", value("status"))
    .orderBy("id", "desc")
    .limit(value("limit")),
);

async function pageOfIds(db: Db, filter: JobFilter, status?: JobStatus): Promise<string[]> {
  const { teamId, limit, name, username, before } = filter;
  if (status !== undefined && name === undefined && username === undefined && before === undefined) {
    return (await idsInState(db, { teamId, status, limit })).rows.map((row) => row.id);
  }
  let query = db.selectFrom("jobs").select("id").where("team_id", "=", teamId);
  if (status !== undefined) query = query.where("status", "=", status);
  if (before !== undefined) query = query.where("id", "<", before);
  if (name !== undefined) query = query.where("name", "=", name);
  if (username !== undefined) {
    query = query.where("user_id", "=", db.selectFrom("users").select("id").where("username", "=", username));
  }
  const rows = await query.orderBy("id", "desc").limit(limit).execute();
  return rows.map((row) => row.id);
}

export interface Move {
  readonly id: string;
  readonly from: readonly JobStatus[];
  readonly to: JobStatus;
  /** Only while this is still the newest attempt. */
  readonly fence?: number;
  readonly changes?: Updateable<Tables["jobs"]>;
}

/** The way in which a job changes its state (markQueued beside it): guarded, along the edges of the contract. False: it was elsewhere. */
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

/** CREATED and SCHEDULED become QUEUED, in one statement for many; returns those that changed. */
export async function markQueued(db: Db, ids: readonly string[]): Promise<string[]> {
  const rows = await db
    .updateTable("jobs")
    .set({ status: "QUEUED" })
    .where("id", "in", ids)
    .where("status", "in", ["CREATED", "SCHEDULED"])
    .returning("id")
    .execute();
  return rows.map((row) => row.id);
}

/** Every state from which `to` can be reached in one move. */
export const statesBefore = (to: JobStatus) =>
  (Object.keys(jobTransitions) as JobStatus[]).filter((s) => (jobTransitions[s] as readonly JobStatus[]).includes(to));

export const setSteps = (db: Db, id: string, fence: number, steps: string) =>
  db.updateTable("jobs").set({ steps }).where("id", "=", id).where("attempt", "=", fence).execute();
