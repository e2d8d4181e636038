/** What every store needs before it is of use: a user, a team, the local cluster. */
import { type ClusterRow, upsertLocalCluster } from "../store/clusters.ts";
import type { Store } from "../store/store.ts";
import { findTeam, findUser, insertMembership, insertTeam, insertUser } from "../store/users.ts";
import { iso } from "./clock.ts";

/** True on the very first start. */
export async function prepareStore(store: Store, now: number): Promise<boolean> {
  if (await findUser(store.db, "admin")) return false;
  await store.write(async (db) => {
    await insertUser(db, "admin", iso(now));
    await insertTeam(db, "main", iso(now));
    const user = await findUser(db, "admin");
    const team = await findTeam(db, "main");
    if (user && team) await insertMembership(db, team.id, user.id, "admin");
  });
  return true;
}

export const prepareLocalCluster = (store: Store, maxWorkers: number, isolation: ClusterRow["isolation"]) =>
  store.write((db) => upsertLocalCluster(db, maxWorkers, isolation));
