/** Tokens: made, revoked. */
import { ApiError, allScopes, parseScope, type Scope } from "@millrace/contract";
import type { Db, Store } from "../store/store.ts";
import { insertToken, revokeToken } from "../store/tokens.ts";
import { findTeam, findUser, teamsOf } from "../store/users.ts";
import { day, iso } from "./clock.ts";
import { type Principal, refuseJobToken } from "./principals.ts";
import { hashSecret, newSecret } from "./secrets.ts";

interface NewToken {
  readonly userId: number;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly teamIds: readonly number[] | null;
  readonly expiresAt: string | null;
}

/** Writes the token's hash and returns the token: the only time that it is seen. */
export async function mintToken(db: Db, token: NewToken, now: number): Promise<string> {
  const secret = newSecret("isat_");
  await insertToken(db, {
    user_id: token.userId,
    hash: hashSecret(secret),
    name: token.name,
    scopes: JSON.stringify(token.scopes),
    team_ids: token.teamIds && JSON.stringify(token.teamIds),
    created_at: iso(now),
    expires_at: token.expiresAt,
    last_used_at: null,
    revoked_at: null,
  });
  return secret;
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
  const scopes = options.scopes?.length ? readScopes(options.scopes) : [...allScopes];
  const teamIds = options.team === undefined ? null : [await teamOfUser(store.db, user.id, options.team)];
  const expiresAt = options.expiresInDays === undefined ? null : iso(now + options.expiresInDays * day);
  const token = { userId: user.id, name: "admin token", scopes, teamIds, expiresAt };
  return store.write((db) => mintToken(db, token, now));
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

export async function endToken(store: Store, principal: Principal, now: number): Promise<void> {
  const { via } = principal;
  refuseJobToken(principal, "sign out: it ends with the job");
  if (via.kind === "token") await store.write((db) => revokeToken(db, via.id, iso(now)));
}
