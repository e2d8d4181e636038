/** Deletes long texts and variables of jobs that ended long ago and will not be repeated. */
import { answerLimits } from "@millrace/contract";
import { sql } from "kysely";
import type { Db } from "../../drivers/store.ts";
import { eachPart, parts } from "../batches.ts";
import { addUsage } from "../people/team-usage.ts";
import { removeJobTexts } from "./job-texts.ts";
import { lengthOfVariables } from "./jobs.ts";

/**
 * Number of jobs whose variables are deleted before other work runs. It is small, because the variables of one job may
 * have a third of a megabyte.
 */
const atOnce = 20;

/**
 * Selects jobs with long texts or variables. It must be the same as the condition of the partial index on these jobs.
 */
const hasLongTexts = sql.raw<boolean>(`(cut <> '' or length(environment) > ${answerLimits.listed})`);

/**
 * Decides for up to `limit` old jobs whether their texts are still needed, and deletes the texts that are not needed.
 * Each job is checked only once. Jobs that created or reused versions, and jobs that a pipeline repeats, keep their
 * texts, because a later pipeline may repeat these jobs. A task keeps its texts until the task ends. Returns how many
 * jobs were checked.
 */
export async function settleOldTexts(db: Db, before: string, now: string, limit: number): Promise<number> {
  const jobs = await db
    .selectFrom("jobs")
    .select("id")
    .where(hasLongTexts)
    .where("texts_settled_at", "is", null)
    .where("finished_at", "is not", null)
    .where("finished_at", "<", before)
    .orderBy("finished_at")
    .orderBy("id")
    .limit(limit)
    .execute();
  for (const ids of parts(jobs.map(({ id }) => id))) {
    const needed = await neededAgain(db, ids);
    const free = ids.filter((id) => !needed.has(id));
    await removeJobTexts(db, free);
    await removeVariables(db, free);
    await db.updateTable("jobs").set({ texts_settled_at: now }).where("id", "in", ids).execute();
  }
  return jobs.length;
}

/**
 * Deletes the variables of these jobs, and adds `environment` to their `cut`, so that no job is repeated without the
 * variables that it needs.
 */
async function removeVariables(db: Db, ids: readonly string[]): Promise<void> {
  const columns = ["id", "team_id", "cut", lengthOfVariables.as("bytes")] as const;
  const jobs = ids.length === 0 ? [] : await db.selectFrom("jobs").select(columns).where("id", "in", ids).execute();
  const long = jobs.filter(({ bytes }) => bytes > 0);
  const remove = async (part: readonly (typeof long)[number][]) => {
    for (const { id, team_id, cut, bytes } of part) {
      const gone = JSON.stringify([...(cut === "" ? [] : (JSON.parse(cut) as string[])), "environment"]);
      await db.updateTable("jobs").set({ environment: "", cut: gone }).where("id", "=", id).execute();
      await addUsage(db, team_id, "texts", -bytes);
    }
  };
  await eachPart(long, remove, atOnce);
}

/** Returns which of these jobs created or reused a version, or are repeated by a pipeline. */
async function neededAgain(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const tables = ["dataset_versions", "dataset_version_jobs", "pipeline_runs"] as const;
  const rows = await db
    .selectFrom("jobs")
    .select("id")
    .where("id", "in", ids)
    // Looks for one row each: a job may have thousands of versions.
    .where((eb) =>
      eb.or(
        tables.map((table) =>
          eb.exists(eb.selectFrom(table).select(sql`1`.as("one")).whereRef(`${table}.job_id`, "=", "jobs.id")),
        ),
      ),
    )
    .execute();
  return new Set(rows.map(({ id }) => id));
}
