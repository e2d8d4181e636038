/** Renders the HTML pages on the server, without scripts and without resources from other sites. */
import { createHash } from "node:crypto";
import type { FastifyReply } from "fastify";

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

const style = `
:root { color-scheme: light dark; --ink: #1d2433; --soft: #5b6577; --line: #d9dee8; --page: #fbfcfe; --card: #fff; --link: #0b5cad; --bad: #b3261e; --good: #1a7f4b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf2; --soft: #9aa5b8; --line: #2c3545; --page: #12161e; --card: #1a202b; --link: #7db8f5; --bad: #ff8a80; --good: #67d39b; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
header { border-bottom: 1px solid var(--line); padding: .75rem 1rem; display: flex; gap: 1rem; justify-content: space-between; align-items: center; flex-wrap: wrap; }
header a { color: inherit; font-weight: 600; text-decoration: none; }
h1 { font-size: 1.4rem; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
a { color: var(--link); }
p, dd { overflow-wrap: anywhere; }
code, pre { font: .875rem/1.45 ui-monospace, monospace; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .75rem; overflow: auto; max-height: 70vh; margin: .5rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: 0; }
dt, .soft { color: var(--soft); }
dd { margin: 0; }
.scroll { overflow-x: auto; }
.chip { display: inline-block; border: 1px solid currentColor; border-radius: 1rem; padding: 0 .6rem; font-size: .85rem; font-weight: 600; color: var(--soft); }
.COMPLETE, .good { color: var(--good); } .FAILED, .bad { color: var(--bad); }
button { font: inherit; padding: .45rem 1.1rem; border-radius: .4rem; border: 1px solid var(--line); background: var(--card); color: var(--ink); cursor: pointer; }
button.main { background: var(--link); color: var(--page); border-color: var(--link); }
form.inline { display: inline; }
form.card { display: grid; gap: .9rem; max-width: 24rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1.1rem; margin: 0 0 1.2rem; }
form.card label { display: grid; gap: .2rem; font-weight: 500; } form.card label .soft { font-weight: 400; } form.card button { justify-self: start; }
input:focus-visible, button:focus-visible, a:focus-visible { outline: 2px solid var(--link); outline-offset: 1px; }
input { width: 100%; font: inherit; padding: .4rem; border: 1px solid var(--soft); border-radius: .4rem; background: var(--card); color: var(--ink); }
details { border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .75rem; margin: .5rem 0; background: var(--card); }
summary { cursor: pointer; overflow-wrap: anywhere; }
`;

const styleHash = createHash("sha256").update(style).digest("base64");
const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

export interface Page {
  readonly title: string;
  readonly body: Html;
  readonly user?: string | undefined;
  /** Seconds after which the browser reloads the page; undefined if it should not. */
  readonly refresh?: number | undefined;
  readonly status?: number;
}

export function sendPage(reply: FastifyReply, { title, body, user, refresh, status = 200 }: Page): FastifyReply {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Millrace</title>
<link rel="icon" href="data:,">
${refresh !== undefined && html`<meta http-equiv="refresh" content="${refresh}">`}
<style>${new Html(style)}</style>
</head>
<body>
<header><a href="/">Millrace</a>${user && html`<span class="soft"><a href="/auth/account">${user}</a> <form class="inline" method="post" action="/auth/sign-out"><button>Sign out</button></form></span>`}</header>
<main>${body}</main>
</body>
</html>
`;
  return reply
    .code(status)
    .headers({
      "content-security-policy": policy,
      "x-content-type-options": "nosniff",
      "referrer-policy": "same-origin",
      "cache-control": "no-store",
    })
    .type("text/html; charset=utf-8")
    .send(page.text);
}
