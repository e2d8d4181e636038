/** Queries on invitations; only the hashes of their codes are stored. */
import type { Insertable } from "kysely";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";

export async function insertInvitation(db: Db, row: Insertable<Tables["invitations"]>): Promise<number> {
  return (await db.insertInto("invitations").values(row).returning("id").executeTakeFirstOrThrow()).id;
}

/** Selects invitations that are neither used, revoked nor expired, and whose creator may still invite. */
const open = (db: Db, now: string) =>
  db
    .selectFrom("invitations")
    .innerJoin("teams", "teams.id", "invitations.team_id")
    .innerJoin("users", "users.id", "invitations.created_by")
    .select(["invitations.id", "invitations.team_id", "invitations.role", "invitations.email"])
    .select(["invitations.created_at", "invitations.expires_at", "teams.name as team_name", "users.username"])
    .where("invitations.used_at", "is", null)
    .where("invitations.revoked_at", "is", null)
    .where("invitations.expires_at", ">", now)
    .where("users.disabled_at", "is", null)
    .where((eb) =>
      eb.or([
        eb("users.is_admin", "=", 1),
        eb.exists(
          eb
            .selectFrom("memberships")
            .select("memberships.role")
            .whereRef("memberships.team_id", "=", "invitations.team_id")
            .whereRef("memberships.user_id", "=", "invitations.created_by")
            .where("memberships.role", "=", "admin"),
        ),
      ]),
    );

/** Lists the newest open invitations of a team. */
export const openInvitations = (db: Db, teamId: number, now: string, limit: number) =>
  open(db, now).where("invitations.team_id", "=", teamId).orderBy("invitations.id", "desc").limit(limit).execute();

/** Whether a team has this many open invitations or more. Reads no more of them than needed to tell. */
export const hasManyInvitations = async (db: Db, teamId: number, now: string, count: number): Promise<boolean> =>
  (
    await db
      .selectFrom("invitations")
      .select("id")
      .where("team_id", "=", teamId)
      .where("used_at", "is", null)
      .where("revoked_at", "is", null)
      .where("expires_at", ">", now)
      .orderBy("id", "desc")
      .offset(count - 1)
      .limit(1)
      .execute()
  ).length > 0;

export const findOpenInvitation = (db: Db, hash: string, now: string) =>
  open(db, now).where("invitations.hash", "=", hash).executeTakeFirst();

/** Marks an invitation as used. Returns false if it was already used or revoked. */
export async function useInvitation(db: Db, id: number, userId: number, now: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("invitations")
    .set({ used_at: now, used_by: userId })
    .where("id", "=", id)
    .where("used_at", "is", null)
    .where("revoked_at", "is", null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/**
 * Revokes an invitation. Returns false if the team has no such invitation, or if the invitation is used, revoked or
 * expired.
 */
export async function revokeInvitation(db: Db, teamId: number, id: number, now: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("invitations")
    .set({ revoked_at: now })
    .where("id", "=", id)
    .where("team_id", "=", teamId)
    .where("used_at", "is", null)
    .where("revoked_at", "is", null)
    .where("expires_at", ">", now)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/**
 * Deletes up to `limit` invitations that expired, or were used or revoked, before this time. Returns the number of
 * deleted invitations.
 */
export async function deleteSettledInvitations(db: Db, before: string, limit: number): Promise<number> {
  const settled = db
    .selectFrom("invitations")
    .select("id")
    .where((eb) => eb.or((["expires_at", "used_at", "revoked_at"] as const).map((column) => eb(column, "<", before))))
    .limit(limit);
  const { numDeletedRows } = await db.deleteFrom("invitations").where("id", "in", settled).executeTakeFirst();
  return Number(numDeletedRows);
}
