/** Authentication and authorization: who calls, and what the caller may do. */
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

/** A team, and the caller's role in it. */
export interface Team {
  readonly id: number;
  readonly name: string;
  readonly role: Role;
}

/**
 * The credential with which a caller authenticates: an access token, a browser session, or the token of a running job.
 */
export type Via =
  | {
      readonly kind: "token";
      readonly id: number;
      readonly name: string;
      readonly expiresAt: string | null;
      /** Whether the token is valid in all teams of the user, including teams that the user joins later. */
      readonly allTeams: boolean;
    }
  | { readonly kind: "session"; readonly hash: string }
  /** The token of a running job. It is valid until this attempt of the job ends. */
  | {
      readonly kind: "job";
      readonly jobId: string;
      /** Id of the access token that the job remembers; null if it remembers none. */
      readonly tokenId: number | null;
      /** What became of that access token; undefined while it is valid, or if there is none. */
      readonly tokenEnd: TokenEnd | undefined;
    };

type TokenEnd = "revoked" | "expired";

/** An authenticated caller and the caller's rights. */
export interface Principal {
  readonly userId: number;
  readonly username: string;
  /**
   * Whether the caller is a server administrator. Always false for a token that is limited to some of the user's teams.
   */
  readonly isAdmin: boolean;
  readonly via: Via;
  readonly scopes: readonly Scope[];
  /** The user's teams. If the token is limited to some teams, only those. */
  readonly teams: readonly Team[];
}

const signIn = "Sign in, or ask an administrator of the server for a token.";

/**
 * Returns the caller that an access token or a job's token belongs to. Throws `unauthorized` if the token is not valid.
 */
