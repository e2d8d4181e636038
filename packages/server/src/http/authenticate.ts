/** Who is calling, from the headers of a request. */
import type { IncomingHttpHeaders } from "node:http";
import { ApiError } from "@millrace/contract";
import { type Principal, principalOfToken } from "../domain/principals.ts";
import type { HttpContext } from "./context.ts";

/** `Bearer` and `token` are both in use. */
function tokenOf(headers: IncomingHttpHeaders): string | undefined {
  return /^(?:bearer|token)\s+(\S+)\s*$/i.exec(headers.authorization ?? "")?.[1];
}

/** An address that guesses tokens is slowed down; one with a good token never notices. */
export async function authenticate(
  context: HttpContext,
  headers: IncomingHttpHeaders,
  address: string,
): Promise<Principal> {
  const { store, keys, clock, limits } = context;
  try {
    return await principalOfToken(store, keys, tokenOf(headers), clock.now());
  } catch (error) {
    if (error instanceof ApiError && tokenOf(headers)) limits.badTokens.take(address);
    throw error;
  }
}

const cookieName = "millrace_session";

export const sessionCookieOf = (headers: IncomingHttpHeaders) =>
  new RegExp(`(?:^|;\\s*)${cookieName}=([\\w-]+)`).exec(headers.cookie ?? "")?.[1];

/** Not for scripts, not for requests that other sites begin. */
export const sessionCookie = (value: string, maxAge: number, secure: boolean) =>
  `${cookieName}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
