/** Queries on clusters. */
import { type Selectable, sql } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";

export type ClusterRow = Selectable<Tables["clusters"]>;

const active = prepared<object>()((db) =>
  db.selectFrom("clusters").selectAll().where("is_active", "=", 1).orderBy("id"),
);
export const activeClusters = async (db: Db): Promise<ClusterRow[]> => (await active(db, {})).rows;

export const allClusters = (db: Db): Promise<ClusterRow[]> =>
  db.selectFrom("clusters").selectAll().orderBy("id").execute();

export const getCluster = (db: Db, id: number): Promise<ClusterRow | undefined> =>
  db.selectFrom("clusters").selectAll().where("id", "=", id).executeTakeFirst();

const nameOf = prepared<{ id: number }>()((db, value) =>
  db.selectFrom("clusters").select("name").where("id", "=", value("id")),
);
export const clusterNameOf = async (db: Db, id: number): Promise<string> =>
  (await nameOf(db, { id })).rows[0]?.name ?? "";

/** SQL column with the kind of engine that runs a job, for queries on `jobs`. */
export const engineOfJob = sql<string>`(select engine from clusters where clusters.id = jobs.cluster_id)`.as("engine");

/** Returns the kind of engine that runs a job; undefined if there is no such job. */
export const engineKindOf = async (db: Db, jobId: string): Promise<string | undefined> =>
  (await db.selectFrom("jobs").select(engineOfJob).where("id", "=", jobId).executeTakeFirst())?.engine;

/**
 * Creates the cluster of the server's own machine at the first start of the server, and updates it at every later
 * start.
 */
export async function upsertLocalCluster(
  db: Db,
  maxWorkers: number,
  isolation: ClusterRow["isolation"],
): Promise<void> {
  await db
    .insertInto("clusters")
    .values({ name: "local", engine: "local", isolation, max_workers: maxWorkers, is_active: 1, is_default: 1 })
    .onConflict((c) => c.column("name").doUpdateSet({ max_workers: maxWorkers, isolation, is_active: 1 }))
    .execute();
}