export async function principalOfToken(
  store: Store,
  keys: KeyRing,
  token: string | undefined,
  now: number,
): Promise<Principal> {
  if (!token) throw new ApiError("unauthorized", `No token was sent. ${signIn}`);
  const running = readJobToken(keys, token);
  if (running) return principalOfJob(store.db, running, now);
  const rows = await findLiveToken(store.db, hashSecret(token), iso(now));
  const row = rows[0];
  if (!row) throw new ApiError("unauthorized", `The token is unknown, expired or revoked. ${signIn}`);
  // The time of last use is exact to a minute: a write for every request would be too expensive.
  if (!row.last_used_at || Math.abs(now - Date.parse(row.last_used_at)) > 60_000) {
    // A failed write, for example on a full disk, must not reject the request.
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
 * Returns the caller that a job's token belongs to, which is the creator of the job. The caller gets the job's team
 * only, with the role that the creator has now, and is never an administrator. The scopes are those of the token that
 * created the job. The job's token is valid as long as the row of the attempt exists.
 */
async function principalOfJob(
  db: Db,
  { jobId, attempt }: { jobId: string; attempt: number },
  now: number,
): Promise<Principal> {
  const owner = await findAttemptOwner(db, jobId, attempt);
  if (!owner)
    throw new ApiError(
      "unauthorized",
      "This token belongs to a job that has ended, or whose user is disabled. Use the token of a person.",
    );
  const { user_id: userId, username, team_id: id, team_name: name, role } = owner;
  return {
    userId,
    username,
    isAdmin: false,
    via: { kind: "job", jobId, tokenId: owner.token_id, tokenEnd: endOfToken(owner, now) },
    scopes: (JSON.parse(owner.scopes) as Scope[]).filter((scope) => !scope.startsWith("ADMIN:")),
    teams: role === null ? [] : [{ id, name, role }],
  };
}

type AttemptOwner = NonNullable<Awaited<ReturnType<typeof findAttemptOwner>>>;

/** The server never deletes tokens, so one that is missing was removed from the database by hand. It counts as revoked. */
function endOfToken(
  { token_id, found_token_id, revoked_at, expires_at }: AttemptOwner,
  now: number,
): TokenEnd | undefined {
  if (token_id === null) return undefined;
  if (found_token_id === null || revoked_at !== null) return "revoked";
  return expires_at !== null && expires_at <= iso(now) ? "expired" : undefined;
}

type TokenRow = Awaited<ReturnType<typeof findLiveToken>>[number];

function teamsOfToken(rows: readonly TokenRow[], reachJson: string | null): Team[] {
  const reach = reachJson === null ? undefined : (JSON.parse(reachJson) as number[]);
  const teams = rows.flatMap(({ team_id: id, team_name: name, role }) =>
    id !== null && name !== null && role !== null && (reach?.includes(id) ?? true) ? [{ id, name, role }] : [],
  );
  return teams.length > 1 ? teams.sort((a, b) => a.name.localeCompare(b.name)) : teams;
}

/**
 * Returns the caller that a session cookie belongs to, with all rights of the user. Returns undefined if there is no
 * cookie, or if its session has ended.
 */
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

/**
 * Throws unless the caller may use a route. Returns the team of the request; undefined for a route that is not about a
 * team.
 */
export async function admit(
  db: Db,
  principal: Principal,
  access: Exclude<Access, { kind: "public" | "runner" }>,
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

/**
 * Throws if there is no team in which the caller's role and scopes allow the route. Called before a large body is read,
 * so that the body is not read in vain.
 */
export function requireSomeTeam(principal: Principal, access: Access): void {
  if (access.kind !== "token") return;
  if (access.people) requirePerson(principal);
  const { teams } = principal;
  const hasRole = teams.some(({ role }) => roleIncludes(role, access.role));
  if (!hasRole && !(access.administrators && principal.isAdmin)) {
    if (teams.length <= 1) authorize(principal, access, undefined);
    throw new ApiError(
      "forbidden",
      `This request needs the role ${access.role}, which you have in none of your teams. Ask an admin of a team for it.`,
    );
  }
  requireScope(principal, access.scope);
}

/**
 * Throws if the caller is a job. A job must not create tokens or accounts, because they would still be valid after the
 * job has ended.
 */
export function requirePerson({ via }: Principal, what = "do this"): void {
  if (via.kind !== "job") return;
  throw new ApiError("forbidden", `A job's own token may not ${what}. Use the token of a person.`, { hint: "sign_in" });
}

/**
 * Returns the id of the access token that jobs of this caller remember: the caller's own, or the one that the calling
 * job remembers. Returns null for a browser session.
 */
export function tokenToRemember({ via }: Pick<Principal, "via">): number | null {
  if (via.kind === "session") return null;
  return via.kind === "token" ? via.id : via.tokenId;
}

/**
 * Throws if the caller is a job, and the access token that it remembers is no longer valid. Otherwise a job could create
 * its successor, and so on, with the rights of a token that was revoked long ago.
 */
export function requireLiveCreator({ via }: Pick<Principal, "via">): void {
  if (via.kind !== "job" || via.tokenEnd === undefined) return;
  const ended = via.tokenEnd === "revoked" ? "was revoked" : "has expired";
  throw new ApiError(
    "forbidden",
    `This job was created with the access token ${via.tokenId}, which ${ended}. So the job's own token may no longer create jobs, or start or change runs of pipelines. Use a valid token of a person, or create this job again with one.`,
    { hint: "sign_in" },
  );
}

/**
 * Throws if the user is a service account. A service account cannot sign in, and cannot give rights to anybody. `what`
 * says what was refused.
 */
export async function refuseServiceAccount(
  db: Db,
  { userId, username }: Pick<Principal, "userId" | "username">,
  what: string,
): Promise<void> {
  if (await isServiceAccount(db, userId))
    throw new ApiError("forbidden", `${username} is a service account, and may not ${what}.`);
}

/**
 * Returns the team of the call. Throws if the caller is not in that team, or lacks the role or the scope. The role is
 * checked first, because a token with more scopes does not help a caller who lacks the role.
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
      `This request needs the role ${access.role} in the team ${team.name}; your role is ${team.role}. Ask an admin of the team for it.`,
      { hint: "list_members" },
    );
  }
  requireScope(principal, access.scope);
  return team;
}

/**
 * Returns the team with this name, with the role admin. Used for server administrators on routes that let them act in
 * any team.
 */
async function anyTeam(db: Db, principal: Principal, scope: Scope, name: string): Promise<Team> {
  requireScope(principal, scope);
  const team = await findTeam(db, name);
  if (!team) throw new ApiError("not_found", `There is no team ${name}.`, { hint: "list_teams" });
  return { id: team.id, name: team.name, role: "admin" };
}

/** Throws unless the caller is a server administrator with the required scope. */
function authorizeAdmin(principal: Principal, access: Access & { kind: "admin" }): undefined {
  if (!principal.isAdmin) {
    const { via } = principal;
    const isLimited = via.kind === "token" && !via.allTeams;
    const hint = isLimited
      ? " This token is limited to teams, and such a token never has administrator rights. If you are an administrator, sign in again without naming a team."
      : "";
    throw new ApiError("forbidden", `Only administrators of the server may do this.${hint}`);
  }
  requireScope(principal, access.scope);
}

export function requireScope(principal: Principal, wanted: Scope): void {
  const [scope, level] = wanted.split(":");
  if (!permits(principal.scopes, wanted)) {
    throw new ApiError(
      "forbidden",
      `This request needs a token with ${level} access to the ${scope} scope. Sign in again, or create a token with the scope ${wanted}.`,
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
      `Not authorized for the team ${name}. ${names ? `Your teams: ${names}.` : "You are in no team. Ask an admin of a team to add or invite you."}`,
    );
  }
  const [only] = teams;
  if (only && teams.length === 1) return only;
  if (!only) throw new ApiError("forbidden", "You are in no team. Ask an admin of a team to add or invite you.");
  throw new ApiError("invalid", `team_name: expected one of your teams (${names}), got none`);
}

export function describeVia(via: Via): string {
  if (via.kind === "job") return `job ${via.jobId}`;
  return via.kind === "token" ? via.name : "browser session";
}
