/** The queue: jobs that wait for slots, in order. */
import type { Insertable } from "kysely";
import type { Db } from "./store.ts";
import type { Tables } from "./tables.ts";

export const enqueue = (db: Db, row: Insertable<Tables["queue"]>) => db.insertInto("queue").values(row).execute();

/** First by priority, then by age. */
export const headOfQueue = (db: Db, clusterId: number, limit: number) =>
  db
    .selectFrom("queue")
    .selectAll()
    .where("cluster_id", "=", clusterId)
    .orderBy("priority")
    .orderBy("job_id")
    .limit(limit)
    .execute();

/** Takes a job off the queue. False: somebody else did. */
export async function dequeue(db: Db, jobId: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom("queue").where("job_id", "=", jobId).executeTakeFirst();
  return numDeletedRows === 1n;
}

export const countPassedOver = (db: Db, jobIds: readonly string[]) =>
  db
    .updateTable("queue")
    .set((eb) => ({ passed_over: eb("passed_over", "+", 1) }))
    .where("job_id", "in", jobIds)
    .execute();

/** Jobs that wait and still say CREATED. */
export const newlyWaiting = (db: Db, clusterId: number, limit: number) =>
  db
    .selectFrom("queue")
    .innerJoin("jobs", "jobs.id", "queue.job_id")
    .select("jobs.id")
    .where("queue.cluster_id", "=", clusterId)
    .where("jobs.status", "in", ["CREATED", "SCHEDULED"])
    .limit(limit)
    .execute();
