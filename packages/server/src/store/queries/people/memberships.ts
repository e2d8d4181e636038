/** Queries on the members of teams and their roles. */
import type { Role } from "@millrace/contract";
import { noteChange } from "../../drivers/noted-store.ts";
import type { Db } from "../../drivers/store.ts";

export const teamsOf = (db: Db, userId: number) =>
  db
    .selectFrom("memberships")
    .innerJoin("teams", "teams.id", "memberships.team_id")
    .select(["teams.id", "teams.name", "memberships.role"])
    .where("memberships.user_id", "=", userId)
    .orderBy("teams.name")
    .execute();

/** Lists the teams of several users at once. */
export const teamsOfUsers = (db: Db, userIds: readonly number[]) =>
  db
    .selectFrom("memberships")
    .innerJoin("teams", "teams.id", "memberships.team_id")
    .select(["memberships.user_id", "teams.name", "memberships.role"])
    .where("memberships.user_id", "in", userIds)
    .orderBy("teams.name")
    .execute();

const members = (db: Db, teamId: number) =>
  db
    .selectFrom("memberships")
    .innerJoin("users", "users.id", "memberships.user_id")
    .select(["users.id", "users.username", "users.first_name", "users.last_name", "users.disabled_at"])
    .select(["memberships.role", "users.service_team_id"])
    .where("memberships.team_id", "=", teamId);

export const membersOf = (db: Db, teamId: number) => members(db, teamId).orderBy("users.username").execute();

/** Whether the team has at least this many members; counts no further. */
export const atLeastMembers = async (db: Db, teamId: number, count: number): Promise<boolean> => {
  const query = db.selectFrom("memberships").select("user_id").where("team_id", "=", teamId).limit(1);
  return (await query.offset(count - 1).executeTakeFirst()) !== undefined;
};

export const findMember = (db: Db, teamId: number, username: string) =>
  members(db, teamId).where("users.username", "=", username).executeTakeFirst();

/** Whether a user shares a team with somebody of this name, or whether that is the team's own service account. */
export async function isKnownTo(
  db: Db,
  { userId, teamId, username }: { readonly userId: number; readonly teamId: number; readonly username: string },
): Promise<boolean> {
  const query = db
    .selectFrom("users")
    .leftJoin("memberships as theirs", "theirs.user_id", "users.id")
    .leftJoin("memberships as own", (join) =>
      join.onRef("own.team_id", "=", "theirs.team_id").on("own.user_id", "=", userId),
    )
    .select("users.id")
    .where("users.username", "=", username)
    .where((eb) => eb.or([eb("own.user_id", "is not", null), eb("users.service_team_id", "=", teamId)]))
    .limit(1);
  return (await query.executeTakeFirst()) !== undefined;
}

/** Adds a user to a team. Returns false if the user is already a member. */
export async function insertMembership(db: Db, teamId: number, userId: number, role: Role): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("memberships")
    .values({ team_id: teamId, user_id: userId, role })
    .onConflict((c) => c.doNothing())
    .executeTakeFirst();
  noteChange(db, "teams", teamId);
  return numInsertedOrUpdatedRows === 1n;
}

export const setRole = (db: Db, teamId: number, userId: number, role: Role) =>
  db.updateTable("memberships").set({ role }).where("team_id", "=", teamId).where("user_id", "=", userId).execute();

export const deleteMembership = (db: Db, teamId: number, userId: number) =>
  db.deleteFrom("memberships").where("team_id", "=", teamId).where("user_id", "=", userId).execute();

/**
 * Whether the team has another enabled admin. Locks the admins' rows until the write ends, so that concurrent checks
 * run one after another.
 */
export async function hasOtherAdmin(db: Db, teamId: number, userId: number): Promise<boolean> {
  await db
    .updateTable("memberships")
    .set({ role: "admin" })
    .where("team_id", "=", teamId)
    .where("role", "=", "admin")
    .execute();
  const others = members(db, teamId)
    .where("memberships.role", "=", "admin")
    .where("memberships.user_id", "!=", userId)
    .where("users.disabled_at", "is", null);
  return (await others.limit(1).executeTakeFirst()) !== undefined;
}
