/** Versions of datasets in the store: what each was made from, and by which job. */
import type { Selectable } from "kysely";
import { prepared } from "./prepared.ts";
import type { Db } from "./store.ts";
import type { Tables } from "./tables.ts";

export type DatasetVersionRow = Selectable<Tables["dataset_versions"]>;

/** Makes the version, or brings it up to date; a number that was given anew, after a restored backup, is the new one. Returns its id. */
export async function putVersion(db: Db, row: Omit<DatasetVersionRow, "id">): Promise<number> {
  const { dataset_id, team_id, version, major, minor, patch, ...rest } = row;
  const { id } = await db
    .insertInto("dataset_versions")
    .values(row)
    .onConflict((c) => c.columns(["dataset_id", "major", "minor", "patch"]).doUpdateSet(rest))
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

const byUuid = prepared<{ teamId: number; uuid: string }>()((db, value) =>
  db
    .selectFrom("dataset_versions")
    .select("id")
    .where("team_id", "=", value("teamId"))
    .where("uuid", "=", value("uuid")),
);
export const versionIdOf = async (db: Db, teamId: number, uuid: string): Promise<number | undefined> =>
  (await byUuid(db, { teamId, uuid })).rows[0]?.id;

/** What a version needs: another version, or what lies at a storage URI. */
export type Need = { readonly needs_version_id: number } | { readonly needs_uri: string };

/** All that the version was made from, in the place of what was known before. */
export async function putDependencies(db: Db, versionId: number, needs: readonly Need[]): Promise<void> {
  await db.deleteFrom("dataset_dependencies").where("version_id", "=", versionId).execute();
  for (const need of needs) {
    await db
      .insertInto("dataset_dependencies")
      .values({ version_id: versionId, needs_version_id: null, needs_uri: null, ...need })
      .onConflict((c) => c.doNothing())
      .execute();
  }
}

/** Who made a version stays its maker, also where a later run of the same job finds it made. */
export const linkJob = (db: Db, jobId: string, versionId: number, isCreator: boolean) =>
  db
    .insertInto("dataset_version_jobs")
    .values({ job_id: jobId, version_id: versionId, is_creator: isCreator ? 1 : 0 })
    .onConflict((c) => c.doNothing())
    .execute();

/** Their numbers are never given again, so their rows stay. */
export async function markRemoved(db: Db, teamId: number, uuids: readonly string[], now: string): Promise<void> {
  for (let at = 0; at < uuids.length; at += 500) {
    await db
      .updateTable("dataset_versions")
      .set({ status: 8, removed_at: now })
      .where("team_id", "=", teamId)
      .where("uuid", "in", uuids.slice(at, at + 500))
      .where("removed_at", "is", null)
      .execute();
  }
}

/** Versions whose rows lie in the team's store. */
export const liveUuids = async (db: Db, teamId: number): Promise<string[]> =>
  (
    await db
      .selectFrom("dataset_versions")
      .select("uuid")
      .where("team_id", "=", teamId)
      .where("rows_table", "is not", null)
      .where("removed_at", "is", null)
      .execute()
  ).map(({ uuid }) => uuid);

export async function markRestored(db: Db, teamId: number, uuids: readonly string[]): Promise<void> {
  for (let at = 0; at < uuids.length; at += 500) {
    await db
      .updateTable("dataset_versions")
      .set({ status: 4, removed_at: null })
      .where("team_id", "=", teamId)
      .where("uuid", "in", uuids.slice(at, at + 500))
      .execute();
  }
}
