/** Who is calling, and what they may do. */
import { type Access, ApiError, allScopes, permits, type Role, roleIncludes, type Scope } from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import { findAttemptOwner } from "../../store/queries/jobs/attempts.ts";
import { teamsOf } from "../../store/queries/people/memberships.ts";
import { findSession } from "../../store/queries/people/sessions.ts";
import { findTeam } from "../../store/queries/people/teams.ts";
import { findLiveToken, touchToken } from "../../store/queries/people/tokens.ts";
import { isServiceAccount } from "../../store/queries/people/users.ts";
import { readJobToken } from "../secrets/job-tokens.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { hashSecret } from "../secrets/random-secrets.ts";
import { iso } from "../time/clock.ts";

export interface Team {
  readonly id: number;
  readonly name: string;
  readonly role: Role;
}

/** With what somebody shows who they are. */
export type Via =
  | {
      readonly kind: "token";
      readonly id: number;
      readonly name: string;
      readonly expiresAt: string | null;
      /** Not limited to some, so also those that the user joins later. */
      readonly allTeams: boolean;
    }
  | { readonly kind: "session"; readonly hash: string }
  /** The token of a running job. */
  | { readonly kind: "job"; readonly jobId: string };

export interface Principal {
  readonly userId: number;
  readonly username: string;
  /** Of the whole server. A token that is limited to teams never is. */
  readonly isAdmin: boolean;
  readonly via: Via;
  readonly scopes: readonly Scope[];
  /** The teams of the user, as far as the token reaches. */
  readonly teams: readonly Team[];
}

const signIn = "Sign in, or ask an administrator of the server for a token.";

export async function principalOfToken(
  store: Store,
  keys: KeyRing,
  token: string | undefined,
  now: number,
): Promise<Principal> {
  if (!token) throw new ApiError("unauthorized", `No token was sent. ${signIn}`);
  const running = readJobToken(keys, token);
  if (running) return principalOfJob(store.db, running);
  const rows = await findLiveToken(store.db, hashSecret(token), iso(now));
  const row = rows[0];
  if (!row) throw new ApiError("unauthorized", `The token is unknown, expired or revoked. ${signIn}`);
  // Last use to the minute: a write on every request would cost more than it tells.
  if (!row.last_used_at || Math.abs(now - Date.parse(row.last_used_at)) > 60_000) {
    // Where it cannot be noted, as on a full disk, that is no reason to turn somebody away.
    await store.write((db) => touchToken(db, row.id, iso(now))).catch(() => {});
  }
  return {
    userId: row.user_id,
    username: row.username,
    isAdmin: row.is_admin === 1 && row.team_ids === null,
    via: { kind: "token", id: row.id, name: row.name, expiresAt: row.expires_at, allTeams: row.team_ids === null },
    scopes: JSON.parse(row.scopes) as Scope[],
    teams: teamsOfToken(rows, row.team_ids),
  };
}

/**
 * A job acts for its creator: in its own team, as far as the rights of both the creator now and the creator's token then
 * reach, and never as an administrator. Its token lives as long as the row of its attempt.
 */
async function principalOfJob(db: Db, { jobId, attempt }: { jobId: string; attempt: number }): Promise<Principal> {
  const owner = await findAttemptOwner(db, jobId, attempt);
  if (!owner)
    throw new ApiError("unauthorized", "The job of this token has ended, or its user may not sign in any more.");
  const { user_id: userId, username, team_id: id, team_name: name, role } = owner;
  return {
    userId,
    username,
    isAdmin: false,
    via: { kind: "job", jobId },
    scopes: (JSON.parse(owner.scopes) as Scope[]).filter((scope) => !scope.startsWith("ADMIN:")),
    teams: role === null ? [] : [{ id, name, role }],
  };
}

type TokenRow = Awaited<ReturnType<typeof findLiveToken>>[number];

function teamsOfToken(rows: readonly TokenRow[], reachJson: string | null): Team[] {
  const reach = reachJson === null ? undefined : (JSON.parse(reachJson) as number[]);
  const teams = rows.flatMap(({ team_id: id, team_name: name, role }) =>
    id !== null && name !== null && role !== null && (reach?.includes(id) ?? true) ? [{ id, name, role }] : [],
  );
  return teams.length > 1 ? teams.sort((a, b) => a.name.localeCompare(b.name)) : teams;
}

/** The person behind a browser's cookie, or undefined. A session may do whatever its user may. */
export async function principalOfSession(
  db: Db,
  cookie: string | undefined,
  now: number,
): Promise<Principal | undefined> {
  if (!cookie) return undefined;
  const hash = hashSecret(cookie);
  const session = await findSession(db, hash, iso(now));
  if (!session) return undefined;
  const teams = await teamsOf(db, session.user_id);
  const { user_id: userId, username, is_admin } = session;
  return { userId, username, isAdmin: is_admin === 1, via: { kind: "session", hash }, scopes: allScopes, teams };
}

