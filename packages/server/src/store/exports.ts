/** Exports in the store; their files lie in the data folder. */
import { type Selectable, sql } from "kysely";
import { parts } from "./parts.ts";
import type { Db } from "./store.ts";
import type { Tables } from "./tables.ts";

export type ExportRow = Selectable<Tables["exports"]>;

export const insertExport = (db: Db, row: ExportRow) => db.insertInto("exports").values(row).execute();

export const findExport = (db: Db, id: string): Promise<ExportRow | undefined> =>
  db.selectFrom("exports").selectAll().where("id", "=", id).executeTakeFirst();

/** The newest of a version that is complete or under way, and was begun after this time. */
export const findUsableExport = (db: Db, versionId: number, after: string): Promise<ExportRow | undefined> =>
  db
    .selectFrom("exports")
    .selectAll()
    .where("version_id", "=", versionId)
    .where("status", "in", ["pending", "running", "complete"])
    .where("created_at", ">", after)
    .orderBy("created_at", "desc")
    .limit(1)
    .executeTakeFirst();

/** Teams that have exports with files still to be written. */
export async function teamsWithOpenExports(db: Db): Promise<number[]> {
  const open = db.selectFrom("exports").select("team_id").distinct().where("status", "in", ["pending", "running"]);
  return (await open.orderBy("team_id").execute()).map(({ team_id }) => team_id);
}

/** The team's next one after this id; after the last comes the first again. */
export const nextOpenExport = (db: Db, teamId: number, after: string): Promise<ExportRow | undefined> =>
  db
    .selectFrom("exports")
    .selectAll()
    .where("team_id", "=", teamId)
    .where("status", "in", ["pending", "running"])
    .orderBy(sql`case when id > ${after} then 0 else 1 end`)
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();

/** One more file is there. Whoever counts from the same number is the only one that counts it. */
export async function countFile(db: Db, { id, files_done, num_files }: ExportRow): Promise<boolean> {
  const status = files_done + 1 >= num_files ? "complete" : "running";
  const { numUpdatedRows } = await db
    .updateTable("exports")
    .set({ files_done: files_done + 1, status })
    .where("id", "=", id)
    .where("files_done", "=", files_done)
    .where("status", "in", ["pending", "running"])
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

export const failExport = (db: Db, id: string, error: string) =>
  db
    .updateTable("exports")
    .set({ status: "failed", error })
    .where("id", "=", id)
    .where("status", "in", ["pending", "running"])
    .execute();

/** Exports of versions that are gone: nobody may fetch them any more. */
export async function markExportsRemovedOf(db: Db, versionIds: readonly number[]): Promise<void> {
  for (const part of parts(versionIds))
    await db.updateTable("exports").set({ status: "removed" }).where("version_id", "in", part).execute();
}

/** Returns the ids of those that are no longer there; their files are the caller's to remove. */
export const deleteExportsBefore = async (db: Db, before: string, limit: number): Promise<string[]> => {
  const old = db.selectFrom("exports").select("id").where("created_at", "<", before).orderBy("created_at").limit(limit);
  const rows = await db.deleteFrom("exports").where("id", "in", old).returning("id").execute();
  return rows.map(({ id }) => id);
};
