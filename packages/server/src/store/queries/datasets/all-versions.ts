/**
 * Reads and changes all versions of a dataset, which may be many: in batches, with a pause for the event loop between
 * them.
 */
import { versionStatus } from "@millrace/contract";
import { sql } from "kysely";
import type { Db } from "../../drivers/store.ts";
import { nextTurn } from "../batches.ts";
import { type DatasetVersionRow, newestFirst } from "./dataset-versions.ts";

/** Largest number of versions that one statement reads or changes. */
const mostAtOnce = 500;

type Numbers = Pick<DatasetVersionRow, "major" | "minor" | "patch">;
export type ShortVersionRow = Pick<DatasetVersionRow, "id" | "uuid" | "version" | "rows_table">;

/** Lists all live versions of a dataset, oldest first. */
export async function liveVersionsOf(db: Db, datasetId: number): Promise<ShortVersionRow[]> {
  const found: ShortVersionRow[] = [];
  await eachBatch(db, datasetId, "live", async (batch) => void found.push(...batch));
  return found.reverse();
}

/**
 * Changes the names of the tables that hold the rows of a dataset's versions. Removed versions get new names, too: a
 * restored warehouse may bring them back.
 */
export const renameRowsTables = (db: Db, datasetId: number, tableOf: (version: string) => string): Promise<void> =>
  eachBatch(db, datasetId, "stored", (batch) => {
    // PostgreSQL treats untyped values as text.
    const rows = batch.map(({ id, version }) => sql`(cast(${id} as integer), cast(${tableOf(version)} as text))`);
    const update = sql`with named (id, rows_table) as (values ${sql.join(rows)})
      update dataset_versions set rows_table = named.rows_table from named where dataset_versions.id = named.id`;
    return update.execute(db);
  });

/** Runs `work` on the live versions of a dataset, or on those with rows in the team's warehouse, newest first. */
async function eachBatch(
  db: Db,
  datasetId: number,
  kind: "live" | "stored",
  work: (batch: readonly ShortVersionRow[]) => Promise<unknown>,
): Promise<void> {
  for (let last: Numbers | undefined; ; ) {
    const batch = await olderThan(last, db, datasetId, kind);
    if (batch.length > 0) await work(batch);
    if (batch.length < mostAtOnce) return;
    last = batch.at(-1);
    await nextTurn();
  }
}

function olderThan(last: Numbers | undefined, db: Db, datasetId: number, kind: "live" | "stored") {
  const all = newestFirst(db.selectFrom("dataset_versions").where("dataset_id", "=", datasetId))
    .select(["id", "uuid", "version", "rows_table", "major", "minor", "patch"])
    .limit(mostAtOnce);
  const wanted =
    kind === "live" ? all.where("status", "=", versionStatus.complete) : all.where("rows_table", "is not", null);
  if (!last) return wanted.execute();
  return wanted.where(sql<boolean>`(major, minor, patch) < (${last.major}, ${last.minor}, ${last.patch})`).execute();
}
