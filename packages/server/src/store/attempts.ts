/** Open attempts: jobs that hold slots. */
import type { Insertable, Selectable } from "kysely";
import type { Db } from "./store.ts";
import type { Tables } from "./tables.ts";

export type AttemptRow = Selectable<Tables["attempts"]>;

export const openAttempt = (db: Db, row: Insertable<Tables["attempts"]>) =>
  db.insertInto("attempts").values(row).execute();

/** Gives the slots back. False: this attempt was closed before. */
export async function closeAttempt(db: Db, jobId: string, attempt: number): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom("attempts")
    .where("job_id", "=", jobId)
    .where("attempt", "=", attempt)
    .executeTakeFirst();
  return numDeletedRows === 1n;
}

/** With the state of their jobs. */
export const openAttempts = (db: Db, serverId: string) =>
  db
    .selectFrom("attempts")
    .innerJoin("jobs", "jobs.id", "attempts.job_id")
    .selectAll("attempts")
    .select(["jobs.status", "jobs.query_type", "jobs.started_at"])
    .where("server_id", "=", serverId)
    .execute();
export type OpenAttempt = Awaited<ReturnType<typeof openAttempts>>[number];

export async function busySlots(db: Db, clusterId: number): Promise<number> {
  const row = await db
    .selectFrom("attempts")
    .select((eb) => eb.fn.sum<number | null>("slots").as("slots"))
    .where("cluster_id", "=", clusterId)
    .executeTakeFirst();
  return Number(row?.slots ?? 0);
}

export const markSignalled = (db: Db, jobId: string, attempt: number, at: string) =>
  db
    .updateTable("attempts")
    .set({ signalled_at: at })
    .where("job_id", "=", jobId)
    .where("attempt", "=", attempt)
    .where("signalled_at", "is", null)
    .execute();
