/** People, their teams and roles, their browser sessions. */
import type { Role } from "@millrace/contract";
import { prepared } from "./prepared.ts";
import type { Db } from "./store.ts";

export const findUser = (db: Db, username: string) =>
  db.selectFrom("users").selectAll().where("username", "=", username).executeTakeFirst();

const nameOf = prepared<{ id: number }>()((db, value) =>
  db.selectFrom("users").select("username").where("id", "=", value("id")),
);
export const usernameOf = async (db: Db, id: number): Promise<string> =>
  (await nameOf(db, { id })).rows[0]?.username ?? "";

export const findTeam = (db: Db, name: string) =>
  db.selectFrom("teams").selectAll().where("name", "=", name).executeTakeFirst();

const nameOfTeam = prepared<{ id: number }>()((db, value) =>
  db.selectFrom("teams").select("name").where("id", "=", value("id")),
);
export const teamNameOf = async (db: Db, id: number): Promise<string> =>
  (await nameOfTeam(db, { id })).rows[0]?.name ?? "";

export const insertUser = (db: Db, username: string, now: string, isAdmin: boolean) =>
  db
    .insertInto("users")
    .values({ username, first_name: "", last_name: "", is_admin: isAdmin ? 1 : 0, created_at: now })
    .onConflict((c) => c.column("username").doNothing())
    .execute();

export const insertTeam = (db: Db, name: string, now: string) =>
  db
    .insertInto("teams")
    .values({ name, created_at: now })
    .onConflict((c) => c.column("name").doNothing())
    .execute();

export const insertMembership = (db: Db, teamId: number, userId: number, role: Role) =>
  db
    .insertInto("memberships")
    .values({ team_id: teamId, user_id: userId, role })
    .onConflict((c) => c.doNothing())
    .execute();

export const teamsOf = (db: Db, userId: number) =>
  db
    .selectFrom("memberships")
    .innerJoin("teams", "teams.id", "memberships.team_id")
    .select(["teams.id", "teams.name", "memberships.role"])
    .where("memberships.user_id", "=", userId)
    .orderBy("teams.name")
    .execute();

export const insertSignInLink = (db: Db, hash: string, userId: number, expiresAt: string) =>
  db.insertInto("sign_in_links").values({ hash, user_id: userId, expires_at: expiresAt, used_at: null }).execute();

/** Uses a link up. Undefined: unknown, expired or used before. */
export const useSignInLink = (db: Db, hash: string, now: string) =>
  db
    .updateTable("sign_in_links")
    .set({ used_at: now })
    .where("hash", "=", hash)
    .where("used_at", "is", null)
    .where("expires_at", ">", now)
    .returning("user_id")
    .executeTakeFirst();

export const insertSession = (db: Db, hash: string, userId: number, now: string, expiresAt: string) =>
  db.insertInto("sessions").values({ hash, user_id: userId, created_at: now, expires_at: expiresAt }).execute();

export const findSession = (db: Db, hash: string, now: string) =>
  db
    .selectFrom("sessions")
    .innerJoin("users", "users.id", "sessions.user_id")
    .select(["users.id as user_id", "users.username", "users.is_admin"])
    .where("sessions.hash", "=", hash)
    .where("users.disabled_at", "is", null)
    .where("sessions.expires_at", ">", now)
    .executeTakeFirst();

export const deleteSession = (db: Db, hash: string) => db.deleteFrom("sessions").where("hash", "=", hash).execute();

/** Expired sessions, links and device logins are of no use to anybody. */
export async function deleteExpiredSignIns(db: Db, now: string): Promise<void> {
  await db.deleteFrom("sessions").where("expires_at", "<=", now).execute();
  await db.deleteFrom("sign_in_links").where("expires_at", "<=", now).execute();
  await db.deleteFrom("device_logins").where("expires_at", "<=", now).execute();
}

/** With a browser or with a token, ever; expired sessions are swept, used tokens are not. */
export async function anybodySignedIn(db: Db): Promise<boolean> {
  const session = await db.selectFrom("sessions").select("hash").limit(1).executeTakeFirst();
  if (session) return true;
  const used = db.selectFrom("tokens").select("id").where("last_used_at", "is not", null);
  return (await used.limit(1).executeTakeFirst()) !== undefined;
}
