/** Signing in by a one-use link, signing out, and answering device logins. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { approveLogin, denyLogin, pendingLogin } from "../../domain/device-logins.ts";
import { beginSession, endSession, sessionDays } from "../../domain/sessions.ts";
import { sessionCookie, sessionCookieOf } from "../authenticate.ts";
import type { HttpContext } from "../context.ts";
import { html, type Page } from "./html.ts";
import { privatePage, publicPage } from "./page-routes.ts";

export function signInPages(app: FastifyInstance, context: HttpContext): void {
  const { store, clock, limits, publicUrl } = context;
  const secure = () => publicUrl().startsWith("https:");

  publicPage(
    app,
    {
      method: "GET",
      url: "/auth/sign-in",
      access: { kind: "public", why: "the link's secret is the proof; rate-limited, works once" },
    },
    async ({ request, reply }) => {
      limits.logins.take(request.ip);
      const cookie = await beginSession(store, field(request.query, "link"), clock.now());
      reply.header("set-cookie", sessionCookie(cookie, sessionDays * 86_400, secure())).redirect("/", 303);
      return undefined;
    },
  );

  privatePage(app, context, { method: "POST", url: "/auth/sign-out" }, async ({ request, reply }) => {
    await endSession(store, sessionCookieOf(request.headers) ?? "");
    reply.header("set-cookie", sessionCookie("", 0, secure())).redirect("/", 303);
    return undefined;
  });

  privatePage(app, context, { method: "GET", url: "/auth/device-login" }, async ({ request }) => {
    const code = field(request.query, "code");
    return code === "" ? askForCode : showLogin(context, code);
  });

  privatePage(app, context, { method: "POST", url: "/auth/device-login" }, async ({ request, principal }) => {
    limits.logins.take(request.ip);
    const code = field(request.body, "code");
    const approve = field(request.body, "answer") === "approve";
    await (approve ? approveLogin : denyLogin)(store, principal, code, clock.now());
    return {
      title: "Device login",
      body: html`<h1>${approve ? "Approved" : "Denied"}</h1><p>${approve ? "The program that asked is signed in within a few seconds. You can close this page." : "The program that asked gets no token."}</p>`,
    };
  });
}

const field = (source: FastifyRequest["query"], name: string) => {
  const value = (source as Record<string, unknown> | undefined)?.[name];
  return typeof value === "string" ? value : "";
};

const askForCode: Page = {
  title: "Device login",
  body: html`<h1>Device login</h1>
<form method="get" action="/auth/device-login"><p><label>The code that your program shows: <input name="code" autocomplete="off" autofocus></label> <button class="main">Continue</button></p></form>`,
};

async function showLogin({ store, clock }: HttpContext, code: string): Promise<Page> {
  const login = await pendingLogin(store, code, clock.now());
  return {
    title: "Device login",
    body: html`<h1>Let ${login.client_name} in?</h1>
<p>A program asks for a token in your name. Approve only if you started it and it shows this code:</p>
<pre>${login.user_code}</pre>
<dl>
<dt>Token</dt><dd>${login.token_name}</dd>
<dt>May</dt><dd>${login.scopes.join(", ")}</dd>
<dt>Teams</dt><dd>${login.teamNames?.join(", ") ?? "all of yours"}</dd>
<dt>Valid</dt><dd>${login.expires_in_days} days</dd>
</dl>
<form method="post" action="/auth/device-login">
<input type="hidden" name="code" value="${login.user_code}">
<p><button class="main" name="answer" value="approve">Approve</button> <button name="answer" value="deny">Deny</button></p>
</form>`,
  };
}
