/** Who is calling, from the headers of a request. */
import type { IncomingHttpHeaders } from "node:http";
import { ApiError } from "@millrace/contract";
import { type Principal, principalOfToken } from "../../domain/access/principals.ts";
import { networkOf } from "../connections/ip-addresses.ts";
import type { RequestContext } from "./context.ts";

/** `Bearer` and `token` are both in use. */
function tokenOf(headers: IncomingHttpHeaders): string | undefined {
  return /^(?:bearer|token)\s+(\S+)\s*$/i.exec(headers.authorization ?? "")?.[1];
}

/** An address that guesses tokens is slowed down; one with a good token never notices. */
export async function authenticate(
  context: RequestContext,
  headers: IncomingHttpHeaders,
  /** Undefined where the caller has gone. */
  address: string | undefined,
): Promise<Principal> {
  const { store, keys, clock, limits } = context;
  try {
    return await principalOfToken(store, keys, tokenOf(headers), clock.now());
  } catch (error) {
    if (error instanceof ApiError && tokenOf(headers)) limits.badTokens.take(networkOf(address ?? ""));
    throw error;
  }
}

const sessionName = "millrace_session";
const browserName = "millrace_browser";

const cookieOf = (name: string, { cookie = "" }: IncomingHttpHeaders) =>
  new RegExp(`(?:^|;\\s*)${name}=([\\w-]+)`).exec(cookie)?.[1];

export const sessionCookieOf = (headers: IncomingHttpHeaders) => cookieOf(sessionName, headers);

/** By which a browser is known that has signed in before. */
export const browserCookieOf = (headers: IncomingHttpHeaders) => cookieOf(browserName, headers);

/** Not for scripts, not for requests that other sites begin. */
const cookieMaker = (name: string, path: string) => (value: string, maxAge: number, secure: boolean) =>
  `${name}=${value}; Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;

export const sessionCookie = cookieMaker(sessionName, "/");

export const browserCookie = cookieMaker(browserName, "/auth");
