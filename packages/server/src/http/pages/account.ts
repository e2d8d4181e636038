/** Page of the signed-in user's account: names, e-mail address, password. */
import { ApiError, routes, shortestPassword, type WhoAmI } from "@millrace/contract";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { actorOf } from "../../domain/access/audit.ts";
import type { Principal } from "../../domain/access/principals.ts";
import { changePassword, changeProfile, describePrincipal } from "../../domain/people/profile.ts";
import type { RequestContext } from "../requests/context.ts";
import { type Html, html, type Page } from "./html.ts";
import { checkForm, field, privatePage } from "./page-routes.ts";

const url = "/auth/account";

export function accountPages(app: FastifyInstance, context: RequestContext): void {
  privatePage(app, context, { method: "GET", url }, ({ principal }) => showAccount(context, principal));

  privatePage(app, context, { method: "POST", url }, async ({ request, principal }) => {
    try {
      const done = await change(context, request, principal);
      return showAccount(context, principal, html`<p class="said good" role="status">${done}</p>`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const page = await showAccount(context, principal, html`<p class="said bad" role="alert">${error.message}</p>`);
      return { ...page, status: error.status };
    }
  });
}

/** Applies the submitted form, and returns a message for the user. */
async function change(
  { store, clock, limits }: RequestContext,
  request: FastifyRequest,
  principal: Principal,
): Promise<string> {
  const text = (name: string) => field(request.body, name);
  const actor = actorOf(principal, request.ip);
  if (text("change") === "profile") {
    const fields = { first_name: text("first_name"), last_name: text("last_name"), email: text("email").trim() };
    await changeProfile(store, { principal, actor }, checkForm(request, routes.updateProfile, fields), clock.now());
    return "Your profile was changed.";
  }
  if (text("password") !== text("again"))
    throw new ApiError("invalid", "The two new passwords differ. Type the same password twice.");
  limits.passwords.take(principal.username);
  const passwords = { current_password: text("current_password"), password: text("password") };
  const input = checkForm(request, routes.changePassword, passwords);
  await changePassword(store, { principal, actor }, input, clock.now());
  return "Your password was changed. Other browsers were signed out.";
}

async function showAccount({ store }: RequestContext, principal: Principal, message?: Html): Promise<Page> {
  const me = await describePrincipal(store.db, principal);
  return {
    title: "Account",
    body: html`<h1>${me.username}</h1>
${message}
<dl class="facts">
<dt>Teams</dt><dd>${me.teams.map(({ name, role }) => `${name} (${role})`).join(", ") || "none"}</dd>
${me.is_admin && html`<dt>Server</dt><dd>administrator</dd>`}
<dt>Programs</dt><dd><a href="/auth/tokens">Tokens for programs and scripts</a></dd>
</dl>
<h2>Profile</h2>
${profileForm(me)}
<h2>Password</h2>
${passwordForm(me)}`,
  };
}

const profileForm = (me: WhoAmI) => html`<form class="card" method="post" action="${url}">
<label>First name <input name="first_name" autocomplete="given-name" maxlength="100" value="${me.first_name}"></label>
<label>Last name <input name="last_name" autocomplete="family-name" maxlength="100" value="${me.last_name}"></label>
<label><span>E-mail <span class="soft">(optional)</span></span> <input name="email" type="email" autocomplete="email" maxlength="254" value="${me.email}"></label>
<button class="button main" name="change" value="profile">Save</button>
</form>`;

const passwordForm = (me: WhoAmI) => html`<form class="card" method="post" action="${url}">
<input type="hidden" name="username" autocomplete="username" value="${me.username}">
${me.has_password && html`<label>Current password <input name="current_password" type="password" autocomplete="current-password" required></label>`}
<label><span>New password <span class="soft">(${shortestPassword} characters or more)</span></span> <input name="password" type="password" autocomplete="new-password" required minlength="${shortestPassword}"></label>
<label>New password again <input name="again" type="password" autocomplete="new-password" required></label>
<button class="button main" name="change" value="password">${me.has_password ? "Change the password" : "Set a password"}</button>
</form>`;
