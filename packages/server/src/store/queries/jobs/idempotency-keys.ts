/** Queries on the idempotency keys of requests that created jobs. */
import type { Db } from "../../drivers/store.ts";

interface Key {
  team_id: number;
  user_id: number;
  key: string;
}

export const findByKey = (db: Db, { team_id, user_id, key }: Key) =>
  db
    .selectFrom("idempotency_keys")
    .select("job_id")
    .where("team_id", "=", team_id)
    .where("user_id", "=", user_id)
    .where("key", "=", key)
    .executeTakeFirst();

/** Stores a key for a job. Returns false if the key is already used. */
export async function takeKey(db: Db, key: Key, jobId: string): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("idempotency_keys")
    .values({ ...key, job_id: jobId })
    .onConflict((c) => c.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

/** Deletes up to `limit` keys of jobs that are older than this job. Returns how many. */
export async function deleteKeysBefore(db: Db, jobId: string, limit: number): Promise<number> {
  const old = db.selectFrom("idempotency_keys").select("job_id").where("job_id", "<", jobId).limit(limit);
  const { numDeletedRows } = await db.deleteFrom("idempotency_keys").where("job_id", "in", old).executeTakeFirst();
  return Number(numDeletedRows);
}
