/**
 * Service accounts. A service account is a user that is not a person and belongs to one team. Nobody can sign in as a
 * service account; admins of the team create its tokens.
 */
import { ApiError, type Member, type NewToken, type RouteInput, type routes, type Token } from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import { findToken, listTokens, revokeToken } from "../../store/queries/people/tokens.ts";
import { insertUser, serviceAccountOf, type UserRow } from "../../store/queries/people/users.ts";
import { audit } from "../access/audit.ts";
import type { Call, TeamCall } from "../access/call.ts";
import { checkName } from "../access/names.ts";
import type { Team } from "../access/principals.ts";
import { iso } from "../time/clock.ts";
import { join, readMember } from "./memberships.ts";
import { describeTokens, endWithin, mintToken, scopesWithin } from "./tokens.ts";

type Wishes = RouteInput<typeof routes.createServiceAccount>["body"];
type TokenWishes = RouteInput<typeof routes.createServiceToken>["body"];

export async function createServiceAccount(
  store: Store,
  { actor, team }: TeamCall,
  { account_name, role }: Wishes,
  now: number,
): Promise<Member> {
  const username = checkName("account_name", account_name ?? `${team.name}-service`.slice(-39));
  return store.write(async (db) => {
    const names = { username, first_name: "", last_name: "", email: null };
    const rights = { password_hash: null, is_admin: 0, service_team_id: team.id };
    const id = await insertUser(db, { ...names, ...rights, created_at: iso(now), disabled_at: null });
    if (id === undefined) throw await whyNoAccount(db, team, username);
    await audit(db, actor, { action: "service-account.create", team, target: username }, now);
    await join({ db, actor, now }, team, { id, username }, role ?? "editor");
    return readMember(db, team, username);
  });
}

/**
 * Returns the error for a service account that could not be created: the name is taken, or the team already has one.
 */
async function whyNoAccount(db: Db, team: Team, username: string): Promise<ApiError> {
  const there = await serviceAccountOf(db, team.id);
  if (!there)
    return new ApiError("wrong_state", `There is already a user ${username}. Choose another \`account_name\`.`);
  return new ApiError(
    "wrong_state",
    `The team ${team.name} already has a service account, ${there.username}. If the account is no longer a member, add it again.`,
    { hint: "add_member" },
  );
}

async function requireAccount(db: Db, team: Team): Promise<UserRow> {
  const row = await serviceAccountOf(db, team.id);
  if (row) return row;
  throw new ApiError("not_found", `The team ${team.name} has no service account.`, { hint: "create_service_account" });
}

/** Maximum number of tokens in one answer. The newest come first. */
const listPart = 1000;

export async function readServiceTokens(store: Store, { principal, team }: Call, now: number): Promise<Token[]> {
  const { db } = store;
  const { id } = await requireAccount(db, team);
  return describeTokens(db, await listTokens(db, id, iso(now), { before: undefined, limit: listPart }), principal);
}

/**
 * Creates a token of the service account. The new token never has the scope ADMIN, gets no scope that the caller's
 * token lacks, and expires no later than the caller's token.
 */
export async function createServiceToken(
  store: Store,
  { principal, actor, team }: Call,
  { token_name: name, scopes: asked, expires_in_days }: TokenWishes,
  now: number,
): Promise<NewToken> {
  const scopes = scopesWithin(principal, asked ?? []).filter((scope) => !scope.startsWith("ADMIN:"));
  if (scopes.length === 0)
    throw new ApiError(
      "forbidden",
      "The token was not created: your token has none of the requested scopes, apart from ADMIN, which a service account cannot have. Request scopes that your token has, or use a token with more scopes.",
    );
  const expiresAt = endWithin(principal, expires_in_days ?? undefined, now);
  return store.write(async (db) => {
    const { id: userId, username } = await requireAccount(db, team);
    const grant = { userId, username, name, scopes, teamIds: [team.id], expiresAt };
    const { id, secret } = await mintToken({ db, actor, now }, grant, team);
    const row = await findToken(db, id, iso(now));
    const [token] = row ? await describeTokens(db, [row], principal) : [];
    if (!token)
      throw new ApiError("unauthorized", "The token that you use has just expired or been revoked. Sign in again.");
    return { ...token, access_token: secret };
  });
}

export async function revokeServiceToken(
  store: Store,
  { actor, team }: TeamCall,
  tokenId: number,
  now: number,
): Promise<void> {
  await store.write(async (db) => {
    const account = await requireAccount(db, team);
    const row = await findToken(db, tokenId, iso(now));
    if (row?.user_id !== account.id || !(await revokeToken(db, tokenId, iso(now))))
      throw new ApiError("not_found", `${account.username} has no valid token ${tokenId}.`, {
        hint: "list_service_tokens",
      });
    const detail = `of ${account.username}`;
    await audit(db, actor, { action: "token.revoke", team, target: `${tokenId} ${row.name}`, detail }, now);
  });
}
