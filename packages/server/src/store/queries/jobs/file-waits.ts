/**
 * Queries on queued jobs that wait for their files. Dispatch does not read the rows of these jobs until the files are
 * on this machine.
 */
import { jobStates } from "@millrace/contract";
import type { Updateable } from "kysely";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";

type Wait = NonNullable<Updateable<Tables["queue"]>["waits_for"]>;

/** Reasons why the download of a job's files was postponed: `storage` if it failed, `disk` if there was no space. */
export type Postponed = Extract<Wait, "storage" | "disk">;
const postponed: readonly Postponed[] = ["storage", "disk"];

const beforeRunning = [...jobStates.waiting, ...jobStates.begun.filter((status) => status !== "RUNNING")];

/** Changes what a queued job waits for. Returns false if the job has left the queue or waits for something else now. */
async function change(
  db: Db,
  jobId: string,
  from: readonly Wait[],
  to: Pick<Updateable<Tables["queue"]>, "waits_for" | "not_before">,
) {
  const query = db.updateTable("queue").set(to).where("job_id", "=", jobId).where("waits_for", "in", from);
  return (await query.executeTakeFirst()).numUpdatedRows === 1n;
}

/** Marks a queued job as waiting for its files, because they are not on this machine. */
export const waitForFiles = (db: Db, jobId: string, now: string) =>
  change(db, jobId, [""], { waits_for: "files", not_before: now });

/** Marks a queued job as waiting only for slots, because its files are on this machine now. */
export const endFileWait = (db: Db, jobId: string) => change(db, jobId, ["files"], { waits_for: "", not_before: "" });

/** Plans the next try to download a job's files at `nextTry`. */
export const postponeFiles = (db: Db, jobId: string, why: Postponed, nextTry: string) =>
  change(db, jobId, ["files"], { waits_for: why, not_before: nextTry });

/** Marks a job as waiting for its files again, because the time of the next try has come. */
export const tryFilesAgain = (db: Db, jobId: string, now: string) =>
  change(db, jobId, postponed, { waits_for: "files", not_before: now });

/**
 * Lists the jobs of a cluster whose files are to be downloaded, ordered by priority and then by age. Jobs of the teams
 * in `without` are left out.
 */
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

/** Returns which of these jobs wait, or have begun but do not run their script yet. */
export async function notRunningYet(db: Db, ids: readonly string[]): Promise<string[]> {
  const query = db.selectFrom("jobs").select("id").where("id", "in", ids).where("status", "in", beforeRunning);
  return (await query.execute()).map(({ id }) => id);
}

/** Lists the jobs whose download failed or found no space, ordered by the time of the next try. */
export const postponedFiles = (db: Db, limit: number) =>
  db
    .selectFrom("queue")
    .select(["job_id", "not_before"])
    .where("waits_for", "in", postponed)
    .where("not_before", ">", "")
    .orderBy("not_before")
    .orderBy("job_id")
    .limit(limit)
    .execute();
