/** Clusters in the store. */
import type { Selectable } from "kysely";
import type { Db } from "./store.ts";
import type { Tables } from "./tables.ts";

export type ClusterRow = Selectable<Tables["clusters"]>;

export const activeClusters = (db: Db) =>
  db.selectFrom("clusters").selectAll().where("is_active", "=", 1).orderBy("id").execute();

/** The machine of the server: made at the first start, brought up to date at every other. */
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
