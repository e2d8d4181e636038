/** Queries on open attempts, which hold slots. */
import { type Insertable, type Selectable, sql } from "kysely";
import { columnsOf, prepared, preparedByShape } from "../../drivers/prepared.ts";
import { type Db, isPostgres } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";

export type AttemptRow = Selectable<Tables["attempts"]>;

/** Advisory lock of claims. The number is arbitrary; other programs on the same database are unlikely to use it. */
const claimLock = 0x6d696c6c;

/**
 * Lets claims run one at a time until the write ends, so that each sees what others have claimed: the quota of a team
 * counts on all clusters together. Must be the first lock of the write. SQLite has only one writer anyway.
 */
export async function lockClaims(db: Db): Promise<void> {
  if (isPostgres(db)) await sql`select pg_advisory_xact_lock(${claimLock})`.execute(db);
}

type NewAttempt = Insertable<Tables["attempts"]>;
const insert = preparedByShape<readonly string[], NewAttempt>()((db, value, columns) =>
  db
    .insertInto("attempts")
    .values(Object.fromEntries(columns.map((name) => [name, value(name as keyof NewAttempt)])) as NewAttempt),
);
export const openAttempt = (db: Db, row: NewAttempt) => insert(db, columnsOf(row), row);

const close = prepared<{ jobId: string; attempt: number }>()((db, value) =>
  db.deleteFrom("attempts").where("job_id", "=", value("jobId")).where("attempt", "=", value("attempt")),
);
/** Deletes an open attempt, which frees its slots. Returns false if it was already closed. */
export const closeAttempt = async (db: Db, jobId: string, attempt: number): Promise<boolean> =>
  (await close(db, { jobId, attempt })).affected === 1n;

const open = prepared<{ serverId: string }>()((db, value) =>
  db
    .selectFrom("attempts")
    .innerJoin("jobs", "jobs.id", "attempts.job_id")
    .selectAll("attempts")
    .select(["jobs.status", "jobs.steps", "jobs.pipeline_id"])
    .where("server_id", "=", value("serverId")),
);
/** Lists the open attempts of a server, with their jobs' status. */
export const openAttempts = async (db: Db, serverId: string) => (await open(db, { serverId })).rows;
/** Lists the open attempts of all servers. */
export const allAttempts = (db: Db) =>
  db
    .selectFrom("attempts")
    .innerJoin("jobs", "jobs.id", "attempts.job_id")
    .selectAll("attempts")
    .select("jobs.status")
    .execute();

/** Lists open attempts on clusters that were removed, with the name of the cluster. */
export const attemptsOnRemoved = (db: Db, limit: number) =>
  db
    .selectFrom("attempts")
    .innerJoin("jobs", "jobs.id", "attempts.job_id")
    .innerJoin("clusters", "clusters.id", "attempts.cluster_id")
    .selectAll("attempts")
    .select(["jobs.status", "clusters.name as cluster"])
    .where("clusters.is_active", "=", 0)
    .limit(limit)
    .execute();

/** Lists the teams that have open attempts on a cluster. */
export const teamsOnCluster = (db: Db, clusterId: number) =>
  db
    .selectFrom("attempts")
    .innerJoin("teams", "teams.id", "attempts.team_id")
    .select(["teams.id", "teams.name"])
    .distinct()
    .where("cluster_id", "=", clusterId)
    .orderBy("teams.name")
    .execute();

/** Lists the open attempts of other servers, with the engines of their clusters. */
export const foreignAttempts = (db: Db, serverId: string) =>
  db
    .selectFrom("attempts")
    .innerJoin("jobs", "jobs.id", "attempts.job_id")
    .innerJoin("clusters", "clusters.id", "attempts.cluster_id")
    .selectAll("attempts")
    .select(["jobs.status", "clusters.engine", "clusters.options"])
    .where("server_id", "!=", serverId)
    .execute();
export type OpenAttempt = Awaited<ReturnType<typeof openAttempts>>[number];

const sumOfSlots = prepared<{ clusterId: number }>()((db, value) =>
  db
    .selectFrom("attempts")
    .select((eb) => eb.fn.sum<number | null>("slots").as("slots"))
    .where("cluster_id", "=", value("clusterId")),
);
export const busySlots = async (db: Db, clusterId: number): Promise<number> =>
  Number((await sumOfSlots(db, { clusterId })).rows[0]?.slots ?? 0);

/** Counts the open attempts of a cluster. */
export async function countOpen(db: Db, clusterId: number): Promise<number> {
  const query = db.selectFrom("attempts").select((eb) => eb.fn.countAll<number>().as("open"));
  return Number((await query.where("cluster_id", "=", clusterId).executeTakeFirst())?.open ?? 0);
}

/** Lists the team's jobs that hold slots of a cluster, the oldest attempt first. */
export const slotHolders = (db: Db, clusterId: number, teamId: number, limit: number) =>
  db
    .selectFrom("attempts")
    .innerJoin("jobs", "jobs.id", "attempts.job_id")
    .innerJoin("users", "users.id", "jobs.user_id")
    .select(["attempts.job_id", "jobs.name", "users.username as created_by"])
    .select(["attempts.created_at as started_at", "attempts.slots"])
    .where("attempts.cluster_id", "=", clusterId)
    .where("attempts.team_id", "=", teamId)
    .orderBy("attempts.created_at")
    .orderBy("attempts.job_id")
    .limit(limit)
    .execute();

