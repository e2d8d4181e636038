/** Pages on which a signed-in user confirms or denies device logins. */
import { scopesInWords } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { actorOf } from "../../domain/access/audit.ts";
import { approveLogin, denyLogin, pendingLogin } from "../../domain/people/device-logins.ts";
import type { RequestContext } from "../requests/context.ts";
import { html, type Page } from "./html.ts";
import { field, privatePage } from "./page-routes.ts";

export function deviceLoginPages(app: FastifyInstance, context: RequestContext): void {
  const { store, clock, limits } = context;
  const url = "/auth/device-login";

  privatePage(app, context, { method: "GET", url }, async ({ request }) => {
    const code = field(request.query, "code");
    return code === "" ? askForCode : showLogin(context, code);
  });

  privatePage(app, context, { method: "POST", url }, async ({ request, principal }) => {
    limits.answers.take(principal.username);
    const code = field(request.body, "code");
    const approve = field(request.body, "answer") === "approve";
    const actor = actorOf(principal, request.ip);
    await (approve ? approveLogin : denyLogin)(store, { principal, actor }, code, clock.now());
    return {
      title: "Device login",
      body: html`<h1>${approve ? "Approved" : "Denied"}</h1><p>${approve ? "The program will be signed in within a few seconds. You can close this page." : "The program gets no token."}</p>`,
    };
  });
}

const askForCode: Page = {
  title: "Device login",
  body: html`<h1>Device login</h1>
<form class="card" method="get" action="/auth/device-login"><label>The code that your program shows <input name="code" autocomplete="off" autofocus></label> <button class="button main">Continue</button></form>`,
};

async function showLogin({ store, clock }: RequestContext, code: string): Promise<Page> {
  const login = await pendingLogin(store, code, clock.now());
  return {
    title: "Device login",
    body: html`<h1>Let ${login.client_name} sign in?</h1>
<p>A program asks for a token in your name. Approve only if you started it and it shows this code:</p>
<p class="code big-code">${login.user_code}</p>
<dl class="facts">
<dt>Token</dt><dd>${login.token_name}</dd>
<dt>It may use</dt><dd>${scopesInWords(login.scopes)}</dd>
<dt>Teams</dt><dd>${login.teamNames?.join(", ") ?? "all of yours"}</dd>
<dt>Valid</dt><dd>${login.expires_in_days} days</dd>
</dl>
<form method="post" action="/auth/device-login">
<input type="hidden" name="code" value="${login.user_code}">
<p class="row"><button class="button main" name="answer" value="approve">Approve</button> <button class="button" name="answer" value="deny">Deny</button></p>
</form>`,
  };
}
