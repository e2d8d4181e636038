/** Queries on tokens; only their hashes are stored. */
import type { Insertable } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";

export async function insertToken(db: Db, row: Insertable<Tables["tokens"]>): Promise<number> {
  return (await db.insertInto("tokens").values(row).returning("id").executeTakeFirstOrThrow()).id;
}

const live = prepared<{ hash: string; now: string }>()((db, value) =>
  db
    .selectFrom("tokens")
    .innerJoin("users", "users.id", "tokens.user_id")
    .leftJoin("memberships", "memberships.user_id", "tokens.user_id")
    .leftJoin("teams", "teams.id", "memberships.team_id")
    .select(["tokens.id", "tokens.user_id", "tokens.name", "tokens.scopes", "tokens.team_ids"])
    .select(["tokens.expires_at", "tokens.last_used_at", "users.username", "users.is_admin"])
    .select(["teams.id as team_id", "teams.name as team_name", "memberships.role"])
    .where("tokens.hash", "=", value("hash"))
    .where("tokens.revoked_at", "is", null)
    .where("users.disabled_at", "is", null)
    .where((eb) => eb.or([eb("tokens.expires_at", "is", null), eb("tokens.expires_at", ">", value("now"))])),
);
/** Finds a token that is neither revoked nor expired, with its user. Returns one row for each of the user's teams. */
export const findLiveToken = async (db: Db, hash: string, now: string) => (await live(db, { hash, now })).rows;

export const touchToken = (db: Db, id: number, now: string) =>
  db.updateTable("tokens").set({ last_used_at: now }).where("id", "=", id).execute();

/** Revokes a token. Returns false if it was already revoked. */
export async function revokeToken(db: Db, id: number, now: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("tokens")
    .set({ revoked_at: now })
    .where("id", "=", id)
    .where("revoked_at", "is", null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

const working = (db: Db, now: string) =>
  db
    .selectFrom("tokens")
    .innerJoin("users", "users.id", "tokens.user_id")
    .select(["tokens.id", "tokens.user_id", "users.username", "tokens.name", "tokens.scopes", "tokens.team_ids"])
    .select(["tokens.created_at", "tokens.expires_at", "tokens.last_used_at"])
    .where("tokens.revoked_at", "is", null)
    .where((eb) => eb.or([eb("tokens.expires_at", "is", null), eb("tokens.expires_at", ">", now)]));

export type TokenRow = Awaited<ReturnType<typeof listTokens>>[number];

/**
 * Lists the tokens of one user, or of all users, newest first, with ids below `before`. Revoked and expired tokens are
 * left out.
 */
export function listTokens(
  db: Db,
  userId: number | undefined,
  now: string,
  { before, limit }: { readonly before: number | undefined; readonly limit: number },
) {
  let query = working(db, now).orderBy("tokens.id", "desc").limit(limit);
  if (userId !== undefined) query = query.where("tokens.user_id", "=", userId);
  return (before === undefined ? query : query.where("tokens.id", "<", before)).execute();
}

export const findToken = (db: Db, id: number, now: string) =>
  working(db, now).where("tokens.id", "=", id).executeTakeFirst();
