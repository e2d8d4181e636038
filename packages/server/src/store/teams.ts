/** Teams: their quotas. */
import { prepared } from "./prepared.ts";
import { type Db, isPostgres } from "./store.ts";

const quotas = prepared<{ teamId: number }>()((db, value) =>
  db.selectFrom("teams").select(["max_running", "max_queued"]).where("id", "=", value("teamId")),
);
export const quotasOf = async (db: Db, teamId: number) => (await quotas(db, { teamId })).rows[0];

const withQuota = prepared<object>()((db) =>
  db.selectFrom("teams").select(["id", "max_running"]).where("max_running", "is not", null),
);
/** Teams with a quota of their own. */
export const runningQuotas = async (db: Db) => (await withQuota(db, {})).rows;

export const teamNames = (db: Db) => db.selectFrom("teams").select(["id", "name"]).execute();

/** Until the end of the transaction, one writer at a time for this team. SQLite has no other kind. */
export async function lockTeam(db: Db, teamId: number): Promise<void> {
  if (isPostgres(db)) await db.selectFrom("teams").select("id").where("id", "=", teamId).forUpdate().execute();
}
