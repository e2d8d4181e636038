/** Pages for signing in with a password or a single-use link, and for signing out. */
import { ApiError } from "@millrace/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { browserDays, isKnownBrowser } from "../../domain/people/browsers.ts";
import {
  beginSession,
  type Entrance,
  type Entry,
  endSession,
  normaliseUsername,
  sessionDays,
  signIn,
} from "../../domain/people/sessions.ts";
import { hashSecret } from "../../domain/secrets/random-secrets.ts";
import { browserCookie, browserCookieOf, sessionCookie } from "../requests/authenticate.ts";
import type { PeopleContext } from "../requests/context.ts";
import type { Page } from "./html.ts";
import { field, privatePage, publicPage } from "./page-routes.ts";
import { ownPath, signInPage } from "./sign-in-form.ts";

/**
 * Sets the session cookie and the cookie by which the browser is recognized at later sign-ins, and redirects to `path`.
 */
export function enter({ site }: PeopleContext, reply: FastifyReply, entry: Entry, path: string): undefined {
  reply.header("set-cookie", [
    sessionCookie(entry.session, sessionDays * 86_400, site),
    browserCookie(entry.browser, browserDays * 86_400, site),
  ]);
  reply.redirect(site.prefix + path, 303);
  return undefined;
}

export const entranceOf = ({ ip, headers }: FastifyRequest): Entrance => ({
  address: ip,
  browser: browserCookieOf(headers),
});

export function signInPages(app: FastifyInstance, context: PeopleContext): void {
  const { store, clock, limits, callers, site } = context;
  const url = "/auth/sign-in";

  const why = "the link's secret is the proof; rate-limited, works once";
  publicPage(
    app,
    context,
    { method: "GET", url, secret: "link", access: { kind: "public", why } },
    async ({ request, reply }) => {
      const link = field(request.query, "link");
      if (link === "") return { ...signInPage(field(request.query, "next")), status: 200 };
      const begin = () => beginSession(store, link, entranceOf(request), clock.now());
      return enter(context, reply, await limits.secrets.countRefused(await callers.keyOf(request), begin), "/");
    },
  );

  publicPage(
    app,
    context,
    { method: "POST", url, access: { kind: "public", why: "the password is the proof; rate-limited" } },
    ({ request, reply }) => answerPassword(context, request, reply),
  );

  privatePage(app, context, { method: "POST", url: "/auth/sign-out" }, async ({ request, reply, principal }) => {
    await endSession(store, principal, request.ip, clock.now());
    reply.header("set-cookie", sessionCookie("", 0, site)).redirect(`${site.prefix}/`, 303);
    return undefined;
  });
}

/**
 * Counts a sign-in attempt. A known browser has its own count. An unknown browser is counted by user and caller
 * together, because a count by user alone would let attackers lock the user out. Returns the key of the count, and the
 * caller if the browser is unknown.
 */
async function takeTry(
  { store, clock, limits, callers }: PeopleContext,
  request: FastifyRequest,
  username: string,
): Promise<{ budget: string; stranger: string | undefined }> {
  const cookie = browserCookieOf(request.headers);
  const isKnown = await isKnownBrowser(store.db, username, cookie, clock.now());
  const caller = await callers.keyOf(request);
  const budget = isKnown ? `browser ${hashSecret(cookie ?? "")} ${username}` : `${caller} ${username}`;
  limits.logins.take(isKnown ? budget : caller);
  limits.guesses.take(budget);
  return { budget, stranger: isKnown ? undefined : caller };
}

async function answerPassword(
  context: PeopleContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Page | undefined> {
  const { store, clock, limits } = context;
  const username = field(request.body, "username");
  const password = field(request.body, "password");
  const next = ownPath(field(request.body, "next"));
  try {
    const { budget, stranger } = await takeTry(context, request, normaliseUsername(username).slice(0, 40));
    const entry = await signIn(store, { username, password, stranger, ...entranceOf(request) }, clock.now());
    limits.guesses.forget(budget);
    return enter(context, reply, entry, next);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.retryAfter !== undefined) reply.header("retry-after", String(error.retryAfter));
    return signInPage(next, { username, problem: error.message, status: error.status });
  }
}
