/** Memberships: who is in a team. Roles are read at every request, so a change holds at once. */
import { ApiError, type Member, type Role, roleIncludes } from "@millrace/contract";
import {
  deleteMembership,
  findMember,
  hasOtherAdmin,
  insertMembership,
  membersOf,
  setRole,
} from "../store/memberships.ts";
import type { Db, Store } from "../store/store.ts";
import { type Actor, audit } from "./audit.ts";
import type { Team } from "./principals.ts";
import { existingUser } from "./users.ts";

type MemberRow = Awaited<ReturnType<typeof membersOf>>[number];

const describe = ({ username, first_name, last_name, role, disabled_at }: MemberRow): Member => ({
  username,
  first_name,
  last_name,
  role,
  disabled: disabled_at !== null,
});

export const readMembers = async (db: Db, team: Team): Promise<Member[]> =>
  (await membersOf(db, team.id)).map(describe);

async function existingMember(db: Db, team: Team, username: string): Promise<MemberRow> {
  const row = await findMember(db, team.id, username);
  if (!row)
    throw new ApiError(
      "not_found",
      `There is no ${username} in the team ${team.name}. List its members with \`millrace team members\`.`,
    );
  return row;
}

export async function addMember(
  store: Store,
  actor: Actor,
  team: Team,
  { username, role }: { username: string; role: Role },
  now: number,
): Promise<Member> {
  return store.write(async (db) => {
    const user = await existingUser(db, username);
    await join(db, actor, team, user, role, now);
    return describe(await existingMember(db, team, username));
  });
}

/** Inside a write. */
export async function join(
  db: Db,
  actor: Actor,
  team: Pick<Team, "id" | "name">,
  user: { readonly id: number; readonly username: string },
  role: Role,
  now: number,
): Promise<void> {
  if (!(await insertMembership(db, team.id, user.id, role)))
    throw new ApiError(
      "wrong_state",
      `${user.username} is in the team ${team.name} already. An admin of the team changes the role with \`millrace team set-role\`.`,
    );
  await audit(db, actor, { action: "member.add", team, target: user.username, detail: role }, now);
}

export async function changeRole(
  store: Store,
  actor: Actor,
  team: Team,
  username: string,
  role: Role,
  now: number,
): Promise<Member> {
  return store.write(async (db) => {
    const member = await existingMember(db, team, username);
    if (!roleIncludes(role, "admin")) await keepAnAdmin(db, team, member);
    await setRole(db, team.id, member.id, role);
    await audit(db, actor, { action: "member.update", team, target: username, detail: role }, now);
    return describe({ ...member, role });
  });
}

export async function removeMember(store: Store, actor: Actor, team: Team, username: string, now: number) {
  await store.write(async (db) => {
    const member = await existingMember(db, team, username);
    await keepAnAdmin(db, team, member);
    await deleteMembership(db, team.id, member.id);
    await audit(db, actor, { action: "member.remove", team, target: username, detail: member.role }, now);
  });
}

async function keepAnAdmin(db: Db, team: Team, { id, username, role }: MemberRow): Promise<void> {
  if (role !== "admin" || (await hasOtherAdmin(db, team.id, id))) return;
  throw new ApiError(
    "wrong_state",
    `${username} is the only admin of the team ${team.name}. Make another first: \`millrace team set-role NAME admin\`.`,
  );
}
