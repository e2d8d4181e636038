/** Queries on the queue of jobs that wait for slots. */
import type { Insertable, Selectable } from "kysely";
import { columnsOf, prepared, preparedByShape } from "../../drivers/prepared.ts";
import { type Db, isPostgres } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";
import { eachPart } from "../batches.ts";

type NewRow = Insertable<Tables["queue"]>;
const insert = preparedByShape<readonly string[], NewRow>()((db, value, columns) =>
  db
    .insertInto("queue")
    .values(Object.fromEntries(columns.map((name) => [name, value(name as keyof NewRow)])) as NewRow),
);
export const enqueue = (db: Db, row: NewRow) => insert(db, columnsOf(row), row);
export const enqueueAll = (db: Db, rows: readonly NewRow[]) =>
  eachPart(rows, (part) => db.insertInto("queue").values(part).execute());

const head = prepared<{ clusterId: number; limit: number }>()((db, value) =>
  db
    .selectFrom("queue")
    .selectAll()
    .where("cluster_id", "=", value("clusterId"))
    .where("not_before", "=", "")
    .orderBy("priority")
    .orderBy("job_id")
    .limit(value("limit")),
);
/**
 * Returns the first jobs of the queue, ordered by priority and then by age. Jobs that wait for a retry or for their
 * files are left out.
 */
export const headOfQueue = async (db: Db, clusterId: number, limit: number) =>
  (await head(db, { clusterId, limit })).rows;

const headOfTeam = prepared<{ clusterId: number; teamId: number; limit: number }>()((db, value) =>
  db
    .selectFrom("queue")
    .selectAll()
    .where("team_id", "=", value("teamId"))
    .where("not_before", "=", "")
    .where("cluster_id", "=", value("clusterId"))
    .orderBy("priority")
    .orderBy("job_id")
    .limit(value("limit")),
);

/**
 * Returns the first jobs of the queue, like `headOfQueue`, but leaves out the jobs of these teams. Reads the queue team
 * by team, so that a long backlog of the excluded teams is not read.
 */
export async function headOfQueueWithout(db: Db, clusterId: number, limit: number, teams: readonly number[]) {
  const others = await db
    .selectFrom("teams")
    .select("id")
    .where("id", "not in", teams)
    .where(({ exists, selectFrom }) =>
      exists(selectFrom("queue").select("job_id").whereRef("queue.team_id", "=", "teams.id")),
    )
    .execute();
  const heads = await Promise.all(others.map(({ id }) => headOfTeam(db, { clusterId, teamId: id, limit })));
  return heads
    .flatMap(({ rows }) => rows)
    .sort((a, b) => a.priority - b.priority || (a.job_id < b.job_id ? -1 : 1))
    .slice(0, limit);
}

/**
 * Locks the queue rows of jobs until the write ends, so that nobody starts these jobs. Returns the ids of those that
 * are queued. The caller passes a limited number of ids.
 */
export async function holdQueued(db: Db, jobIds: readonly string[]): Promise<ReadonlySet<string>> {
  if (jobIds.length === 0) return new Set();
  const query = db.selectFrom("queue").select("job_id").where("job_id", "in", jobIds).orderBy("job_id");
  const rows = await (isPostgres(db) ? query.forUpdate() : query).execute();
  return new Set(rows.map(({ job_id }) => job_id));
}

const nth = prepared<{ teamId: number; offset: number }>()((db, value) =>
  db.selectFrom("queue").select("job_id").where("team_id", "=", value("teamId")).limit(1).offset(value("offset")),
);
/** Whether the team has at least this many jobs in the queue; counts no further. */
export const atLeastWaiting = async (db: Db, teamId: number, count: number): Promise<boolean> =>
  (await nth(db, { teamId, offset: count - 1 })).rows.length > 0;

/** Returns the ids of all queued jobs of every cluster. */
export const allWaiting = async (db: Db): Promise<string[]> =>
  (await db.selectFrom("queue").select("job_id").execute()).map((row) => row.job_id);

/**
 * Returns, for each cluster and team, the number of jobs that wait for slots or files, and the oldest of these jobs.
 */
export const waitingByTeam = (db: Db) =>
  db
    .selectFrom("queue")
    .select((eb) => ["cluster_id", "team_id", eb.fn.countAll<number>().as("waiting"), eb.fn.min("job_id").as("oldest")])
    .where((eb) => eb.or([eb("not_before", "=", ""), eb("waits_for", "<>", "")]))
    .groupBy(["cluster_id", "team_id"])
    .execute();

/**
 * Removes a job from the queue. Returns false if the job is not in the queue. If another write has locked the row, also
 * returns false instead of waiting, because the caller may hold locks on the rows of many other jobs.
 */
export const dequeue = async (db: Db, jobId: string): Promise<boolean> => (await remove(db, { jobId })).affected === 1n;
const remove = prepared<{ jobId: string }>()((db, value) =>
  db.deleteFrom("queue").where("job_id", "in", free(db).where("job_id", "=", value("jobId"))),
);

