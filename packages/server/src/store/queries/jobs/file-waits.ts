/** Queries on queued jobs that wait for their files. Dispatch does not read their rows until the files are here. */
import type { Updateable } from "kysely";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";

type Wait = Updateable<Tables["queue"]>["waits_for"];

/** Changes what a queued job waits for. Returns false if it left the queue, or waits for something else by now. */
async function change(
  db: Db,
  jobId: string,
  from: Wait,
  to: Pick<Updateable<Tables["queue"]>, "waits_for" | "not_before">,
) {
  const query = db
    .updateTable("queue")
    .set(to)
    .where("job_id", "=", jobId)
    .where("waits_for", "=", from ?? "");
  return (await query.executeTakeFirst()).numUpdatedRows === 1n;
}

/** The files of a job that could start are not on this machine: it waits for them. */
export const waitForFiles = (db: Db, jobId: string, now: string) =>
  change(db, jobId, "", { waits_for: "files", not_before: now });

/** The files are here: the job waits only for slots. */
export const endFileWait = (db: Db, jobId: string) => change(db, jobId, "files", { waits_for: "", not_before: "" });

/** The files could not be fetched; the next try is at `nextTry`. */
export const postponeFiles = (db: Db, jobId: string, nextTry: string) =>
  change(db, jobId, "files", { waits_for: "storage", not_before: nextTry });

/** The time of the next try has come. */
export const tryFilesAgain = (db: Db, jobId: string, now: string) =>
  change(db, jobId, "storage", { waits_for: "files", not_before: now });

/** Lists the jobs of a cluster whose files are to be fetched, by priority and then by age, without those of some teams. */
export function waitingForFiles(db: Db, clusterId: number, without: readonly number[], limit: number) {
  const query = db
    .selectFrom("queue")
    .select(["job_id", "team_id"])
    .where("cluster_id", "=", clusterId)
    .where("waits_for", "=", "files")
    .orderBy("priority")
    .orderBy("job_id")
    .limit(limit);
  return (without.length === 0 ? query : query.where("team_id", "not in", without)).execute();
}

/** Lists the jobs whose files could not be fetched, by the time of the next try. */
export const postponedFiles = (db: Db, limit: number) =>
  db
    .selectFrom("queue")
    .select(["job_id", "not_before"])
    .where("waits_for", "=", "storage")
    .where("not_before", ">", "")
    .orderBy("not_before")
    .orderBy("job_id")
    .limit(limit)
    .execute();
