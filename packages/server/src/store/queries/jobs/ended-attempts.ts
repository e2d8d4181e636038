/**
 * Queries on failed attempts that were retried. The newest attempt of a job is not among them: its result is in the
 * job's row.
 */
import type { Selectable } from "kysely";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";

export type EndedAttempt = Selectable<Tables["ended_attempts"]>;

export const insertEndedAttempt = (db: Db, row: EndedAttempt) => db.insertInto("ended_attempts").values(row).execute();

/** Lists the retried attempts of a job, oldest first. */
export const endedAttempts = (db: Db, jobId: string): Promise<EndedAttempt[]> =>
  db.selectFrom("ended_attempts").selectAll().where("job_id", "=", jobId).orderBy("attempt").execute();
