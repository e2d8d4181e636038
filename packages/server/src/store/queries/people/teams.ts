/** Queries on teams. */
import type { Insertable, Selectable, Updateable } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import { type Db, isPostgres } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";

export const findTeam = (db: Db, name: string) =>
  db.selectFrom("teams").selectAll().where("name", "=", name).executeTakeFirst();

const nameOf = prepared<{ id: number }>()((db, value) =>
  db.selectFrom("teams").select("name").where("id", "=", value("id")),
);
export const teamNameOf = async (db: Db, id: number): Promise<string> => (await nameOf(db, { id })).rows[0]?.name ?? "";

export const libraryVersionOf = async (db: Db, id: number): Promise<string | null> =>
  (await db.selectFrom("teams").select("library_version").where("id", "=", id).executeTakeFirst())?.library_version ??
  null;

const quotaColumns = [
  "max_running",
  "max_queued",
  "max_tasks",
  "max_schedules",
  "max_dataset_bytes",
  "max_upload_bytes",
  "max_log_bytes",
  "max_text_bytes",
  "max_export_bytes",
  "max_environment_bytes",
] as const;
/** Quotas of a team; null means the server's default. */
export type TeamQuotas = Pick<Selectable<Tables["teams"]>, (typeof quotaColumns)[number]>;

/** Default time limit and retries for jobs that do not set their own. */
const retryColumns = ["job_timeout", "job_retries", "job_retry_delay"] as const;
export type TeamRetries = Pick<Selectable<Tables["teams"]>, (typeof retryColumns)[number]>;

const retries = prepared<{ teamId: number }>()((db, value) =>
  db
    .selectFrom("teams")
    .select(["name", ...retryColumns])
    .where("id", "=", value("teamId")),
);
/** Returns the name of a team, and its defaults for jobs that do not set their own. */
export const teamRetriesOf = async (db: Db, teamId: number) => (await retries(db, { teamId })).rows[0];

type ListedTeam = Pick<
  Selectable<Tables["teams"]>,
  "id" | "name" | keyof TeamQuotas | keyof TeamRetries | "library_version" | "created_at"
> & {
  members: number;
};

/** Lists the teams with these ids, or all teams, ordered by name, each with its number of members. */
export function listTeams(db: Db, ids?: readonly number[]): Promise<ListedTeam[]> {
  const query = db
    .selectFrom("teams")
    .leftJoin("memberships", "memberships.team_id", "teams.id")
    .select(["teams.id", "name", ...quotaColumns, ...retryColumns, "library_version", "created_at"])
    .select((eb) => eb.fn.count<number>("memberships.user_id").as("members"))
    .groupBy("teams.id")
    .orderBy("name");
  return (ids === undefined ? query : query.where("teams.id", "in", ids)).execute();
}

/** Inserts a team and returns its id; undefined if the name is taken. */
export async function insertTeam(db: Db, row: Insertable<Tables["teams"]>): Promise<number | undefined> {
  const inserted = await db
    .insertInto("teams")
    .values(row)
    .onConflict((c) => c.column("name").doNothing())
    .returning("id")
    .executeTakeFirst();
  return inserted?.id;
}

export const updateTeam = (db: Db, id: number, changes: Updateable<Tables["teams"]>) =>
  db.updateTable("teams").set(changes).where("id", "=", id).execute();

export const namesOfTeams = (db: Db, ids: readonly number[]) =>
  db.selectFrom("teams").select(["id", "name"]).where("id", "in", ids).execute();

const quotas = prepared<{ teamId: number }>()((db, value) =>
  db.selectFrom("teams").select(quotaColumns).where("id", "=", value("teamId")),
);
export const quotasOf = async (db: Db, teamId: number) => (await quotas(db, { teamId })).rows[0];

const withQuota = prepared<object>()((db) =>
  db.selectFrom("teams").select(["id", "max_running"]).where("max_running", "is not", null),
);
/** Lists the teams that have their own quota of running jobs. */
export const runningQuotas = async (db: Db) => (await withQuota(db, {})).rows;

/** Lists the quotas of every team. */
export const allQuotas = (db: Db) =>
  db
    .selectFrom("teams")
    .select(["id", ...quotaColumns])
    .execute();

export const teamNames = (db: Db) => db.selectFrom("teams").select(["id", "name"]).execute();

/**
 * Locks the team's row until the transaction ends, so that writes for the team run one at a time. SQLite has only one
 * writer anyway.
 */
export async function lockTeam(db: Db, teamId: number): Promise<void> {
  if (isPostgres(db)) await db.selectFrom("teams").select("id").where("id", "=", teamId).forUpdate().execute();
}
