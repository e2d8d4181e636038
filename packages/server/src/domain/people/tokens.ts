/** Access tokens: creates, lists and revokes them. */
import {
  ApiError,
  allScopes,
  type NewToken,
  parseScope,
  permits,
  type RouteInput,
  type routes,
  type Scope,
  type Token,
} from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import { teamsOf } from "../../store/queries/people/memberships.ts";
import { findTeam, namesOfTeams } from "../../store/queries/people/teams.ts";
import { findToken, insertToken, listTokens, revokeToken, type TokenRow } from "../../store/queries/people/tokens.ts";
import { findUser } from "../../store/queries/people/users.ts";
import { audit, operator } from "../access/audit.ts";
import type { Caller } from "../access/call.ts";
import type { Edit } from "../access/edit.ts";
import { existingUser } from "../access/existing-user.ts";
import { type Principal, refuseServiceAccount, requireScope } from "../access/principals.ts";
import { hashSecret, newSecret } from "../secrets/random-secrets.ts";
import { day, iso } from "../time/clock.ts";

/** The user and the rights of a new token. */
interface Grant {
  readonly userId: number;
  readonly username: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /**
   * Ids of the teams in which the token is valid; null for all teams of the user, including those that the user joins
   * later.
   */
  readonly teamIds: readonly number[] | null;
  /** ISO time; null if the token does not expire. */
  readonly expiresAt: string | null;
}

/**
 * Creates a token and stores its hash. Returns the token itself, which cannot be read again later. For a token of a
 * service account, `team` is the team of the account, for the audit entry; otherwise it is undefined.
 */
export async function mintToken({ db, actor, now }: Edit, grant: Grant, team?: { readonly id: number }) {
  const secret = newSecret("isat_");
  const id = await insertToken(db, {
    user_id: grant.userId,
    hash: hashSecret(secret),
    name: grant.name,
    scopes: JSON.stringify(grant.scopes),
    team_ids: grant.teamIds && JSON.stringify(grant.teamIds),
    created_at: iso(now),
    expires_at: grant.expiresAt,
    last_used_at: null,
    revoked_at: null,
  });
  const detail = `for ${grant.username}: ${grant.scopes.join(" ")}`;
  await audit(db, actor, { action: "token.create", team, target: `${id} ${grant.name}`, detail }, now);
  return { id, secret };
}

/** Options of the command that creates a token directly in the store. */
export interface AdminTokenOptions {
  readonly user?: string | undefined;
  readonly team?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly expiresInDays?: number | undefined;
}

/** Creates a token for a user and returns it. Used by admin commands, which open the store directly. */
export async function createAdminToken(store: Store, options: AdminTokenOptions, now: number): Promise<string> {
  const username = options.user ?? "admin";
  const user = await findUser(store.db, username);
  if (!user) throw new Error(`There is no user ${username}.`);
  if (user.disabled_at) throw new Error(`The user ${username} is disabled, and gets no token. Enable the user first.`);
  const scopes = options.scopes?.length ? readScopes(options.scopes) : [...allScopes];
  const teamIds = options.team === undefined ? null : [await teamOfUser(store.db, user.id, options.team)];
  const expiresAt = options.expiresInDays === undefined ? null : iso(now + options.expiresInDays * day);
  const grant = { userId: user.id, username, name: "admin token", scopes, teamIds, expiresAt };
  return (await store.write((db) => mintToken({ db, actor: operator, now }, grant))).secret;
}

async function teamOfUser(db: Db, userId: number, name: string): Promise<number> {
  const team = await findTeam(db, name);
  const mine = await teamsOf(db, userId);
  if (!team || !mine.some(({ id }) => id === team.id)) {
    throw new Error(
      `The user is not a member of a team named ${name}. Teams of the user: ${mine.map((t) => t.name).join(", ") || "none"}.`,
    );
  }
  return team.id;
}

/** Parses scopes as a user typed them; throws an error that names the first unknown one. */
export function readScopes(texts: readonly string[]): Scope[] {
  const scopes = texts.flatMap((text) => {
    const parsed = parseScope(text);
    if (!parsed)
      throw new ApiError("invalid", `scopes: expected names such as JOB, DATASETS:read or CLUSTERS, got "${text}"`);
    return parsed;
  });
  return [...new Set(scopes)];
}

type TokenWishes = RouteInput<typeof routes.createToken>["body"];
type TokenQuery = RouteInput<typeof routes.listTokens>["query"];

/**
 * Creates a token for the caller. Compared with the token that the caller uses, the new token gets no more scopes and
 * no more teams, and expires no later.
 */
export async function createToken(
  store: Store,
  { principal, actor }: Caller,
  wishes: TokenWishes,
  now: number,
): Promise<NewToken> {
  await refuseServiceAccount(store.db, principal, "create tokens: an admin of its team creates them");
  const grant: Grant = {
    userId: principal.userId,
    username: principal.username,
    name: wishes.name,
    scopes: scopesWithin(principal, wishes.scopes ?? []),
    teamIds: teamsWithin(principal, wishes.team_names ?? []),
    expiresAt: endWithin(principal, wishes.expires_in_days ?? undefined, now),
  };
  return store.write(async (db) => {
    const { id, secret } = await mintToken({ db, actor, now }, grant);
    const row = await findToken(db, id, iso(now));
    const [token] = row ? await describeTokens(db, [row], principal) : [];
    if (!token)
      throw new ApiError("unauthorized", "The token that you use has just expired or been revoked. Sign in again.");
    return { ...token, access_token: secret };
  });
}

