/** The sign-in page, shown wherever a visitor must sign in first. */
import { html, type Page } from "./html.ts";

/** Returns `wanted` if it is a path of this server, otherwise `/`, so that nobody is redirected to another site. */
export function ownPath(wanted: string): string {
  const base = "http://own.invalid";
  if (!wanted.startsWith("/") || !URL.canParse(wanted, base)) return "/";
  const url = new URL(wanted, base);
  const isOwn = url.origin === base && !url.pathname.startsWith("//") && url.pathname !== "/auth/sign-in";
  return isOwn ? url.pathname + url.search : "/";
}

interface Attempt {
  readonly username: string;
  readonly problem: string;
  readonly status: number;
}

export const signInPage = (next: string, attempt?: Attempt): Page => ({
  title: "Sign in",
  status: attempt?.status ?? 401,
  body: html`<h1>Sign in</h1>
${attempt && html`<p class="said bad" role="alert">${attempt.problem}</p>`}
<form class="card" method="post" action="/auth/sign-in">
<input type="hidden" name="next" value="${ownPath(next)}">
<label>Username <input name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="39" autofocus value="${attempt?.username}"></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button class="button main">Sign in</button>
</form>
<p class="soft small">No password yet? On the machine of the server, <code>millrace admin link</code> prints a link that signs in once, and <code>millrace admin password</code> sets a password. No account? An admin of a team can invite you.</p>
<p class="soft small">To confirm a device login without a browser: <code>millrace auth approve CODE</code>.</p>`,
});
