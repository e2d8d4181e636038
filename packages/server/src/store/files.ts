/** Uploaded files in the store; their bytes lie in the data folder. */
import type { Insertable, Selectable } from "kysely";
import type { Db } from "./store.ts";
import type { Tables } from "./tables.ts";

export type FileRow = Selectable<Tables["files"]>;

export async function insertFile(db: Db, row: Insertable<Tables["files"]>): Promise<number> {
  return (await db.insertInto("files").values(row).returning("id").executeTakeFirstOrThrow()).id;
}

export const filesByIds = (db: Db, ids: readonly number[]) =>
  db.selectFrom("files").selectAll().where("id", "in", ids).execute();

export const markAttached = (db: Db, ids: readonly number[], now: string) =>
  db.updateTable("files").set({ attached_at: now }).where("id", "in", ids).where("attached_at", "is", null).execute();

/** Removes rows of files that no job took along; their bytes are the caller's to remove. */
export const deleteUnusedFiles = (db: Db, before: string) =>
  db.deleteFrom("files").where("attached_at", "is", null).where("created_at", "<", before).returning("blob").execute();

/** Whether these bytes belong to anybody. */
export const hasFile = async (db: Db, blob: string): Promise<boolean> =>
  (await db.selectFrom("files").select("id").where("blob", "=", blob).executeTakeFirst()) !== undefined;
