/** Browser sessions and the links that begin them; only their hashes. */
import type { Db } from "../../drivers/store.ts";

export const insertSignInLink = (db: Db, hash: string, userId: number, expiresAt: string) =>
  db.insertInto("sign_in_links").values({ hash, user_id: userId, expires_at: expiresAt, used_at: null }).execute();

/** Whether a link can still be used. */
export const isSignInLink = async (db: Db, hash: string, now: string) =>
  (await db
    .selectFrom("sign_in_links")
    .select("hash")
    .where("hash", "=", hash)
    .where("used_at", "is", null)
    .where("expires_at", ">", now)
    .executeTakeFirst()) !== undefined;

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

/** All of a user's, but the one that is given; and links that could begin another. */
export async function deleteSessionsOf(db: Db, userId: number, keptHash = ""): Promise<void> {
  await db.deleteFrom("sessions").where("user_id", "=", userId).where("hash", "!=", keptHash).execute();
  await db.deleteFrom("sign_in_links").where("user_id", "=", userId).execute();
}

/** Expired sessions, links, device logins and known browsers are of no use to anybody. */
export async function deleteExpiredSignIns(db: Db, now: string): Promise<void> {
  await db.deleteFrom("sessions").where("expires_at", "<=", now).execute();
  await db.deleteFrom("sign_in_links").where("expires_at", "<=", now).execute();
  await db.deleteFrom("device_logins").where("expires_at", "<=", now).execute();
  await db.deleteFrom("browsers").where("expires_at", "<=", now).execute();
}

/** With a browser or with a token, ever; expired sessions are swept, used tokens are not. */
export async function anybodySignedIn(db: Db): Promise<boolean> {
  const session = await db.selectFrom("sessions").select("hash").limit(1).executeTakeFirst();
  if (session) return true;
  const used = db.selectFrom("tokens").select("id").where("last_used_at", "is not", null);
  return (await used.limit(1).executeTakeFirst()) !== undefined;
}
