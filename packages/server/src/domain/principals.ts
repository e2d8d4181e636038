/** Who is calling, and what they may do. */
import {
  type Access,
  ApiError,
  allScopes,
  permits,
  type Role,
  roleIncludes,
  type Scope,
  type WhoAmI,
} from "@millrace/contract";
import type { Db, Store } from "../store/store.ts";
import { findLiveToken, touchToken } from "../store/tokens.ts";
import { findSession, teamsOf } from "../store/users.ts";
import { iso } from "./clock.ts";
import { hashSecret } from "./secrets.ts";

export interface Team {
  readonly id: number;
  readonly name: string;
  readonly role: Role;
}

/** With what somebody shows who they are. */
export type Via =
  | { readonly kind: "token"; readonly id: number; readonly name: string; readonly expiresAt: string | null }
  | { readonly kind: "session" };

export interface Principal {
  readonly userId: number;
  readonly username: string;
  /** Of the whole server. */
  readonly isAdmin: boolean;
  readonly via: Via;
  readonly scopes: readonly Scope[];
  /** The teams of the user, as far as the token reaches. */
  readonly teams: readonly Team[];
}

const signIn =
  "Sign in with `datachain auth login` or `millrace auth login`, or make a token with `millrace admin token`.";

export async function principalOfToken(store: Store, token: string | undefined, now: number): Promise<Principal> {
  if (!token) throw new ApiError("unauthorized", `No token was sent. ${signIn}`);
  const rows = await findLiveToken(store.db, hashSecret(token), iso(now));
  const row = rows[0];
  if (!row) throw new ApiError("unauthorized", `The token is unknown, expired or revoked. ${signIn}`);
  // Last use to the minute: a write on every request would cost more than it tells.
  if (!row.last_used_at || Date.parse(row.last_used_at) < now - 60_000) {
    // Where it cannot be noted, as on a full disk, that is no reason to turn somebody away.
    await store.write((db) => touchToken(db, row.id, iso(now))).catch(() => {});
  }
  return {
    userId: row.user_id,
    username: row.username,
    isAdmin: row.is_admin === 1,
    via: { kind: "token", id: row.id, name: row.name, expiresAt: row.expires_at },
    scopes: JSON.parse(row.scopes) as Scope[],
    teams: teamsOfToken(rows, row.team_ids),
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
  const session = await findSession(db, hashSecret(cookie), iso(now));
  if (!session) return undefined;
  const teams = await teamsOf(db, session.user_id);
  const { user_id: userId, username, is_admin } = session;
  return { userId, username, isAdmin: is_admin === 1, via: { kind: "session" }, scopes: allScopes, teams };
}

/** The team that a call works in. Throws where scope, team or role do not suffice. */
export function authorize(
  principal: Principal,
  access: Access & { kind: "token" },
  teamName: string | undefined,
): Team {
  requireScope(principal, access.scope);
  const team = chooseTeam(principal, teamName);
  if (!roleIncludes(team.role, access.role)) {
    throw new ApiError(
      "forbidden",
      `This needs the role ${access.role} in the team ${team.name}; you are ${team.role}.`,
    );
  }
  return team;
}

/** Throws unless this is an administrator of the whole server. */
export function authorizeAdmin(principal: Principal, access: Access & { kind: "admin" }): void {
  requireScope(principal, access.scope);
  if (!principal.isAdmin) throw new ApiError("forbidden", "This is for administrators of the server.");
}

function requireScope(principal: Principal, wanted: Scope): void {
  const [scope, level] = wanted.split(":");
  if (!permits(principal.scopes, wanted)) {
    throw new ApiError("forbidden", `This needs a token with ${level} access to the ${scope} scope.`);
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

export const describeVia = (via: Via): string => (via.kind === "token" ? via.name : "browser session");

export const describePrincipal = (principal: Principal): WhoAmI => ({
  username: principal.username,
  teams: principal.teams.map(({ name, role }) => ({ name, role })),
  scopes: [...principal.scopes],
  token_name: describeVia(principal.via),
  expires_at: principal.via.kind === "token" ? principal.via.expiresAt : null,
});
