/** Device login: a program asks, a person confirms in a browser or on another signed-in machine. */
import { randomInt } from "node:crypto";
import { ApiError, allScopes, clientScopes, permits, type Scope } from "@millrace/contract";
import {
  answerDeviceLogin,
  findDeviceLogin,
  findPendingLogin,
  insertDeviceLogin,
  useDeviceLogin,
} from "../store/device-logins.ts";
import type { Store } from "../store/store.ts";
import { day, iso } from "./clock.ts";
import { type Principal, refuseJobToken } from "./principals.ts";
import { hashSecret, newSecret } from "./secrets.ts";
import { mintToken, readScopes } from "./tokens.ts";

export const loginMinutes = 15;

export interface LoginRequest {
  readonly clientName: string;
  readonly tokenName: string | undefined;
  readonly scopes: readonly string[] | undefined;
  readonly teamNames: readonly string[] | undefined;
  readonly expiresInDays: number;
}

export async function startDeviceLogin(store: Store, request: LoginRequest, now: number) {
  const deviceCode = newSecret();
  const userCode = newUserCode();
  const tokenName = request.tokenName ?? `${request.clientName} ${iso(now).slice(0, 16)}Z`;
  // A login that cannot run a job would be of no use, and the client can ask for few names: see parseScope.
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
      expires_at: iso(now + loginMinutes * 60_000),
    }),
  );
  return { deviceCode, userCode, tokenName };
}

/** Letters and digits that nobody confuses, in two groups. */
function newUserCode(): string {
  const alphabet = "BCDFGHJKLMNPQRSTVWXZ23456789";
  const code = Array.from({ length: 8 }, () => alphabet[randomInt(alphabet.length)]).join("");
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/** As people type it: any case, with or without the hyphen. */
const normaliseCode = (text: string) =>
  text
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, "")
    .replace(/^(.{4})(.{4})$/, "$1-$2");

export async function pendingLogin(store: Store, userCode: string, now: number) {
  const login = await findPendingLogin(store.db, normaliseCode(userCode), iso(now));
  if (!login) throw unknownCode(userCode);
  return { ...login, scopes: JSON.parse(login.scopes) as Scope[], teamNames: readNames(login.team_names) };
}

const readNames = (json: string | null) => (json === null ? undefined : (JSON.parse(json) as string[]));

const unknownCode = (userCode: string) =>
  new ApiError(
    "not_found",
    `No login waits for the code ${userCode}. It may have expired (after ${loginMinutes} minutes) or been answered: start the login again.`,
  );

/** The new token reaches as far as was asked, and never further than the rights of the one who approves. */
export async function approveLogin(store: Store, principal: Principal, userCode: string, now: number): Promise<void> {
  refuseJobToken(principal, "approve a login");
  const login = await pendingLogin(store, userCode, now);
  const scopes = login.scopes.filter((scope) => permits(principal.scopes, scope));
  const teams = login.teamNames?.map((name) => {
    const team = principal.teams.find((candidate) => candidate.name === name);
    if (!team) throw new ApiError("forbidden", `The login asks for the team ${name}, and you are not in it.`);
    return team;
  });
  const reach = teams ?? (principal.via.kind === "session" ? null : principal.teams);
  await answer(store, login.user_code, now, {
    status: "approved",
    user_id: principal.userId,
    granted_scopes: JSON.stringify(scopes),
    granted_team_ids: reach && JSON.stringify(reach.map((team) => team.id)),
    granted_until: principal.via.kind === "token" ? principal.via.expiresAt : null,
  });
}

export async function denyLogin(store: Store, principal: Principal, userCode: string, now: number): Promise<void> {
  refuseJobToken(principal, "deny a login");
  const denial = {
    status: "denied",
    user_id: principal.userId,
    granted_scopes: null,
    granted_team_ids: null,
    granted_until: null,
  } as const;
  await answer(store, normaliseCode(userCode), now, denial);
}

async function answer(
  store: Store,
  userCode: string,
  now: number,
  given: Parameters<typeof answerDeviceLogin>[3],
): Promise<void> {
  const answered = await store.write((db) => answerDeviceLogin(db, userCode, iso(now), given));
  if (!answered) throw unknownCode(userCode);
}

/** The token, once; otherwise says why not. */
export async function collectToken(store: Store, deviceCode: string, now: number): Promise<string> {
  const hash = hashSecret(deviceCode);
  const token = await store.write(async (db) => {
    const login = await useDeviceLogin(db, hash, iso(now));
    if (!login?.user_id) return undefined;
    const teamIds = login.granted_team_ids === null ? null : (JSON.parse(login.granted_team_ids) as number[]);
    const scopes = JSON.parse(login.granted_scopes ?? "[]") as Scope[];
    const asked = iso(now + login.expires_in_days * day);
    const expiresAt = login.granted_until !== null && login.granted_until < asked ? login.granted_until : asked;
    const granted = { userId: login.user_id, name: login.token_name, scopes, teamIds, expiresAt };
    return mintToken(db, granted, now);
  });
  if (token) return token;
  const login = await findDeviceLogin(store.db, hash);
  // These three are what the client reads: it compares the text.
  if (login?.status === "denied") throw new ApiError("authorization_denied", "authorization_denied");
  if (login?.status !== "pending" || login.expires_at <= iso(now))
    throw new ApiError("authorization_expired", "authorization_expired");
  throw new ApiError("authorization_pending", "authorization_pending");
}
