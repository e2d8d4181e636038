/** Queries on the disk usage of teams in bytes. A team without a row uses nothing. */
import { sql } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import type { Db } from "../../drivers/store.ts";

export type UsageKind = "datasets" | "uploads" | "logs" | "texts" | "exports" | "environments";
export type UsageRow = { readonly team_id: number } & Readonly<Record<UsageKind, number>>;

const nothing = { datasets: 0, uploads: 0, logs: 0, texts: 0, exports: 0, environments: 0 };
/**
 * Columns that an insert sets. The other columns have defaults. They are not named here, because a migration may insert
 * rows before those columns exist.
 */
const newRow = { datasets: 0, uploads: 0, logs: 0 };

const ofTeam = prepared<{ teamId: number }>()((db, value) =>
  db.selectFrom("team_usage").selectAll().where("team_id", "=", value("teamId")),
);
const foundOrNothing = async (db: Db, teamId: number) =>
  (await ofTeam(db, { teamId })).rows[0] ?? { ...nothing, team_id: teamId };
export const usageOf = async (db: Db, teamId: number): Promise<UsageRow> => {
  const row = await foundOrNothing(db, teamId);
  return { ...row, datasets: row.datasets ?? 0 };
};

export const allUsage = async (db: Db): Promise<UsageRow[]> =>
  (await db.selectFrom("team_usage").selectAll().execute()).map((row) => ({ ...row, datasets: row.datasets ?? 0 }));

/**
 * Sets the measured size of a team's datasets. Returns the previous size, or the new one if none was measured before.
 */
export async function setDatasetBytes(db: Db, teamId: number, bytes: number): Promise<number> {
  const { datasets } = await foundOrNothing(db, teamId);
  if (datasets === bytes) return bytes;
  await db
    .insertInto("team_usage")
    .values({ ...newRow, team_id: teamId, datasets: bytes })
    .onConflict((c) => c.column("team_id").doUpdateSet({ datasets: bytes }))
    .execute();
  return datasets ?? bytes;
}

/** Sets a team's usage of this kind to the measured number of bytes. */
export async function setUsage(db: Db, teamId: number, kind: "environments", bytes: number): Promise<void> {
  if ((await foundOrNothing(db, teamId))[kind] === bytes) return;
  await db
    .insertInto("team_usage")
    .values({ ...newRow, team_id: teamId, [kind]: bytes })
    .onConflict((c) => c.column("team_id").doUpdateSet({ [kind]: bytes }))
    .execute();
}

/** Adds bytes to a team's usage of this kind; a negative number subtracts, down to 0. */
export async function addUsage(
  db: Db,
  teamId: number,
  kind: Exclude<UsageKind, "datasets" | "environments">,
  bytes: number,
): Promise<void> {
  if (bytes === 0) return;
  await db
    .insertInto("team_usage")
    .values({ ...newRow, team_id: teamId, [kind]: Math.max(0, bytes) })
    .onConflict((c) =>
      c.column("team_id").doUpdateSet({
        [kind]: sql`case when team_usage.${sql.ref(kind)} + ${bytes} < 0 then 0 else team_usage.${sql.ref(kind)} + ${bytes} end`,
      }),
    )
    .execute();
}
