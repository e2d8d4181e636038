/** Exports in the store; their files lie in the data folder. */
import type { Selectable } from "kysely";
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

/** Exports with files still to be written, the oldest first. */
export const openExports = (db: Db, limit: number): Promise<ExportRow[]> =>
  db
    .selectFrom("exports")
    .selectAll()
    .where("status", "in", ["pending", "running"])
    .orderBy("created_at")
    .limit(limit)
    .execute();

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
export const markExportsRemoved = (db: Db, versionIds: readonly number[]) =>
  db.updateTable("exports").set({ status: "removed" }).where("version_id", "in", versionIds).execute();

/** Returns the ids of those that are no longer there; their files are the caller's to remove. */
export const deleteExportsBefore = async (db: Db, before: string, limit: number): Promise<string[]> => {
  const old = db.selectFrom("exports").select("id").where("created_at", "<", before).orderBy("created_at").limit(limit);
  const rows = await db.deleteFrom("exports").where("id", "in", old).returning("id").execute();
  return rows.map(({ id }) => id);
};