/** Counts the team's open attempts, and its slots of a cluster. */
export async function attemptsOfTeam(db: Db, teamId: number, clusterId: number) {
  const row = await db
    .selectFrom("attempts")
    .select((eb) => [
      eb.fn.countAll<number>().as("running"),
      eb.fn
        .sum<number | null>(eb.case().when("cluster_id", "=", clusterId).then(eb.ref("slots")).else(0).end())
        .as("slots"),
    ])
    .where("team_id", "=", teamId)
    .executeTakeFirst();
  return { running: Number(row?.running ?? 0), slots: Number(row?.slots ?? 0) };
}

const ownerOfOpen = prepared<{ jobId: string; attempt: number }>()((db, value) =>
  db
    .selectFrom("attempts")
    .innerJoin("jobs", "jobs.id", "attempts.job_id")
    .innerJoin("users", "users.id", "jobs.user_id")
    .innerJoin("teams", "teams.id", "jobs.team_id")
    .leftJoin("memberships", (join) =>
      join.onRef("memberships.team_id", "=", "jobs.team_id").onRef("memberships.user_id", "=", "jobs.user_id"),
    )
    .leftJoin("tokens", "tokens.id", "jobs.token_id")
    .select(["jobs.user_id", "jobs.team_id", "jobs.scopes", "users.username"])
    .select(["teams.name as team_name", "memberships.role"])
    .select(["jobs.token_id", "tokens.id as found_token_id", "tokens.revoked_at", "tokens.expires_at"])
    .where("attempts.job_id", "=", value("jobId"))
    .where("attempts.attempt", "=", value("attempt"))
    .where("users.disabled_at", "is", null),
);
/**
 * Returns the user, team, role and scopes of an open attempt's job, and the access token that the job remembers;
 * undefined if the attempt is closed or the user disabled.
 */
export const findAttemptOwner = async (db: Db, jobId: string, attempt: number) =>
  (await ownerOfOpen(db, { jobId, attempt })).rows[0];

/** Whether the attempt has no result yet. */
export const isOpenAttempt = async (db: Db, jobId: string, attempt: number): Promise<boolean> =>
  (await db
    .selectFrom("attempts")
    .select("job_id")
    .where("job_id", "=", jobId)
    .where("attempt", "=", attempt)
    .executeTakeFirst()) !== undefined;

/** Counts the open attempts that were created before this time. */
export async function countAttemptsBefore(db: Db, time: string): Promise<number> {
  const count = db.selectFrom("attempts").select((eb) => eb.fn.countAll<number>().as("count"));
  return Number((await count.where("created_at", "<", time).executeTakeFirst())?.count ?? 0);
}
const countsByTeam = prepared<object>()((db) =>
  db
    .selectFrom("attempts")
    .select((eb) => ["team_id", eb.fn.countAll<number>().as("running")])
    .groupBy("team_id"),
);
export const runningByTeam = async (db: Db) => (await countsByTeam(db, {})).rows;

/** Counts open attempts and their slots by cluster and team. */
export const slotsByTeam = (db: Db) =>
  db
    .selectFrom("attempts")
    .select((eb) => [
      "cluster_id",
      "team_id",
      eb.fn.countAll<number>().as("running"),
      eb.fn.sum<number>("slots").as("slots"),
    ])
    .groupBy(["cluster_id", "team_id"])
    .execute();

/** Returns when the oldest open attempt was created; undefined if none is open. */
export const oldestAttempt = async (db: Db): Promise<string | undefined> =>
  (await db.selectFrom("attempts").select("created_at").orderBy("created_at").limit(1).executeTakeFirst())?.created_at;

export const setHandle = (db: Db, jobId: string, attempt: number, handle: string) =>
  db.updateTable("attempts").set({ handle }).where("job_id", "=", jobId).where("attempt", "=", attempt).execute();

export const markSignalled = (db: Db, jobId: string, attempt: number, at: string) =>
  db
    .updateTable("attempts")
    .set({ signalled_at: at })
    .where("job_id", "=", jobId)
    .where("attempt", "=", attempt)
    .where("signalled_at", "is", null)
    .execute();

/**
 * Divides the growth of a team's warehouse equally among the jobs that use it. Each attempt is charged only for growth
 * beyond the largest size measured since the attempt started, so that temporary files count only once. Returns whether
 * any attempt was charged.
 */
export async function shareGrowth(
  db: Db,
  jobs: readonly string[],
  { from, to }: { from: number; to: number },
): Promise<boolean> {
  const attempts = db.updateTable("attempts").where("job_id", "in", jobs);
  await attempts.set({ store_peak: from }).where("store_peak", "is", null).execute();
  const share = sql<number>`cast((${to} - store_peak) / ${jobs.length} as bigint)`;
  const charged = await attempts
    .set((eb) => ({ store_bytes: eb("store_bytes", "+", share), store_peak: to }))
    .where("store_peak", "<", to)
    .executeTakeFirst();
  return charged.numUpdatedRows > 0n;
}
