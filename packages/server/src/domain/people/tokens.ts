/** Tokens: made, listed, revoked. */
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

interface Grant {
  readonly userId: number;
  readonly username: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Null: all teams of the user, also later ones. */
  readonly teamIds: readonly number[] | null;
  readonly expiresAt: string | null;
}

/** Inside a write: writes the token's hash and returns the token, the only time that it is seen. */
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

export interface AdminTokenOptions {
  readonly user?: string | undefined;
  readonly team?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly expiresInDays?: number | undefined;
}

/** For whoever may open the store itself. */
export async function createAdminToken(store: Store, options: AdminTokenOptions, now: number): Promise<string> {
  const username = options.user ?? "admin";
  const user = await findUser(store.db, username);
  if (!user) throw new Error(`There is no user ${username}.`);
  if (user.disabled_at) throw new Error(`The user ${username} is disabled.`);
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
    throw new Error(`The user is in no team ${name}. Teams: ${mine.map((t) => t.name).join(", ") || "none"}.`);
  }
  return team.id;
}

/** Scopes as typed; an unknown one is refused by name. */
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

/** A token of one's own. It reaches no further than the one that makes it: scopes, teams, time. */
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
    if (!token) throw new ApiError("unauthorized", "The token that you use has just ended.");
    return { ...token, access_token: secret };
  });
}

export function scopesWithin({ scopes }: Principal, texts: readonly string[]): Scope[] {
  if (texts.length === 0) return [...scopes];
  const asked = readScopes(texts);
  const beyond = asked.filter((scope) => !permits(scopes, scope));
  if (beyond.length > 0)
    throw new ApiError("forbidden", `Your token has no ${beyond.join(", ")}: a new one reaches no further than it.`);
  return asked;
}

/** Null: all teams, also later ones. */
export function teamsWithin({ teams, via }: Principal, names: readonly string[]): number[] | null {
  if (names.length > 0)
    return names.map((name) => {
      const team = teams.find((candidate) => candidate.name === name);
      if (!team)
        throw new ApiError(
          "forbidden",
          `Not authorized for the team ${name}: you are not in it, or not with this token.`,
        );
      return team.id;
    });
  const all = via.kind === "session" || (via.kind === "token" && via.allTeams);
  return all ? null : teams.map(({ id }) => id);
}

/** The earlier of what is asked and the end of the token in use. */
export function endWithin({ via }: Principal, days: number | undefined, now: number): string | null {
  const own = via.kind === "token" ? via.expiresAt : null;
  if (days === undefined) return own;
  const asked = iso(now + days * day);
  return own !== null && own < asked ? own : asked;
}

/** Tokens of one answer. */
const listPart = 1000;

interface TokenPage {
  readonly tokens: Token[];
  /** Where to go on; undefined: nothing follows. */
  readonly next: number | undefined;
}

/** One's own; for administrators of the server anybody's. */
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

/** Undefined: everybody's. */
async function whoseTokens(db: Db, principal: Principal, query: TokenQuery): Promise<number | undefined> {
  const own = !query.all_users && (query.username === undefined || query.username === principal.username);
  if (own) return principal.userId;
  requireScope(principal, "ADMIN:read");
  if (!principal.isAdmin)
    throw new ApiError("forbidden", "Tokens of others are shown to administrators of the server only.");
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
      throw new ApiError("not_found", `There is no token ${id} that works.`, { hint: "list_tokens" });
    const detail = `of ${row.username}`;
    await audit(db, actor, { action: "token.revoke", target: `${id} ${row.name}`, detail }, now);
  });
}
