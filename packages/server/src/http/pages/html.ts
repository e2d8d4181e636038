/** Renders the HTML pages on the server, without scripts and without resources from other sites. */
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { FastifyReply } from "fastify";
import type { Site } from "../requests/site.ts";
import { pageStyle } from "./page-style.ts";

/** Text that is safe to insert into a page. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escapeText = (text: string) => text.replace(/[&<>"']/g, (character) => escapes[character] ?? character);

type Value = string | number | Html | null | undefined | false | readonly (string | Html)[];

/** Builds HTML from a template. Values are escaped unless they are Html. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  const text = strings.reduce((all, part, index) => all + part + render(values[index]), "");
  return new Html(text);
}

function render(value: Value): string {
  if (value === undefined || value === null || value === false) return "";
  if (value instanceof Html) return value.text;
  return Array.isArray(value) ? value.map((item) => render(item as Value)).join("") : escapeText(String(value));
}

const styleHash = createHash("sha256").update(pageStyle).digest("base64");
const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

export interface Page {
  readonly title: string;
  readonly body: Html;
  readonly user?: string | undefined;
  readonly status?: number;
  /** True for a page with more than a form or a few sentences. */
  readonly isWide?: boolean;
}

export function sendPage(reply: FastifyReply, site: Site, page: Page): FastifyReply {
  const { title, body, user, status = 200, isWide = false } = page;
  const theme = themeOf(reply.request.headers);
  const text = html`<!doctype html>
<html lang="en"${theme && html` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Millrace</title>
<link rel="icon" href="data:,">
<style>${new Html(pageStyle)}</style>
</head>
<body>
<header class="top row apart"><a class="brand" href="/">Millrace</a>${user && html`<span class="row"><a href="/auth/account">${user}</a><form method="post" action="/auth/sign-out"><button class="button">Sign out</button></form></span>`}</header>
<main class="stack${isWide ? " wide" : ""}">${body}</main>
</body>
</html>
`;
  return reply
    .code(status)
    .headers({
      "content-security-policy": policy,
      "referrer-policy": "same-origin",
      "cache-control": "no-store",
    })
    .type("text/html; charset=utf-8")
    .send(withPrefix(text.text, site));
}

/**
 * Puts the path prefix of the server before the links and form addresses of a page, which are paths of the server. Text
 * from outside cannot look like one, because its quotes are escaped.
 */
const withPrefix = (text: string, { prefix }: Site) =>
  prefix === "" ? text : text.replace(/( (?:href|action)=")\//g, (_, start: string) => `${start}${prefix}/`);

/** The theme that the user chose in the app; undefined if the system decides. */
const themeOf = ({ cookie = "" }: IncomingHttpHeaders) =>
  /(?:^|;\s*)millrace_theme=(light|dark)(?:;|$)/.exec(cookie)?.[1];
