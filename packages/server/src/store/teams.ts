/** Teams in the store. */
import type { Insertable, Updateable } from "kysely";
import { prepared } from "./prepared.ts";
import type { Db } from "./store.ts";
import type { Tables } from "./tables.ts";

export const findTeam = (db: Db, name: string) =>
  db.selectFrom("teams").selectAll().where("name", "=", name).executeTakeFirst();

const nameOf = prepared<{ id: number }>()((db, value) =>
  db.selectFrom("teams").select("name").where("id", "=", value("id")),
);
export const teamNameOf = async (db: Db, id: number): Promise<string> => (await nameOf(db, { id })).rows[0]?.name ?? "";

/** By name, each with the number of its members; only these ids, or all. */
export function listTeams(db: Db, ids?: readonly number[]) {
  const query = db
    .selectFrom("teams")
    .leftJoin("memberships", "memberships.team_id", "teams.id")
    .select(["teams.id", "name", "max_running", "max_queued", "created_at"])
    .select((eb) => eb.fn.count<number>("memberships.user_id").as("members"))
    .groupBy("teams.id")
    .orderBy("name");
  return (ids === undefined ? query : query.where("teams.id", "in", ids)).execute();
}

/** The new team's id. Undefined: the name is taken. */
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
