/** Finds the newest script that created each dataset, even if older scripts were repeated later. */
import { sql } from "kysely";
import type { Db } from "../../drivers/store.ts";
import { eachPart } from "../batches.ts";

/** The version of a dataset that shows which job must be repeated to rebuild the dataset. */
export interface NewestMade {
  readonly dataset_id: number;
  readonly id: number;
  readonly version: string;
  /** Job whose script created the version: the creating job, or the original job if the creating job repeats one. */
  readonly origin_job_id: string;
}

const live = (one: string) =>
  sql.raw(`${one}.status = 4 and ${one}.removed_at is null and ${one}.origin_job_id is not null`);
const numbers = (one: string) => sql.raw(`${one}.major desc, ${one}.minor desc, ${one}.patch desc`);

/**
 * Returns, by dataset id, the version whose job must be repeated to rebuild the dataset. Usually this is the latest
 * version that a job created. But if that job only repeats an original job, and another version has a newer original,
 * the version with the newest original is returned. Without this exception, a nightly schedule with an old script would
 * hide a new script of today. Datasets without a version from a job are left out.
 */
export async function newestMade(db: Db, datasetIds: readonly number[]): Promise<Map<number, NewestMade>> {
  const found = new Map<number, NewestMade>();
  await eachPart(datasetIds, async (part) => {
    const { rows } = await sql<NewestMade>`
      select chosen.dataset_id, chosen.id, chosen.version, chosen.origin_job_id from datasets
      join dataset_versions latest on latest.id = (
        select one.id from dataset_versions one
        where one.dataset_id = datasets.id and ${live("one")} order by ${numbers("one")} limit 1)
      join dataset_versions chosen on chosen.id = coalesce((
        select newer.id from dataset_versions newer
        where newer.dataset_id = datasets.id and ${live("newer")}
        and latest.origin_job_id <> coalesce(latest.job_id, '') and newer.origin_job_id > latest.origin_job_id
        order by newer.origin_job_id desc, ${numbers("newer")} limit 1), latest.id)
      where datasets.id in (${sql.join([...part])})`.execute(db);
    for (const row of rows) found.set(row.dataset_id, row);
  });
  return found;
}
