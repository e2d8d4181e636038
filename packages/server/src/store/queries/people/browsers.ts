/** Queries on browsers that have signed in before; only the hashes of their cookies are stored. */
import type { Db } from "../../drivers/store.ts";

/** Records until when a browser is known for this user, or extends that time. */
export const insertBrowser = (db: Db, hash: string, userId: number, expiresAt: string) =>
  db
    .insertInto("browsers")
    .values({ hash, user_id: userId, expires_at: expiresAt })
    .onConflict((c) => c.columns(["hash", "user_id"]).doUpdateSet({ expires_at: expiresAt }))
    .execute();

/** Returns the users for whom this browser is known. */
export const usersOfBrowser = (db: Db, hash: string, now: string) =>
  db
    .selectFrom("browsers")
    .innerJoin("users", "users.id", "browsers.user_id")
    .select(["users.id", "users.username"])
    .where("browsers.hash", "=", hash)
    .where("browsers.expires_at", ">", now)
    .execute();

/** Deletes a user's known browsers except the newest `kept`. */
export async function forgetOldBrowsers(db: Db, userId: number, kept: number): Promise<void> {
  const newest = db
    .selectFrom("browsers")
    .select("hash")
    .where("user_id", "=", userId)
    .orderBy("expires_at", "desc")
    .orderBy("hash")
    .limit(kept);
  await db.deleteFrom("browsers").where("user_id", "=", userId).where("hash", "not in", newest).execute();
}
