/** Queries on browser sessions and sign-in links; only hashes are stored. */
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";

export const insertSignInLink = (db: Db, hash: string, userId: number, expiresAt: string) =>
  db.insertInto("sign_in_links").values({ hash, user_id: userId, expires_at: expiresAt, used_at: null }).execute();

/** Whether the link exists and is neither used nor expired. */
export const isSignInLink = async (db: Db, hash: string, now: string) =>
  (await db
    .selectFrom("sign_in_links")
    .select("hash")
    .where("hash", "=", hash)
    .where("used_at", "is", null)
    .where("expires_at", ">", now)
    .executeTakeFirst()) !== undefined;

/** Marks a link as used and returns its user; undefined if it is unknown, expired or already used. */
export const useSignInLink = (db: Db, hash: string, now: string) =>
  db
    .updateTable("sign_in_links")
    .set({ used_at: now })
    .where("hash", "=", hash)
    .where("used_at", "is", null)
    .where("expires_at", ">", now)
    .returning("user_id")
    .executeTakeFirst();

export const insertSession = (db: Db, session: Tables["sessions"]) =>
  db.insertInto("sessions").values(session).execute();

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

/** Deletes all sessions of a user except the given one, and the user's sign-in links. */
export async function deleteSessionsOf(db: Db, userId: number, keptHash = ""): Promise<void> {
  await db.deleteFrom("sessions").where("user_id", "=", userId).where("hash", "!=", keptHash).execute();
  await db.deleteFrom("sign_in_links").where("user_id", "=", userId).execute();
}

/** Deletes expired sessions, sign-in links, device logins and known browsers. */
export async function deleteExpiredSignIns(db: Db, now: string): Promise<void> {
  await db.deleteFrom("sessions").where("expires_at", "<=", now).execute();
  await db.deleteFrom("sign_in_links").where("expires_at", "<=", now).execute();
  await db.deleteFrom("device_logins").where("expires_at", "<=", now).execute();
  await db.deleteFrom("browsers").where("expires_at", "<=", now).execute();
}

/**
 * Whether anyone has ever signed in with a browser or used a token. Checks tokens too, because expired sessions are
 * deleted, but used tokens are kept.
 */
export async function anybodySignedIn(db: Db): Promise<boolean> {
  const session = await db.selectFrom("sessions").select("hash").limit(1).executeTakeFirst();
  if (session) return true;
  const used = db.selectFrom("tokens").select("id").where("last_used_at", "is not", null);
  return (await used.limit(1).executeTakeFirst()) !== undefined;
}
