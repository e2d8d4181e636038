/** Uploaded files in the store; their bytes lie in the data folder. */
import type { Insertable, Selectable } from "kysely";
import type { Db } from "./store.ts";
import type { Tables } from "./tables.ts";
import { addUsage } from "./team-usage.ts";

export type FileRow = Selectable<Tables["files"]>;

/** As file systems give space: in blocks. */
export const uploadBytes = (size: number) => Math.ceil(size / 4096) * 4096;

export async function insertFile(db: Db, row: Insertable<Tables["files"]>): Promise<number> {
  await addUsage(db, row.team_id, "uploads", uploadBytes(row.size));
  return (await db.insertInto("files").values(row).returning("id").executeTakeFirstOrThrow()).id;
}

export const filesByIds = (db: Db, ids: readonly number[]) =>
  db.selectFrom("files").selectAll().where("id", "in", ids).execute();

export const markAttached = (db: Db, ids: readonly number[], now: string) =>
  db.updateTable("files").set({ attached_at: now }).where("id", "in", ids).where("attached_at", "is", null).execute();

/** Removes rows of files that no job took along; their bytes are the caller's to remove. */
export async function deleteUnusedFiles(db: Db, before: string): Promise<{ blob: string }[]> {
  const removed = await db
    .deleteFrom("files")
    .where("attached_at", "is", null)
    .where("created_at", "<", before)
    .returning(["blob", "team_id", "size"])
    .execute();
  for (const { team_id, size } of removed) await addUsage(db, team_id, "uploads", -uploadBytes(size));
  return removed.map(({ blob }) => ({ blob }));
}

/** Whether these bytes belong to anybody. */
export const hasFile = async (db: Db, blob: string): Promise<boolean> =>
  (await db.selectFrom("files").select("id").where("blob", "=", blob).executeTakeFirst()) !== undefined;
