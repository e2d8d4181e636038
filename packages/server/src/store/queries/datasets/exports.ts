/** Queries on exports; their files are blobs. */
import { type Insertable, type Selectable, sql } from "kysely";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";
import { eachPart } from "../batches.ts";
import { addUsage } from "../people/team-usage.ts";

export type ExportRow = Selectable<Tables["exports"]>;

export const insertExport = (db: Db, row: Insertable<Tables["exports"]>) =>
  db.insertInto("exports").values(row).execute();

export const findExport = (db: Db, id: string): Promise<ExportRow | undefined> =>
  db.selectFrom("exports").selectAll().where("id", "=", id).executeTakeFirst();

/** Finds the version's newest export that is complete or in progress and was created after this time. */
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

/** Returns the teams that have exports in progress. */
export async function teamsWithOpenExports(db: Db): Promise<number[]> {
  const open = db.selectFrom("exports").select("team_id").distinct().where("status", "in", ["pending", "running"]);
  return (await open.orderBy("team_id").execute()).map(({ team_id }) => team_id);
}

/** Returns the team's next export in progress after this id, starting over after the last one. */
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

/**
 * Counts one more written file and its size. Returns false if someone else already counted this file, or if the export
 * has ended.
 */
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

/** Subtracts the exports' bytes from their teams' usage; the files are deleted later. */
async function giveBack(db: Db, rows: readonly Pick<ExportRow, "team_id" | "bytes">[]): Promise<void> {
  const freed = new Map<number, number>();
  for (const { team_id, bytes } of rows) freed.set(team_id, (freed.get(team_id) ?? 0) + bytes);
  for (const [team, bytes] of freed) await addUsage(db, team, "exports", -bytes);
}

/** Marks the exports of removed versions as removed, so that nobody can download them. */
export const markExportsRemovedOf = (db: Db, versionIds: readonly number[]): Promise<void> =>
  eachPart(versionIds, async (part) => {
    await giveBack(db, await db.selectFrom("exports").selectAll().where("version_id", "in", part).execute());
    const of = db.updateTable("exports").where("version_id", "in", part);
    await of.set({ status: "removed", bytes: 0 }).execute();
  });

/** Deletes old exports and returns their ids; the caller must delete their files. */
export const deleteExportsBefore = async (db: Db, before: string, limit: number): Promise<string[]> => {
  const old = db.selectFrom("exports").select("id").where("created_at", "<", before).orderBy("created_at").limit(limit);
  const rows = await db.deleteFrom("exports").where("id", "in", old).returning(["id", "team_id", "bytes"]).execute();
  await giveBack(db, rows);
  return rows.map(({ id }) => id);
};
