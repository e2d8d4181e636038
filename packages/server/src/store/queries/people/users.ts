/** Queries on users. */
import type { Insertable, Selectable, Updateable } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import { type Db, isPostgres } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";

export type UserRow = Selectable<Tables["users"]>;

export const findUser = (db: Db, username: string) =>
  db.selectFrom("users").selectAll().where("username", "=", username).executeTakeFirst();

export const getUser = (db: Db, id: number) =>
  db.selectFrom("users").selectAll().where("id", "=", id).executeTakeFirst();

const nameOf = prepared<{ id: number }>()((db, value) =>
  db.selectFrom("users").select("username").where("id", "=", value("id")),
);
export const usernameOf = async (db: Db, id: number): Promise<string> =>
  (await nameOf(db, { id })).rows[0]?.username ?? "";

export const listUsers = (db: Db, after: string, limit: number) =>
  db.selectFrom("users").selectAll().where("username", ">", after).orderBy("username").limit(limit).execute();

/** Inserts a user and returns its id; undefined if the name is taken or the team already has a service account. */
export async function insertUser(db: Db, row: Insertable<Tables["users"]>): Promise<number | undefined> {
  const inserted = await db
    .insertInto("users")
    .values(row)
    .onConflict((c) => c.doNothing())
    .returning("id")
    .executeTakeFirst();
  return inserted?.id;
}

export const updateUser = (db: Db, id: number, changes: Updateable<Tables["users"]>) =>
  db.updateTable("users").set(changes).where("id", "=", id).execute();

/** Returns users with their role in a team; the role is null for users outside the team. */
export const standingsIn = (db: Db, teamId: number, userIds: readonly number[]) =>
  db
    .selectFrom("users")
    .leftJoin("memberships", (join) =>
      join.onRef("memberships.user_id", "=", "users.id").on("memberships.team_id", "=", teamId),
    )
    .select(["users.id", "users.username", "users.disabled_at", "memberships.role"])
    .where("users.id", "in", userIds)
    .execute();

/** Locks the users' rows until the write ends. SQLite has only one writer and needs no lock. */
export async function lockUsers(db: Db, ids: readonly number[]): Promise<void> {
  if (isPostgres(db))
    await db.selectFrom("users").select("id").where("id", "in", ids).orderBy("id").forUpdate().execute();
}

export const usersByIds = (db: Db, ids: readonly number[]) =>
  db
    .selectFrom("users")
    .select(["id", "username", "first_name", "last_name", "service_team_id"])
    .where("id", "in", ids)
    .execute();

export const isServiceAccount = async (db: Db, id: number): Promise<boolean> => {
  const query = db.selectFrom("users").select("service_team_id").where("id", "=", id);
  return (await query.executeTakeFirst())?.service_team_id != null;
};

/** Finds the service account of a team; undefined if it has none. */
export const serviceAccountOf = (db: Db, teamId: number) =>
  db.selectFrom("users").selectAll().where("service_team_id", "=", teamId).executeTakeFirst();

/**
 * Whether the server has another enabled administrator. Locks the administrators' rows until the write ends, so that
 * concurrent checks run one after another.
 */
export async function hasOtherAdministrator(db: Db, userId: number): Promise<boolean> {
  await db.updateTable("users").set({ is_admin: 1 }).where("is_admin", "=", 1).execute();
  const others = enabledAdministrators(db).where("id", "!=", userId);
  return (await others.executeTakeFirst()) !== undefined;
}

export const hasAdministratorWithPassword = async (db: Db): Promise<boolean> =>
  (await enabledAdministrators(db).where("password_hash", "is not", null).executeTakeFirst()) !== undefined;

const enabledAdministrators = (db: Db) =>
  db.selectFrom("users").select("id").where("is_admin", "=", 1).where("disabled_at", "is", null).limit(1);
