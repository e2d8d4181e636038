/** Pages that accept an invitation: as the signed-in user, or with a new account. */
import { ApiError, type InvitationOffer, routes, shortestPassword } from "@millrace/contract";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { actorOf } from "../../domain/access/audit.ts";
import type { Principal } from "../../domain/access/principals.ts";
import { acceptInvitation, readOffer, signUp } from "../../domain/people/invitations.ts";
import { type Entry, normaliseUsername, openSession } from "../../domain/people/sessions.ts";
import type { PeopleContext } from "../requests/context.ts";
import { type Html, html, type Page } from "./html.ts";
import { checkForm, field, publicPage, visitor } from "./page-routes.ts";
import { enter, entranceOf } from "./sign-in.ts";

const url = "/auth/invitation";
const access = { kind: "public", why: "the code of the link is the proof; rate-limited, works once" } as const;

export function invitationPages(app: FastifyInstance, context: PeopleContext): void {
  const { store, clock, limits, callers, site } = context;

  publicPage(app, context, { method: "GET", url, access, secret: "code" }, async ({ request }) =>
    limits.secrets.countRefused(await callers.keyOf(request), () =>
      showInvitation(context, request, field(request.query, "code")),
    ),
  );

  publicPage(app, context, { method: "POST", url, access }, async ({ request, reply }) => {
    const caller = await callers.keyOf(request);
    const code = field(request.body, "code");
    try {
      if (field(request.body, "answer") !== "join")
        return enter(
          context,
          reply,
          await limits.secrets.countRefused(caller, () => makeAccount(context, request, code)),
          "/",
        );
      const principal = await visitor(context, request);
      if (!principal)
        throw new ApiError("unauthorized", "Your session has ended. Sign in, then open the invitation again.");
      const actor = actorOf(principal, request.ip);
      await limits.secrets.countRefused(caller, () => acceptInvitation(store, { principal, actor }, code, clock.now()));
      reply.redirect(`${site.prefix}/`, 303);
      return undefined;
    } catch (error) {
      if (!(error instanceof ApiError) || error.code === "not_found") throw error;
      return { ...(await showInvitation(context, request, code, error.message)), status: error.status };
    }
  });
}

/** Creates the account and opens a session for the new user. */
async function makeAccount({ store, clock }: PeopleContext, request: FastifyRequest, code: string): Promise<Entry> {
  const text = (name: string) => field(request.body, name);
  if (text("password") !== text("again"))
    throw new ApiError("invalid", "The two passwords differ. Type the same password twice.");
  const account = checkForm(request, routes.signUp, {
    code,
    username: normaliseUsername(text("username")),
    first_name: text("first_name"),
    last_name: text("last_name"),
    email: text("email").trim(),
    password: text("password"),
  });
  const { userId } = await signUp(store, account, request.ip, clock.now());
  const user = { id: userId, username: account.username };
  return store.write((db) => openSession(db, user, { via: "invitation", ...entranceOf(request) }, clock.now()));
}

async function showInvitation(
  context: PeopleContext,
  request: FastifyRequest,
  code: string,
  problem?: string,
): Promise<Page> {
  const offer = await readOffer(context.store.db, code, context.clock.now());
  const principal = await visitor(context, request);
  return {
    title: `Join ${offer.team_name}`,
    user: principal?.username,
    body: html`<h1>Join the team ${offer.team_name}</h1>
<p>${offer.invited_by} invites you as ${offer.role}. The invitation works once, until ${offer.expires_at.slice(0, 10)}.</p>
${problem && html`<p class="said bad" role="alert">${problem}</p>`}
${principal ? joinForm(principal, offer, code) : accountForm(request, code)}`,
  };
}

const joinForm = (
  principal: Principal,
  offer: InvitationOffer,
  code: string,
): Html => html`<form method="post" action="${url}">
<input type="hidden" name="code" value="${code}">
<p><button class="button main" name="answer" value="join">Join ${offer.team_name} as ${principal.username}</button></p>
</form>
<p class="soft small">Not ${principal.username}? Sign out first, then open the link again.</p>`;

function accountForm(request: FastifyRequest, code: string): Html {
  const typed = (name: string) => field(request.body, name);
  const next = `${url}?code=${encodeURIComponent(code)}`;
  return html`<p>Have an account? <a href="/auth/sign-in?next=${encodeURIComponent(next)}">Sign in</a> and join with it. Otherwise create one:</p>
<form class="card" method="post" action="${url}">
<input type="hidden" name="code" value="${code}">
<label><span>Username <span class="soft">(a to z, 0 to 9, - and _)</span></span> <input name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="39" value="${typed("username")}"></label>
<label><span>First name <span class="soft">(optional)</span></span> <input name="first_name" autocomplete="given-name" maxlength="100" value="${typed("first_name")}"></label>
<label><span>Last name <span class="soft">(optional)</span></span> <input name="last_name" autocomplete="family-name" maxlength="100" value="${typed("last_name")}"></label>
<label><span>E-mail <span class="soft">(optional)</span></span> <input name="email" type="email" autocomplete="email" maxlength="254" value="${typed("email")}"></label>
<label><span>Password <span class="soft">(${shortestPassword} characters or more)</span></span> <input name="password" type="password" autocomplete="new-password" required minlength="${shortestPassword}"></label>
<label>Password again <input name="again" type="password" autocomplete="new-password" required></label>
<button class="button main" name="answer" value="account">Create the account and join</button>
</form>`;
}
