/** Exports in the store; their files lie in the data folder. */
import { type Insertable, type Selectable, sql } from "kysely";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";
import { parts } from "../batches.ts";
import { addUsage } from "../people/team-usage.ts";

export type ExportRow = Selectable<Tables["exports"]>;

export const insertExport = (db: Db, row: Insertable<Tables["exports"]>) =>
  db.insertInto("exports").values(row).execute();

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

/** One more file is there, of so many bytes. Whoever counts from the same number is the only one that counts it. */
export async function countFile(
  db: Db,
  { id, team_id, files_done, num_files }: ExportRow,
  size: number,
): Promise<boolean> {
  const status = files_done + 1 >= num_files ? "complete" : "running";
  const { numUpdatedRows } = await db
    .updateTable("exports")
    .set((eb) => ({ files_done: files_done + 1, status, bytes: eb("bytes", "+", size) }))
    .where("id", "=", id)
    .where("files_done", "=", files_done)
    .where("status", "in", ["pending", "running"])
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) return false;
  await addUsage(db, team_id, "exports", size);
  return true;
}

export async function failExport(db: Db, id: string, error: string): Promise<void> {
  const open = db.selectFrom("exports").selectAll().where("id", "=", id).where("status", "in", ["pending", "running"]);
  const failed = await open.execute();
  await giveBack(db, failed);
  for (const row of failed)
    await db.updateTable("exports").set({ status: "failed", bytes: 0, error }).where("id", "=", row.id).execute();
}

/** Their files go soon, and count no more. */
async function giveBack(db: Db, rows: readonly Pick<ExportRow, "team_id" | "bytes">[]): Promise<void> {
  const freed = new Map<number, number>();
  for (const { team_id, bytes } of rows) freed.set(team_id, (freed.get(team_id) ?? 0) + bytes);
  for (const [team, bytes] of freed) await addUsage(db, team, "exports", -bytes);
}

/** Exports of versions that are gone: nobody may fetch them any more. */
export async function markExportsRemovedOf(db: Db, versionIds: readonly number[]): Promise<void> {
  for (const part of parts(versionIds)) {
    await giveBack(db, await db.selectFrom("exports").selectAll().where("version_id", "in", part).execute());
    const of = db.updateTable("exports").where("version_id", "in", part);
    await of.set({ status: "removed", bytes: 0 }).execute();
  }
}

/** Returns the ids of those that are no longer there; their files are the caller's to remove. */
export const deleteExportsBefore = async (db: Db, before: string, limit: number): Promise<string[]> => {
  const old = db.selectFrom("exports").select("id").where("created_at", "<", before).orderBy("created_at").limit(limit);
  const rows = await db.deleteFrom("exports").where("id", "in", old).returning(["id", "team_id", "bytes"]).execute();
  await giveBack(db, rows);
  return rows.map(({ id }) => id);
};
