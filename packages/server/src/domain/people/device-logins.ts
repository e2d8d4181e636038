/**
 * Device login: a program requests a token, and a person approves the request in a browser or on another machine that
 * is signed in.
 */
import { randomInt } from "node:crypto";
import { ApiError, allScopes, clientScopes, permits, type Scope } from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import {
  type Answer,
  answerDeviceLogin,
  findDeviceLogin,
  findPendingLogin,
  insertDeviceLogin,
  useDeviceLogin,
} from "../../store/queries/people/device-logins.ts";
import { findToken } from "../../store/queries/people/tokens.ts";
import { getUser } from "../../store/queries/people/users.ts";
import { type Actor, audit } from "../access/audit.ts";
import type { Caller } from "../access/call.ts";
import type { Edit } from "../access/edit.ts";
import { refuseServiceAccount } from "../access/principals.ts";
import { hashSecret, newSecret } from "../secrets/random-secrets.ts";
import { day, iso } from "../time/clock.ts";
import { mintToken, readScopes, teamsWithin } from "./tokens.ts";

/** Minutes after which a device login that nobody has answered expires. */
export const loginMinutes = 15;

/** What a program requests when it starts a device login. */
export interface LoginRequest {
  readonly clientName: string;
  readonly tokenName: string | undefined;
  readonly scopes: readonly string[] | undefined;
  readonly teamNames: readonly string[] | undefined;
  readonly expiresInDays: number;
}

/** Starts a device login. Returns the secret code for the program and the short code that a person types. */
export async function startDeviceLogin(store: Store, request: LoginRequest, now: number) {
  const deviceCode = newSecret();
  const userCode = newUserCode();
  const tokenName = request.tokenName ?? `${request.clientName} ${iso(now).slice(0, 16)}Z`;
  // The client can request only some scopes by name (see parseScope), so those that it needs to run jobs are added.
  const scopes = request.scopes?.length ? [...new Set([...readScopes(request.scopes), ...clientScopes])] : allScopes;
  await store.write((db) =>
    insertDeviceLogin(db, {
      device_hash: hashSecret(deviceCode),
      user_code: userCode,
      client_name: request.clientName,
      token_name: tokenName,
      scopes: JSON.stringify(scopes),
      team_names: request.teamNames?.length ? JSON.stringify(request.teamNames) : null,
      expires_in_days: request.expiresInDays,
      status: "pending",
      user_id: null,
      granted_scopes: null,
      granted_team_ids: null,
      granted_until: null,
      granted_by: null,
      expires_at: iso(now + loginMinutes * 60_000),
    }),
  );
  return { deviceCode, userCode, tokenName };
}

/** Returns a random code in two groups. It has only letters and digits that people do not confuse with one another. */
function newUserCode(): string {
  const alphabet = "BCDFGHJKLMNPQRSTVWXZ23456789";
  const code = Array.from({ length: 8 }, () => alphabet[randomInt(alphabet.length)]).join("");
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/** Converts a typed code to the stored form. People may type it in upper or lower case, with or without the hyphen. */
const normaliseCode = (text: string) =>
  text
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, "")
    .replace(/^(.{4})(.{4})$/, "$1-$2");

/** Returns the device login that waits for an answer under this code; throws if there is none. */
export async function pendingLogin(store: Store, userCode: string, now: number) {
  const login = await findPendingLogin(store.db, normaliseCode(userCode), iso(now));
  if (!login) throw unknownCode(userCode);
  return { ...login, scopes: JSON.parse(login.scopes) as Scope[], teamNames: readNames(login.team_names) };
}

const readNames = (json: string | null) => (json === null ? undefined : (JSON.parse(json) as string[]));

const unknownCode = (userCode: string) =>
  new ApiError(
    "not_found",
    `No login waits for the code ${userCode}. The login has expired (after ${loginMinutes} minutes) or was already answered, or the code is wrong. Check the code, or start the login again.`,
  );

/**
 * Approves a device login. The new token gets the requested scopes that the approver has. Throws if the approver is not
 * in a requested team.
 */