/** Throws unless this caller may use a route at all. Returns the team that the call works in, where it works in one. */
export async function admit(
  db: Db,
  principal: Principal,
  access: Exclude<Access, { kind: "public" }>,
  teamName: string | undefined,
): Promise<Team | undefined> {
  if (access.kind === "admin" || access.people) requirePerson(principal);
  if (access.kind === "admin") return authorizeAdmin(principal, access);
  if (access.kind === "token")
    return access.administrators && principal.isAdmin && teamName !== undefined
      ? anyTeam(db, principal, access.scope, teamName)
      : authorize(principal, access, teamName);
  if (access.scope) requireScope(principal, access.scope);
  return undefined;
}

/** Throws where no team that the call could name would do: asked before a large body is read. */
export function requireSomeTeam(principal: Principal, access: Access): void {
  if (access.kind !== "token") return;
  if (access.people) requirePerson(principal);
  const { teams } = principal;
  const hasRole = teams.some(({ role }) => roleIncludes(role, access.role));
  if (!hasRole && !(access.administrators && principal.isAdmin)) {
    if (teams.length <= 1) authorize(principal, access, undefined);
    throw new ApiError("forbidden", `This needs the role ${access.role}, which you have in none of your teams.`);
  }
  requireScope(principal, access.scope);
}

/** People show a token of theirs or a session. A job must not be able to outlive itself: what leaves rights behind is not its to do. */
export function requirePerson({ via }: Principal, what = "do this"): void {
  if (via.kind !== "job") return;
  throw new ApiError("forbidden", `A job's own token may not ${what}. Use the token of a person.`, { hint: "sign_in" });
}

/** Nobody signs in as a service account, and it gives rights to nobody. */
export async function refuseServiceAccount(
  db: Db,
  { userId, username }: Pick<Principal, "userId" | "username">,
  what: string,
): Promise<void> {
  if (await isServiceAccount(db, userId))
    throw new ApiError("forbidden", `${username} is a service account, and may not ${what}.`);
}

/**
 * The team that a call works in. Throws where team, role or scope do not suffice, in this order: whoever lacks the role
 * would gain nothing by a token with more scopes.
 */
export function authorize(
  principal: Principal,
  access: Access & { kind: "token" },
  teamName: string | undefined,
): Team {
  const team = chooseTeam(principal, teamName);
  if (!roleIncludes(team.role, access.role)) {
    throw new ApiError(
      "forbidden",
      `This needs the role ${access.role} in the team ${team.name}; you are ${team.role}. Ask an admin of the team for it.`,
      { hint: "list_members" },
    );
  }
  requireScope(principal, access.scope);
  return team;
}

/** Administrators of the server are admins of every team where a route says so. */
async function anyTeam(db: Db, principal: Principal, scope: Scope, name: string): Promise<Team> {
  requireScope(principal, scope);
  const team = await findTeam(db, name);
  if (!team) throw new ApiError("not_found", `There is no team ${name}.`, { hint: "list_teams" });
  return { id: team.id, name: team.name, role: "admin" };
}

/** Throws unless this is an administrator of the whole server. */
function authorizeAdmin(principal: Principal, access: Access & { kind: "admin" }): undefined {
  if (!principal.isAdmin) {
    const { via } = principal;
    const isLimited = via.kind === "token" && !via.allTeams;
    const hint = isLimited
      ? " This token is limited to teams, and such a token never administers the server: if you are an administrator, sign in again without naming a team."
      : "";
    throw new ApiError("forbidden", `This is for administrators of the server.${hint}`);
  }
  requireScope(principal, access.scope);
}

export function requireScope(principal: Principal, wanted: Scope): void {
  const [scope, level] = wanted.split(":");
  if (!permits(principal.scopes, wanted)) {
    throw new ApiError(
      "forbidden",
      `This needs a token with ${level} access to the ${scope} scope. Sign in again, or create a token with the scope ${wanted}.`,
      { hint: "create_token" },
    );
  }
}

function chooseTeam({ teams }: Principal, name: string | undefined): Team {
  const names = teams.map((team) => team.name).join(", ");
  if (name) {
    const team = teams.find((candidate) => candidate.name === name);
    if (team) return team;
    throw new ApiError(
      "forbidden",
      `Not authorized for the team ${name}. ${names ? `Your teams: ${names}.` : "You are in no team."}`,
    );
  }
  const [only] = teams;
  if (only && teams.length === 1) return only;
  if (!only) throw new ApiError("forbidden", "You are in no team.");
  throw new ApiError("invalid", `team_name: expected one of your teams (${names}), got none`);
}

export function describeVia(via: Via): string {
  if (via.kind === "job") return `job ${via.jobId}`;
  return via.kind === "token" ? via.name : "browser session";
}