/**
 * Returns the requested scopes. If none are requested, returns all scopes of the caller. Throws if the caller lacks a
 * requested scope.
 */
export function scopesWithin({ scopes }: Principal, texts: readonly string[]): Scope[] {
  if (texts.length === 0) return [...scopes];
  const asked = readScopes(texts);
  const beyond = asked.filter((scope) => !permits(scopes, scope));
  if (beyond.length > 0)
    throw new ApiError(
      "forbidden",
      `Your token does not have these scopes: ${beyond.join(", ")}. A new token cannot have more scopes than the token that creates it. Leave these scopes out, or use a token that has them.`,
    );
  return asked;
}

/**
 * Returns the ids of the named teams. If no team is named, returns the teams of the token that the caller uses; null if
 * that token is valid in all teams of the user, including future ones.
 */
export function teamsWithin({ teams, via }: Principal, names: readonly string[]): number[] | null {
  if (names.length > 0)
    return names.map((name) => {
      const team = teams.find((candidate) => candidate.name === name);
      if (!team)
        throw new ApiError(
          "forbidden",
          `Not authorized for the team ${name}: you are not a member of it, or your token is not valid in it. Use another token, or ask an admin of the team to add you.`,
        );
      return team.id;
    });
  const all = via.kind === "session" || (via.kind === "token" && via.allTeams);
  return all ? null : teams.map(({ id }) => id);
}

/**
 * Returns the time at which a new token expires: after `days`, but no later than the token that the caller uses.
 * Returns null if the new token never expires.
 */
export function endWithin({ via }: Principal, days: number | undefined, now: number): string | null {
  const own = via.kind === "token" ? via.expiresAt : null;
  if (days === undefined) return own;
  const asked = iso(now + days * day);
  return own !== null && own < asked ? own : asked;
}

/** Maximum number of tokens in one answer. */
const listPart = 1000;

interface TokenPage {
  readonly tokens: Token[];
  /** Cursor of the next page; undefined on the last page. */
  readonly next: number | undefined;
}

/** Lists the caller's tokens. Administrators of the server can list the tokens of any user. */
export async function readTokens(
  store: Store,
  principal: Principal,
  query: TokenQuery,
  now: number,
): Promise<TokenPage> {
  const { db } = store;
  const rows = await listTokens(db, await whoseTokens(db, principal, query), iso(now), {
    before: query.cursor,
    limit: listPart,
  });
  return {
    tokens: await describeTokens(db, rows, principal),
    next: rows.length < listPart ? undefined : rows.at(-1)?.id,
  };
}

/** Returns the id of the user whose tokens the query asks for; undefined for all users. */
async function whoseTokens(db: Db, principal: Principal, query: TokenQuery): Promise<number | undefined> {
  const own = !query.all_users && (query.username === undefined || query.username === principal.username);
  if (own) return principal.userId;
  requireScope(principal, "ADMIN:read");
  if (!principal.isAdmin)
    throw new ApiError("forbidden", "Only administrators of the server may list the tokens of other users.");
  return query.username === undefined ? undefined : (await existingUser(db, query.username)).id;
}

export async function describeTokens(db: Db, rows: readonly TokenRow[], { via }: Principal): Promise<Token[]> {
  const reach = new Map(
    rows.map((row) => [row.id, row.team_ids === null ? null : (JSON.parse(row.team_ids) as number[])]),
  );
  const ids = [...new Set([...reach.values()].flatMap((list) => list ?? []))];
  const names = new Map(ids.length === 0 ? [] : (await namesOfTeams(db, ids)).map(({ id, name }) => [id, name]));
  return rows.map(({ id, name, username, scopes, created_at, expires_at, last_used_at }) => ({
    id,
    name,
    username,
    scopes: JSON.parse(scopes) as Scope[],
    team_names: reach.get(id)?.flatMap((team) => names.get(team) ?? []) ?? null,
    created_at,
    expires_at,
    last_used_at,
    current: via.kind === "token" && via.id === id,
  }));
}

export async function endToken(store: Store, { principal, actor }: Caller, id: number, now: number): Promise<void> {
  const { via, userId, isAdmin } = principal;
  const itself = via.kind === "token" && via.id === id;
  if (!itself) requireScope(principal, "ADMIN:write");
  await store.write(async (db) => {
    const row = await findToken(db, id, iso(now));
    if (!row || (row.user_id !== userId && !isAdmin) || !(await revokeToken(db, id, iso(now))))
      throw new ApiError("not_found", `There is no valid token ${id} that you may revoke.`, { hint: "list_tokens" });
    const detail = `of ${row.username}`;
    await audit(db, actor, { action: "token.revoke", target: `${id} ${row.name}`, detail }, now);
  });
}
