/** Page of the signed-in user's tokens: list, create, revoke. */
import { ApiError, type NewToken, routes, scopeNames, scopesInWords, type Token } from "@millrace/contract";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { actorOf } from "../../domain/access/audit.ts";
import type { Principal } from "../../domain/access/principals.ts";
import { createToken, endToken, readTokens } from "../../domain/people/tokens.ts";
import type { RequestContext } from "../requests/context.ts";
import { type Html, html, type Page } from "./html.ts";
import { checkForm, field, privatePage } from "./page-routes.ts";

const url = "/auth/tokens";

export function tokenPages(app: FastifyInstance, context: RequestContext): void {
  privatePage(app, context, { method: "GET", url }, ({ principal }) => showTokens(context, principal));

  privatePage(app, context, { method: "POST", url }, async ({ request, principal }) => {
    try {
      return await showTokens(context, principal, await change(context, request, principal));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const page = await showTokens(context, principal, html`<p class="said bad" role="alert">${error.message}</p>`);
      return { ...page, status: error.status };
    }
  });
}

/** Applies the submitted form, and returns a message. The value of a new token is shown only here. */
async function change({ store, clock }: RequestContext, request: FastifyRequest, principal: Principal): Promise<Html> {
  const text = (name: string) => field(request.body, name).trim();
  const actor = actorOf(principal, request.ip);
  if (text("revoke") !== "") {
    const id = /^\d{1,9}$/.test(text("revoke")) ? Number(text("revoke")) : 0;
    await endToken(store, { principal, actor }, id, clock.now());
    return html`<p class="said good" role="status">The token is revoked.</p>`;
  }
  const days = text("expires_in_days");
  const wishes = checkForm(request, routes.createToken, {
    name: text("name"),
    scopes: text("scopes")
      .split(/[\s,]+/)
      .filter(Boolean),
    expires_in_days: days === "" ? null : Number(days),
  });
  return newToken(await createToken(store, { principal, actor }, wishes, clock.now()));
}

const newToken = ({
  name,
  access_token,
}: NewToken) => html`<p class="said good" role="status">Created the token <strong>${name}</strong>. Copy it now: it is not shown again. A click selects it.</p>
<pre class="code whole">${access_token}</pre>`;

async function showTokens({ store, clock }: RequestContext, principal: Principal, message?: Html): Promise<Page> {
  const { tokens } = await readTokens(store, principal, {}, clock.now());
  return {
    title: "Tokens",
    isWide: true,
    body: html`<h1>Tokens</h1>
${message}
${tokens.length === 0 ? html`<p>No tokens yet.</p>` : html`<ul class="lines">${tokens.map(tokenLine)}</ul>`}
<h2>New token</h2>
<form class="card" method="post" action="${url}">
<label>Name <input name="name" required maxlength="255"></label>
<label><span>Scopes <span class="soft">(${scopeNames.join(", ")}, each optionally followed by :read or :write; leave empty for all)</span></span> <input name="scopes" autocomplete="off"></label>
<label><span>Days <span class="soft">(leave empty for a token that does not expire)</span></span> <input name="expires_in_days" type="number" min="1"></label>
<button class="button main">Create</button>
</form>`,
  };
}

const tokenLine = ({ id, name, scopes, team_names, expires_at, last_used_at }: Token) =>
  html`<li><form class="card" method="post" action="${url}"><span><strong>${name}</strong><br><span class="soft">${scopesInWords(scopes)}. ${team_names ? `Teams: ${team_names.join(", ")}` : "All teams"}. <span class="nowrap">${expires_at ? `Until ${expires_at.slice(0, 10)}` : "Never expires"}</span>, <span class="nowrap">${last_used_at ? `last used ${last_used_at.slice(0, 10)}` : "never used"}</span>.</span></span> <button class="button danger" name="revoke" value="${id}">Revoke</button></form></li>`;
