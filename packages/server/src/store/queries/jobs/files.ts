/** Queries on uploaded files; their bytes are blobs. */
import type { Insertable, Selectable } from "kysely";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";
import { addUsage } from "../people/team-usage.ts";

export type FileRow = Selectable<Tables["files"]>;

/** Returns the bytes that an upload adds to its team's usage: its size, rounded up to file system blocks of 4 KiB. */
export const uploadBytes = (size: number) => Math.ceil(size / 4096) * 4096;

export async function insertFile(db: Db, row: Insertable<Tables["files"]>): Promise<number> {
  await addUsage(db, row.team_id, "uploads", uploadBytes(row.size));
  return (await db.insertInto("files").values(row).returning("id").executeTakeFirstOrThrow()).id;
}

export const filesByIds = (db: Db, ids: readonly number[]) =>
  db.selectFrom("files").selectAll().where("id", "in", ids).execute();

export const markAttached = (db: Db, ids: readonly number[], now: string) =>
  db.updateTable("files").set({ attached_at: now }).where("id", "in", ids).where("attached_at", "is", null).execute();

/**
 * Deletes the rows of at most `limit` old files that no job uses. Returns their blobs, which the caller must delete.
 */
export async function deleteUnusedFiles(db: Db, before: string, limit: number): Promise<{ blob: string }[]> {
  const unused = db
    .selectFrom("files")
    .select("id")
    .where("attached_at", "is", null)
    .where("created_at", "<", before)
    .orderBy("created_at")
    .limit(limit);
  const removed = await db
    .deleteFrom("files")
    .where("id", "in", unused)
    // The condition is repeated because a job may attach the file between the two statements.
    .where("attached_at", "is", null)
    .returning(["blob", "team_id", "size"])
    .execute();
  const bytes = new Map<number, number>();
  for (const { team_id, size } of removed) bytes.set(team_id, (bytes.get(team_id) ?? 0) + uploadBytes(size));
  for (const [team, freed] of bytes) await addUsage(db, team, "uploads", -freed);
  return removed.map(({ blob }) => ({ blob }));
}

/** Whether any file row refers to this blob. */
export const hasFile = async (db: Db, blob: string): Promise<boolean> =>
  (await db.selectFrom("files").select("id").where("blob", "=", blob).executeTakeFirst()) !== undefined;
