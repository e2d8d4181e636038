/** Authenticates the caller from the headers of a request. */
import type { IncomingHttpHeaders } from "node:http";
import { ApiError } from "@millrace/contract";
import { type Principal, principalOfSession, principalOfToken } from "../../domain/access/principals.ts";
import { networkOf } from "../connections/ip-addresses.ts";
import type { RequestContext } from "./context.ts";
import { isOwnSite } from "./own-site.ts";
import type { Site } from "./site.ts";

/** Returns the token of the Authorization header. Clients use both schemes, `Bearer` and `token`. */
function tokenOf(headers: IncomingHttpHeaders): string | undefined {
  return /^(?:bearer|token)\s+(\S+)\s*$/i.exec(headers.authorization ?? "")?.[1];
}

/** What authentication reads of a request. */
interface Asking {
  readonly method?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/**
 * Returns the principal of the token, or of the browser's session if the request has no token. Invalid tokens count
 * against a rate limit of the address. A valid token is accepted even if that limit is exceeded.
 */
export async function authenticate(
  context: RequestContext,
  asking: Asking,
  /** Undefined if the connection was closed. */
  address: string | undefined,
): Promise<Principal> {
  const { store, keys, clock, limits } = context;
  const { headers } = asking;
  if (headers.authorization === undefined && sessionCookieOf(headers, context.site))
    return authenticateSession(context, asking);
  try {
    return await principalOfToken(store, keys, tokenOf(headers), clock.now());
  } catch (error) {
    if (error instanceof ApiError && tokenOf(headers)) limits.badTokens.take(networkOf(address ?? ""));
    throw error;
  }
}

/** A browser sends its cookie with requests that other sites cause, too, so those are refused first. */
async function authenticateSession({ store, clock, site }: RequestContext, asking: Asking): Promise<Principal> {
  if (!isOwnSite(asking, site))
    throw new ApiError(
      "forbidden",
      "A page of another site sent this request, so it was refused. Send a token instead.",
    );
  const principal = await principalOfSession(store.db, sessionCookieOf(asking.headers, site), clock.now());
  if (!principal) throw new ApiError("unauthorized", "The session of this browser has ended. Sign in again.");
  return principal;
}

/**
 * Name of the session cookie. Browsers accept a name with `__Host-` only over HTTPS, from this very host, and for all of
 * its paths, so neither a subdomain nor somebody in the network can set a session of their own. A server below a path
 * prefix limits its cookie to the prefix instead.
 */
const sessionName = ({ isSecure, prefix }: Site) =>
  isSecure && prefix === "" ? "__Host-millrace_session" : "millrace_session";
const browserName = "millrace_browser";

const cookieOf = (name: string, { cookie = "" }: IncomingHttpHeaders) =>
  new RegExp(`(?:^|;\\s*)${name}=([\\w-]+)`).exec(cookie)?.[1];

export const sessionCookieOf = (headers: IncomingHttpHeaders, site: Site) => cookieOf(sessionName(site), headers);

/** Returns the cookie that identifies a browser which has signed in before. */
export const browserCookieOf = (headers: IncomingHttpHeaders) => cookieOf(browserName, headers);

/**
 * Builds a cookie that scripts cannot read and that browsers do not send with requests from other sites. Other services
 * on the same host do not get it if the server has a path prefix.
 */
const cookieMaker = (nameOf: (site: Site) => string, path: string) => (value: string, maxAge: number, site: Site) =>
  `${nameOf(site)}=${value}; Path=${site.prefix + path || "/"}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${site.isSecure ? "; Secure" : ""}`;

export const sessionCookie = cookieMaker(sessionName, "");

export const browserCookie = cookieMaker(() => browserName, "/auth");
