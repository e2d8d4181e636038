/** Creates the rows that every store needs: the user `admin`, the team `main` and the local cluster. */

import type { Store } from "../../store/drivers/store.ts";
import { type ClusterRow, upsertLocalCluster } from "../../store/queries/jobs/clusters.ts";
import { newestJobId } from "../../store/queries/jobs/jobs.ts";
import { insertMembership } from "../../store/queries/people/memberships.ts";
import { anybodySignedIn } from "../../store/queries/people/sessions.ts";
import { insertTeam } from "../../store/queries/people/teams.ts";
import { findUser, insertUser } from "../../store/queries/people/users.ts";
import { iso } from "../time/clock.ts";
import { continueAfter } from "./job-ids.ts";

export async function prepareStore(store: Store, now: number): Promise<void> {
  if (await findUser(store.db, "admin")) return;
  await store.write(async (db) => {
    const created_at = iso(now);
    const userId = await insertUser(db, { username: "admin", first_name: "", last_name: "", is_admin: 1, created_at });
    const teamId = await insertTeam(db, { name: "main", created_at });
    if (userId !== undefined && teamId !== undefined) await insertMembership(db, teamId, userId, "admin");
  });
}

/** Makes the ids of new jobs sort after all job ids in the store. */
export async function continueJobIds({ db }: Store): Promise<void> {
  const newest = await newestJobId(db);
  if (newest !== undefined) continueAfter(newest);
}

/** Returns true if nobody has ever signed in, by browser or token. The server then prints how to sign in. */
export const isUntouched = async ({ db }: Store): Promise<boolean> => !(await anybodySignedIn(db));

export const prepareLocalCluster = (store: Store, maxWorkers: number, isolation: ClusterRow["isolation"]) =>
  store.write((db) => upsertLocalCluster(db, maxWorkers, isolation));
