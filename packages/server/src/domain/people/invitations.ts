/** Invitations: an admin of a team creates a link, and the first person who uses it joins the team. */
import {
  ApiError,
  type Invitation,
  type InvitationOffer,
  mostInvitations,
  type NewInvitation,
  type RouteInput,
  type routes,
} from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import {
  findOpenInvitation,
  hasManyInvitations,
  insertInvitation,
  openInvitations,
  revokeInvitation,
  useInvitation,
} from "../../store/queries/people/invitations.ts";
import { lockTeam } from "../../store/queries/people/teams.ts";
import { type Actor, audit } from "../access/audit.ts";
import type { Caller, TeamCall } from "../access/call.ts";
import type { Edit } from "../access/edit.ts";
import type { Principal, Team } from "../access/principals.ts";
import { hashSecret, newSecret } from "../secrets/random-secrets.ts";
import { day, iso } from "../time/clock.ts";
import { join } from "./memberships.ts";
import { hashPassword } from "./passwords.ts";
import { addUser } from "./users.ts";

/** Days until an invitation expires, unless the request names another number. */
const defaultDays = 7;

type Wishes = RouteInput<typeof routes.createInvitation>["body"];
type Account = RouteInput<typeof routes.signUp>["body"];
type InvitationRow = Awaited<ReturnType<typeof openInvitations>>[number];

const describe = ({ id, role, email, username, created_at, expires_at }: InvitationRow): Invitation => ({
  id,
  role,
  email,
  created_by: username,
  created_at,
  expires_at,
});

export const readInvitations = async (db: Db, team: Team, now: number): Promise<Invitation[]> =>
  (await openInvitations(db, team.id, iso(now), mostInvitations)).map(describe);

/** The admin who invites, and the public URL of the server for the link. */
export interface Inviter {
  readonly principal: Principal;
  readonly actor: Actor;
  readonly team: Team;
  readonly publicUrl: string;
}

export async function createInvitation(
  store: Store,
  { principal, actor, team, publicUrl }: Inviter,
  { role, email, expires_in_days }: Wishes,
  now: number,
): Promise<NewInvitation> {
  const code = newSecret();
  const row = {
    team_id: team.id,
    role,
    email: email ?? "",
    created_at: iso(now),
    expires_at: iso(now + (expires_in_days ?? defaultDays) * day),
  };
  const id = await store.write(async (db) => {
    await requireFewInvitations(db, team, now);
    const id = await insertInvitation(db, { ...row, hash: hashSecret(code), created_by: principal.userId });
    const detail = [role, row.email].filter(Boolean).join(" for ");
    await audit(db, actor, { action: "invitation.create", team, target: String(id), detail }, now);
    return id;
  });
  const url = `${publicUrl}/auth/invitation?code=${code}`;
  return { ...describe({ ...row, id, username: principal.username, team_name: team.name }), url };
}

/**
 * Throws if the team has too many open invitations. Locks the team first, because on PostgreSQL concurrent transactions
 * do not see each other's new rows.
 */
async function requireFewInvitations(db: Db, team: Team, now: number): Promise<void> {
  await lockTeam(db, team.id);
  if (!(await hasManyInvitations(db, team.id, iso(now), mostInvitations))) return;
  throw new ApiError(
    "wrong_state",
    `The team ${team.name} already has ${mostInvitations} open invitations, which is the limit. Revoke some, or wait until some were used or have expired.`,
  );
}

export async function endInvitation(store: Store, { actor, team }: TeamCall, id: number, now: number): Promise<void> {
  await store.write(async (db) => {
    if (!(await revokeInvitation(db, team.id, id, iso(now))))
      throw new ApiError("not_found", `There is no open invitation ${id} in the team ${team.name}.`);
    await audit(db, actor, { action: "invitation.revoke", team, target: String(id) }, now);
  });
}

async function openInvitation(db: Db, code: string, now: number): Promise<InvitationRow> {
  const row = await findOpenInvitation(db, hashSecret(code), iso(now));
  if (!row)
    throw new ApiError(
      "not_found",
      "This invitation does not exist, has expired, or was already used or revoked. Ask the person who invited you for a new one.",
    );
  return row;
}

export async function readOffer(db: Db, code: string, now: number): Promise<InvitationOffer> {
  const { team_name, role, username, expires_at } = await openInvitation(db, code, now);
  return { team_name, role, invited_by: username, expires_at };
}

/** Accepts an invitation for the caller's existing account. Returns the name of the team. */
export async function acceptInvitation(
  store: Store,
  { principal, actor }: Caller,
  code: string,
  now: number,
): Promise<string> {
  return store.write(async (db) => {
    const invitation = await openInvitation(db, code, now);
    await use({ db, actor, now }, invitation, { id: principal.userId, username: principal.username });
    return invitation.team_name;
  });
}

/** Creates an account with an invitation. Returns the id of the new user and the name of the team. */
export async function signUp(store: Store, account: Account, address: string, now: number) {
  // Checked before the slow password hash, so that strangers without an invitation cannot cause load.
  await openInvitation(store.db, account.code, now);
  const passwordHash = await hashPassword(account.password, account);
  const actor: Actor = { userId: null, username: account.username, via: "invitation", address };
  return store.write(async (db) => {
    const invitation = await openInvitation(db, account.code, now);
    const userId = await addUser({ db, actor, now }, { ...account, is_admin: false, passwordHash });
    await use({ db, actor: { ...actor, userId }, now }, invitation, { id: userId, username: account.username });
    return { userId, teamName: invitation.team_name };
  });
}

/** Adds the user to the team of the invitation, and marks the invitation as used. */
async function use(
  edit: Edit,
  { id, team_id, team_name, role }: InvitationRow,
  user: { readonly id: number; readonly username: string },
): Promise<void> {
  const { db, actor, now } = edit;
  const team = { id: team_id, name: team_name };
  await join(edit, team, user, role);
  if (!(await useInvitation(db, id, user.id, iso(now))))
    throw new ApiError(
      "not_found",
      "Somebody else has just used this invitation. Ask the person who invited you for a new one.",
    );
  await audit(db, actor, { action: "invitation.accept", team, target: String(id), detail: user.username }, now);
}
