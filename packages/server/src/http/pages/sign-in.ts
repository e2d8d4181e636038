/** Signing in by a password or a one-use link, and signing out. */
import { ApiError } from "@millrace/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { beginSession, endSession, normaliseUsername, sessionDays, signIn } from "../../domain/sessions.ts";
import { sessionCookie, sessionCookieOf } from "../authenticate.ts";
import type { HttpContext } from "../context.ts";
import type { Page } from "./html.ts";
import { field, privatePage, publicPage } from "./page-routes.ts";
import { ownPath, signInPage } from "./sign-in-form.ts";

/** Gives the browser its session and sends it on. */
export function enter({ publicUrl }: HttpContext, reply: FastifyReply, cookie: string, path: string): undefined {
  const secure = publicUrl().startsWith("https:");
  const age = cookie === "" ? 0 : sessionDays * 86_400;
  reply.header("set-cookie", sessionCookie(cookie, age, secure)).redirect(path, 303);
  return undefined;
}

export function signInPages(app: FastifyInstance, context: HttpContext): void {
  const { store, clock, limits } = context;
  const url = "/auth/sign-in";

  publicPage(
    app,
    { method: "GET", url, access: { kind: "public", why: "the link's secret is the proof; rate-limited, works once" } },
    async ({ request, reply }) => {
      const link = field(request.query, "link");
      if (link === "") return { ...signInPage(field(request.query, "next")), status: 200 };
      limits.logins.take(request.ip);
      return enter(context, reply, await beginSession(store, link, request.ip, clock.now()), "/");
    },
  );

  publicPage(
    app,
    { method: "POST", url, access: { kind: "public", why: "the password is the proof; rate-limited" } },
    ({ request, reply }) => answerPassword(context, request, reply),
  );

  privatePage(app, context, { method: "POST", url: "/auth/sign-out" }, async ({ request, reply }) => {
    await endSession(store, sessionCookieOf(request.headers) ?? "", request.ip, clock.now());
    return enter(context, reply, "", "/");
  });
}

async function answerPassword(
  context: HttpContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Page | undefined> {
  const { store, clock, limits } = context;
  const username = field(request.body, "username");
  const password = field(request.body, "password");
  const next = ownPath(field(request.body, "next"));
  try {
    limits.logins.take(request.ip);
    limits.passwords.take(normaliseUsername(username).slice(0, 40));
    return enter(context, reply, await signIn(store, { username, password, address: request.ip }, clock.now()), next);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.retryAfter !== undefined) reply.header("retry-after", String(error.retryAfter));
    return signInPage(next, { username, problem: error.message, status: error.status });
  }
}