/** Selects only queue rows that no other write has locked. On SQLite, selects all rows: it has only one writer. */
const free = (db: Db) => {
  const query = db.selectFrom("queue").select("job_id");
  return isPostgres(db) ? query.forUpdate().skipLocked() : query;
};

/** Removes several jobs from the queue. Returns the jobs that were in the queue. */
export async function dequeueAll(db: Db, jobIds: readonly string[]): Promise<string[]> {
  const taken: string[] = [];
  await eachPart(jobIds, async (part) => {
    const rows = await db.deleteFrom("queue").where("job_id", "in", part).returning("job_id").execute();
    for (const { job_id } of rows) taken.push(job_id);
  });
  return taken;
}

/** Adds one to `passed_over` of each job, except jobs whose rows another write has locked. */
export const countPassedOver = (db: Db, jobIds: readonly string[]) =>
  db
    .updateTable("queue")
    .set((eb) => ({ passed_over: eb("passed_over", "+", 1) }))
    .where("job_id", "in", free(db).where("job_id", "in", jobIds))
    .execute();

const since = prepared<{ clusterId: number; after: string }>()((db, value) =>
  db
    .selectFrom("queue")
    .select("job_id")
    .where("cluster_id", "=", value("clusterId"))
    .where("job_id", ">", value("after"))
    .orderBy("job_id")
    .limit(500),
);
/** Returns the queued jobs that were created after the job `after`, oldest first, at most 500. */
export const waitingSince = async (db: Db, clusterId: number, after: string): Promise<string[]> =>
  (await since(db, { clusterId, after })).rows.map((row) => row.job_id);

/** Changes the priority and slots of queued jobs. Returns the jobs that were still in the queue. */
export async function requeueAs(
  db: Db,
  jobIds: readonly string[],
  changes: Pick<Insertable<Tables["queue"]>, "priority" | "slots">,
): Promise<string[]> {
  const waiting: string[] = [];
  await eachPart(jobIds, async (part) => {
    const query = db.updateTable("queue").set(changes).where("job_id", "in", part).returning("job_id");
    for (const { job_id } of await query.execute()) waiting.push(job_id);
  });
  return waiting;
}

/** Lists jobs that wait for a retry, ordered by the time of the retry. */
export const waitingForRetry = (db: Db, limit: number) =>
  db
    .selectFrom("queue")
    .select(["job_id", "not_before"])
    .where("waits_for", "=", "")
    .where("not_before", ">", "")
    .orderBy("not_before")
    .orderBy("job_id")
    .limit(limit)
    .execute();

/** Returns the queue row of a job: its order, and what it waits for besides slots; undefined if it is not queued. */
export const waitOf = (db: Db, jobId: string) =>
  db.selectFrom("queue").selectAll().where("job_id", "=", jobId).executeTakeFirst();

/** Counts the jobs that come before this one in the queue of its cluster, at most `most`. */
export async function countAhead(
  db: Db,
  { cluster_id, priority, job_id }: Pick<Selectable<Tables["queue"]>, "cluster_id" | "priority" | "job_id">,
  most: number,
): Promise<number> {
  const ahead = db
    .selectFrom("queue")
    .select("job_id")
    .where("cluster_id", "=", cluster_id)
    .where("not_before", "=", "")
    .where((eb) => eb(eb.refTuple("priority", "job_id"), "<", eb.tuple(priority, job_id)))
    .limit(most)
    .as("ahead");
  const row = await db
    .selectFrom(ahead)
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .executeTakeFirst();
  return Number(row?.count ?? 0);
}

/** Counts the waiting jobs of a cluster, at most `most`. */
export async function countWaiting(db: Db, clusterId: number, most: number): Promise<number> {
  const waiting = db.selectFrom("queue").select("job_id").where("cluster_id", "=", clusterId).limit(most).as("waiting");
  const row = await db
    .selectFrom(waiting)
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .executeTakeFirst();
  return Number(row?.count ?? 0);
}

/**
 * Ends the wait for a retry, so that the job waits only for slots. Returns false if the job left the queue or was
 * already released.
 */
export async function releaseRetry(db: Db, jobId: string, notBefore: string): Promise<boolean> {
  const query = db.updateTable("queue").set({ not_before: "" }).where("job_id", "=", jobId).where("waits_for", "=", "");
  return (await query.where("not_before", "=", notBefore).executeTakeFirst()).numUpdatedRows === 1n;
}

/** Lists jobs that wait for a cluster that was removed, with the name of the cluster, in any order. */
export const queuedOnRemoved = (db: Db, limit: number) =>
  db
    // In this order: the clusters are few, the queue may be long.
    .selectFrom("clusters")
    .crossJoin("queue")
    .whereRef("queue.cluster_id", "=", "clusters.id")
    .select(["queue.job_id", "clusters.name"])
    .where("clusters.is_active", "=", 0)
    .limit(limit)
    .execute();
