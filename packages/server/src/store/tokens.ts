/** Tokens in the store: only their hashes. */
import type { Insertable } from "kysely";
import type { Db } from "./store.ts";
import type { Tables } from "./tables.ts";

export const insertToken = (db: Db, row: Insertable<Tables["tokens"]>) => db.insertInto("tokens").values(row).execute();

/** A token that is neither revoked nor expired, with its user. */
export const findLiveToken = (db: Db, hash: string, now: string) =>
  db
    .selectFrom("tokens")
    .innerJoin("users", "users.id", "tokens.user_id")
    .selectAll("tokens")
    .select("users.username")
    .where("tokens.hash", "=", hash)
    .where("tokens.revoked_at", "is", null)
    .where((eb) => eb.or([eb("tokens.expires_at", "is", null), eb("tokens.expires_at", ">", now)]))
    .executeTakeFirst();

export const touchToken = (db: Db, id: number, now: string) =>
  db.updateTable("tokens").set({ last_used_at: now }).where("id", "=", id).execute();

export const revokeToken = (db: Db, id: number, now: string) =>
  db.updateTable("tokens").set({ revoked_at: now }).where("id", "=", id).where("revoked_at", "is", null).execute();
