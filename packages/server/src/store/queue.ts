/** The queue: jobs that wait for slots, in order. */
import type { Insertable } from "kysely";
import { prepared } from "./prepared.ts";
import type { Db } from "./store.ts";
import type { Tables } from "./tables.ts";

export const enqueue = (db: Db, row: Insertable<Tables["queue"]>) => db.insertInto("queue").values(row).execute();

const head = prepared<{ clusterId: number; limit: number }>()((db, value) =>
  db
    .selectFrom("queue")
    .selectAll()
    .where("cluster_id", "=", value("clusterId"))
    .orderBy("priority")
    .orderBy("job_id")
    .limit(value("limit")),
);
/** First by priority, then by age. */
export const headOfQueue = async (db: Db, clusterId: number, limit: number) =>
  (await head(db, { clusterId, limit })).rows;

/** Takes a job off the queue. False: somebody else did. */
export const dequeue = async (db: Db, jobId: string): Promise<boolean> => (await remove(db, { jobId })).affected === 1n;
const remove = prepared<{ jobId: string }>()((db, value) =>
  db.deleteFrom("queue").where("job_id", "=", value("jobId")),
);

export const countPassedOver = (db: Db, jobIds: readonly string[]) =>
  db
    .updateTable("queue")
    .set((eb) => ({ passed_over: eb("passed_over", "+", 1) }))
    .where("job_id", "in", jobIds)
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
/** Jobs that wait and were created after this one, oldest first. */
export const waitingSince = async (db: Db, clusterId: number, after: string): Promise<string[]> =>
  (await since(db, { clusterId, after })).rows.map((row) => row.job_id);
