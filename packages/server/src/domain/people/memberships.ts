/** Memberships of users in teams. Every request reads the roles again, so a change takes effect at once. */
import { ApiError, type Member, mostMembers, type Role, roleIncludes } from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import {
  atLeastMembers,
  deleteMembership,
  findMember,
  hasOtherAdmin,
  insertMembership,
  isKnownTo,
  membersOf,
  setRole,
} from "../../store/queries/people/memberships.ts";
import { lockTeam } from "../../store/queries/people/teams.ts";
import { getUser } from "../../store/queries/people/users.ts";
import { audit } from "../access/audit.ts";
import type { Call, TeamCall } from "../access/call.ts";
import type { Edit } from "../access/edit.ts";
import { existingUser } from "../access/existing-user.ts";
import type { Team } from "../access/principals.ts";
import { handOverAndLeave } from "../ownership/succession.ts";

type MemberRow = Awaited<ReturnType<typeof membersOf>>[number];

const describe = ({ username, first_name, last_name, role, disabled_at, service_team_id }: MemberRow): Member => ({
  username,
  first_name,
  last_name,
  role,
  disabled: disabled_at !== null,
  service_account: service_team_id !== null,
});

export const readMembers = async (db: Db, team: Team): Promise<Member[]> =>
  (await membersOf(db, team.id)).map(describe);

export const readMember = async (db: Db, team: Team, username: string): Promise<Member> =>
  describe(await memberInTeam(db, team, username));

export async function memberInTeam(db: Db, team: Team, username: string): Promise<MemberRow> {
  const row = await findMember(db, team.id, username);
  if (!row)
    throw new ApiError("not_found", `There is no user ${username} in the team ${team.name}.`, { hint: "list_members" });
  return row;
}

interface NewRole {
  readonly username: string;
  readonly role: Role;
}

/**
 * Adds an account to a team. A member of two teams must name the team in each call, so nobody may put strangers into a
 * team: an invitation asks them. An admin of a team also does not learn which accounts exist.
 */
export async function addMember(
  store: Store,
  { principal, actor, team }: Call,
  { username, role }: NewRole,
  now: number,
): Promise<Member> {
  return store.write(async (db) => {
    if (!principal.isAdmin && !(await isKnownTo(db, { userId: principal.userId, teamId: team.id, username })))
      throw new ApiError(
        "forbidden",
        `You share no team with a user ${username}, so only an administrator of the server can add such an account to the team ${team.name}. Invite the user instead.`,
        { hint: "invite" },
      );
    const user = await existingUser(db, username);
    await join({ db, actor, now }, team, user, role);
    return describe(await memberInTeam(db, team, username));
  });
}

/** Adds a user to a team and writes the audit entry. Throws if the user is already a member. */
export async function join(
  { db, actor, now }: Edit,
  team: Pick<Team, "id" | "name">,
  user: { readonly id: number; readonly username: string },
  role: Role,
): Promise<void> {
  await checkServiceAccount(db, team, user, role);
  await lockTeam(db, team.id);
  if (await atLeastMembers(db, team.id, mostMembers))
    throw new ApiError(
      "wrong_state",
      `The team ${team.name} has ${mostMembers} members, which is the maximum. Remove some first.`,
    );
  if (!(await insertMembership(db, team.id, user.id, role)))
    throw new ApiError(
      "wrong_state",
      `${user.username} is already in the team ${team.name}. To give the user another role, change the role of the member.`,
      { hint: "set_role" },
    );
  await audit(db, actor, { action: "member.add", team, target: user.username, detail: role }, now);
}

/** Throws if the user is a service account that belongs to another team, or that would become an admin. */
async function checkServiceAccount(
  db: Db,
  team: Pick<Team, "id" | "name">,
  { id, username }: { readonly id: number; readonly username: string },
  role: Role,
): Promise<void> {
  const home = (await getUser(db, id))?.service_team_id ?? null;
  if (home === null) return;
  if (home !== team.id)
    throw new ApiError(
      "wrong_state",
      `${username} is the service account of another team. The team ${team.name} needs a service account of its own.`,
      { hint: "create_service_account" },
    );
  if (role === "admin")
    throw new ApiError(
      "wrong_state",
      `${username} is a service account, and cannot be an admin. Give it the role viewer or editor.`,
    );
}

export async function changeRole(
  store: Store,
  { actor, team }: TeamCall,
  { username, role }: NewRole,
  now: number,
): Promise<Member> {
  return store.write(async (db) => {
    const member = await memberInTeam(db, team, username);
    await checkServiceAccount(db, team, member, role);
    if (!roleIncludes(role, "admin")) await keepAnAdmin(db, team, member);
    await setRole(db, team.id, member.id, role);
    await audit(db, actor, { action: "member.update", team, target: username, detail: role }, now);
    return describe({ ...member, role });
  });
}

interface MemberRemoval {
  readonly username: string;
  /**
   * Username of the user who takes over the member's tasks, schedules and pipelines in the team; undefined if the
   * member keeps them.
   */
  readonly transferTo: string | undefined;
  /** Whether to hand the work over even if the new owner lacks credentials that the work needs. */
  readonly force: boolean;
}

/**
 * Removes a user from a team. If `transferTo` names a user, that user first takes over the member's tasks, schedules and
 * pipelines.
 */
export async function removeMember(
  store: Store,
  { principal, actor, team }: Call,
  { username, transferTo, force }: MemberRemoval,
  now: number,
): Promise<void> {
  const leaver = (db: Db) => memberInTeam(db, team, username);
  const requireMayLeave = (db: Db, member: MemberRow) => keepAnAdmin(db, team, member);
  const leave = async ({ db }: Edit, member: MemberRow) => {
    await deleteMembership(db, team.id, member.id);
    await audit(db, actor, { action: "member.remove", team, target: username, detail: member.role }, now);
  };
  const leaving = { teamId: team.id, successor: transferTo, force, leaver, requireMayLeave, leave };
  await handOverAndLeave(store, { actor, principal }, leaving, now);
}

/** Throws if the member is the only admin of the team. */
async function keepAnAdmin(db: Db, team: Team, { id, username, role }: MemberRow): Promise<void> {
  if (role !== "admin" || (await hasOtherAdmin(db, team.id, id))) return;
  throw new ApiError(
    "wrong_state",
    `${username} is the only admin of the team ${team.name}. Give another member the role admin first.`,
    { hint: "set_role" },
  );
}
