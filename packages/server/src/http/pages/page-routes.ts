/** Pages: who is looking, and what they get when nobody is signed in. */
import { type Access, ApiError } from "@millrace/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Principal, principalOfSession } from "../../domain/principals.ts";
import { sessionCookieOf } from "../authenticate.ts";
import type { HttpContext } from "../context.ts";
import { toApiError } from "../errors.ts";
import { html, type Page, sendPage } from "./html.ts";

interface PageRoute {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly access: Access;
}

interface Visit {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** A page that anybody may see. */
export function publicPage(
  app: FastifyInstance,
  route: PageRoute,
  show: (visit: Visit) => Promise<Page | undefined>,
): void {
  app.route({
    method: route.method,
    url: route.url,
    config: { access: route.access },
    // A HEAD would use up a sign-in link just like a GET.
    exposeHeadRoute: false,
    errorHandler: (error, request, reply) => {
      const known = toApiError(error);
      if (!known) request.log.error({ err: error }, "page failed");
      void sendPage(reply, errorPage(known));
    },
    handler: async (request, reply) => {
      if (route.method === "POST") refuseOtherSites(request);
      const page = await show({ request, reply });
      return page ? sendPage(reply, page) : reply;
    },
  });
}

/** A page for people who are signed in. */
export function privatePage(
  app: FastifyInstance,
  context: HttpContext,
  route: Omit<PageRoute, "access">,
  show: (visit: Visit & { principal: Principal }) => Promise<Page | undefined>,
): void {
  const access: Access = { kind: "signed-in", why: "a browser session; the page shows what its user may see" };
  publicPage(app, { ...route, access }, async (visit) => {
    const principal = await principalOfSession(
      context.store.db,
      sessionCookieOf(visit.request.headers),
      context.clock.now(),
    );
    if (!principal) return signInPage;
    const page = await show({ ...visit, principal });
    return page && { ...page, user: principal.username };
  });
}

/** Cookies are already withheld from other sites' forms; this holds where a browser is older than that. */
function refuseOtherSites({ headers }: FastifyRequest): void {
  const site = headers["sec-fetch-site"];
  const own = site === undefined ? hostOf(headers.origin) === headers.host : site === "same-origin" || site === "none";
  if (!own) throw new ApiError("forbidden", "This form must be sent from its own page.");
}

/** Of an Origin header: anybody may send anything there. */
const hostOf = (origin: string | undefined) => (URL.canParse(origin ?? "") ? new URL(origin ?? "").host : undefined);

const signInPage: Page = {
  title: "Sign in",
  status: 401,
  body: html`<h1>Sign in</h1>
<p>You are not signed in here. On the machine of the server, run</p>
<pre>millrace admin link</pre>
<p>and open the link it prints in this browser. It works once.</p>
<p class="soft">To answer a device login without a browser: <code>millrace auth approve CODE</code>.</p>`,
};

function errorPage(known: ApiError | undefined): Page {
  return {
    title: "Error",
    status: known?.status ?? 500,
    body: html`<h1>That did not work</h1><p class="bad">${known?.message ?? "The server failed. Its log says why."}</p><p><a href="/">Back to the start</a></p>`,
  };
}