export async function approveLogin(
  store: Store,
  { principal, actor }: Caller,
  userCode: string,
  now: number,
): Promise<void> {
  await refuseServiceAccount(store.db, principal, "approve logins");
  const login = await pendingLogin(store, userCode, now);
  const { via } = principal;
  const elsewhere = login.teamNames?.find((name) => !principal.teams.some((team) => team.name === name));
  if (elsewhere)
    throw new ApiError(
      "forbidden",
      `The login requests the team ${elsewhere}, and you are not a member of it. Deny the login, or ask an admin of the team to add you.`,
    );
  const reach = teamsWithin(principal, login.teamNames ?? []);
  const approval: Answer = {
    status: "approved",
    user_id: principal.userId,
    granted_scopes: JSON.stringify(login.scopes.filter((scope) => permits(principal.scopes, scope))),
    granted_team_ids: reach && JSON.stringify(reach),
    granted_until: via.kind === "token" ? via.expiresAt : null,
    granted_by: via.kind === "token" ? via.id : null,
  };
  await store.write((db) => answer({ db, actor, now }, login.user_code, approval));
}

export async function denyLogin(
  store: Store,
  { principal, actor }: Caller,
  userCode: string,
  now: number,
): Promise<void> {
  const refusal: Answer = {
    status: "denied",
    user_id: principal.userId,
    granted_scopes: null,
    granted_team_ids: null,
    granted_until: null,
    granted_by: null,
  };
  await store.write((db) => answer({ db, actor, now }, normaliseCode(userCode), refusal));
}

/** Records the answer to a device login. Throws if the login has expired or was answered before. */
async function answer({ db, actor, now }: Edit, userCode: string, given: Answer): Promise<void> {
  if (!(await answerDeviceLogin(db, userCode, iso(now), given))) throw unknownCode(userCode);
  const action = given.status === "approved" ? "device-login.approve" : "device-login.deny";
  await audit(db, actor, { action, target: userCode }, now);
}

/** Returns whether this server issued the code and still has its row. */
export const isDeviceCode = async (db: Db, deviceCode: string) =>
  (await findDeviceLogin(db, hashSecret(deviceCode))) !== undefined;

/**
 * Returns the token of an approved login; this works only once per login. If there is no token, or no token yet, throws
 * an error that says why.
 */
export async function collectToken(store: Store, deviceCode: string, address: string, now: number): Promise<string> {
  const hash = hashSecret(deviceCode);
  const token = await giveToken(store, hash, address, now);
  if (token) return token;
  throw whyNoToken(await findDeviceLogin(store.db, hash), now);
}

/**
 * Creates the token of an approved login. Returns undefined, and writes nothing, if the login is not approved. Also
 * returns undefined if the approver is disabled or the approver's token is no longer valid.
 */
async function giveToken(store: Store, hash: string, address: string, now: number): Promise<string | undefined> {
  if ((await findDeviceLogin(store.db, hash))?.status !== "approved") return undefined;
  return store.write(async (db) => {
    const login = await useDeviceLogin(db, hash, iso(now));
    const user = login && (await approverOf(db, login, now));
    if (!login || !user) return undefined;
    const asked = iso(now + login.expires_in_days * day);
    const grant = {
      userId: user.id,
      username: user.username,
      name: login.token_name,
      scopes: JSON.parse(login.granted_scopes ?? "[]") as Scope[],
      teamIds: login.granted_team_ids === null ? null : (JSON.parse(login.granted_team_ids) as number[]),
      expiresAt: login.granted_until !== null && login.granted_until < asked ? login.granted_until : asked,
    };
    const actor: Actor = { userId: user.id, username: user.username, via: "device login", address };
    return (await mintToken({ db, actor, now }, grant)).secret;
  });
}

/**
 * Returns the error for a poll that gets no token. The client compares the message text, so the text must not change. A
 * login that was approved during this poll counts as pending; the next poll gets the token.
 */
function whyNoToken(login: { status: string; expires_at: string } | undefined, now: number): ApiError {
  if (login?.status === "denied") return new ApiError("authorization_denied", "authorization_denied");
  const waits = login?.status === "pending" || login?.status === "approved";
  if (!waits || login.expires_at <= iso(now)) return new ApiError("authorization_expired", "authorization_expired");
  return new ApiError("authorization_pending", "authorization_pending");
}

type Approval = NonNullable<Awaited<ReturnType<typeof useDeviceLogin>>>;

/**
 * Returns the user who approved the login. Returns undefined if that user is disabled, or if the token that the user
 * approved with is no longer valid.
 */
async function approverOf(db: Db, { user_id, granted_by }: Approval, now: number) {
  if (granted_by !== null && !(await findToken(db, granted_by, iso(now)))) return undefined;
  const user = user_id === null ? undefined : await getUser(db, user_id);
  return user && !user.disabled_at ? user : undefined;
}
