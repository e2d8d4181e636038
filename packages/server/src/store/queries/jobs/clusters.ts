/** Queries on clusters. */
import { localEngine } from "@millrace/contract";
import type { Insertable, Selectable, Updateable } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";

export type ClusterRow = Selectable<Tables["clusters"]>;

const active = prepared<object>()((db) =>
  db.selectFrom("clusters").selectAll().where("is_active", "=", 1).orderBy("id"),
);
export const activeClusters = async (db: Db): Promise<ClusterRow[]> => (await active(db, {})).rows;

/** Lists all clusters, also those that were removed. */
export const allClusters = (db: Db): Promise<ClusterRow[]> =>
  db.selectFrom("clusters").selectAll().orderBy("id").execute();

const byId = prepared<{ id: number }>()((db, value) =>
  db.selectFrom("clusters").selectAll().where("id", "=", value("id")),
);
export const getCluster = async (db: Db, id: number): Promise<ClusterRow | undefined> =>
  (await byId(db, { id })).rows[0];

const forTeam = prepared<{ teamId: number }>()((db, value) =>
  db
    .selectFrom("clusters")
    .selectAll("clusters")
    .select((eb) =>
      eb.selectFrom("teams").select("default_cluster_id").where("teams.id", "=", value("teamId")).as("default_of_team"),
    )
    .where("is_active", "=", 1)
    .where((eb) =>
      eb.or([
        eb("is_shared", "=", 1),
        eb.exists(
          eb
            .selectFrom("cluster_teams")
            .select("team_id")
            .whereRef("cluster_id", "=", "clusters.id")
            .where("team_id", "=", value("teamId")),
        ),
      ]),
    )
    .orderBy("id"),
);
/** Lists the clusters that a team may use. `is_default` is 1 for the cluster of jobs of the team that name none. */
export async function clustersOfTeam(db: Db, teamId: number): Promise<ClusterRow[]> {
  const { rows } = await forTeam(db, { teamId });
  const own = rows.find(({ id, default_of_team }) => id === default_of_team);
  return rows.map(({ default_of_team: _, ...row }) => ({
    ...row,
    is_default: own === undefined ? row.is_default : Number(row.id === own.id),
  }));
}

const nameOf = prepared<{ id: number }>()((db, value) =>
  db.selectFrom("clusters").select("name").where("id", "=", value("id")),
);
export const clusterNameOf = async (db: Db, id: number): Promise<string> =>
  (await nameOf(db, { id })).rows[0]?.name ?? "";

/**
 * Creates the cluster of the server's own machine at the first start of the server, and updates it at every later
 * start.
 */
export async function upsertLocalCluster(
  db: Db,
  maxWorkers: number,
  isolation: ClusterRow["isolation"],
): Promise<ClusterRow> {
  return db
    .insertInto("clusters")
    .values({ name: "local", engine: localEngine, isolation, max_workers: maxWorkers, is_active: 1, is_default: 1 })
    .onConflict((c) => c.column("name").doUpdateSet({ max_workers: maxWorkers, isolation, is_active: 1 }))
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Adds a cluster. Returns undefined if the name is taken. */
export async function insertCluster(db: Db, row: Insertable<Tables["clusters"]>): Promise<ClusterRow | undefined> {
  return db
    .insertInto("clusters")
    .values(row)
    .onConflict((c) => c.column("name").doNothing())
    .returningAll()
    .executeTakeFirst();
}

/** The name of a removed cluster. Another cluster may have it now. */
export const nameOfRemoved = (id: number, name: string) => `${name} (removed ${id})`;
/** The name that a cluster had before it was removed. */
export const formerName = (name: string) => name.replace(/ \(removed \d+\)$/, "");

export const updateCluster = (db: Db, id: number, changes: Updateable<Tables["clusters"]>) =>
  db.updateTable("clusters").set(changes).where("id", "=", id).execute();

/** Makes a cluster the default of all teams that have not chosen another. */
export const setDefaultCluster = (db: Db, id: number) =>
  db
    .updateTable("clusters")
    .set((eb) => ({ is_default: eb.case().when("id", "=", id).then(1).else(0).end() }))
    .execute();

/** Lists the teams that may use each cluster that is not for all teams, and the teams that chose a default. */
export const clusterTeams = (db: Db) =>
  db
    .selectFrom("cluster_teams")
    .innerJoin("teams", "teams.id", "cluster_teams.team_id")
    .select(["cluster_id", "team_id", "name"])
    .orderBy("name")
    .execute();
/** Returns the ids of the teams that may use a cluster. */
export async function teamsOfCluster(db: Db, id: number): Promise<"all" | ReadonlySet<number>> {
  const row = await db.selectFrom("clusters").select("is_shared").where("id", "=", id).executeTakeFirst();
  if (row?.is_shared === 1) return "all";
  const teams = await db.selectFrom("cluster_teams").select("team_id").where("cluster_id", "=", id).execute();
  return new Set(teams.map(({ team_id }) => team_id));
}

export const teamDefaults = (db: Db) =>
  db
    .selectFrom("teams")
    .select(["id", "name", "default_cluster_id"])
    .where("default_cluster_id", "is not", null)
    .orderBy("name")
    .execute();

/** Sets the teams that may use a cluster. */
export async function setClusterTeams(db: Db, clusterId: number, teams: readonly number[]): Promise<void> {
  await db.deleteFrom("cluster_teams").where("cluster_id", "=", clusterId).execute();
  for (const team_id of teams)
    await db.insertInto("cluster_teams").values({ cluster_id: clusterId, team_id }).execute();
}

/** Sets the teams whose jobs run on a cluster if they name none. */
export async function setDefaultOf(db: Db, clusterId: number, teams: readonly number[]): Promise<void> {
  await db.updateTable("teams").set({ default_cluster_id: null }).where("default_cluster_id", "=", clusterId).execute();
  for (const id of teams)
    await db.updateTable("teams").set({ default_cluster_id: clusterId }).where("id", "=", id).execute();
}
