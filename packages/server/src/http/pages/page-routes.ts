/** Registers pages: identifies the visitor, and shows the sign-in page to visitors without a session. */
import { type Access, ApiError, type Route } from "@millrace/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { FastifySchemaValidationError } from "fastify/types/schema.js";
import type { Static, TSchema } from "typebox";
import { type Principal, principalOfSession } from "../../domain/access/principals.ts";
import { sessionCookieOf } from "../requests/authenticate.ts";
import type { RequestContext } from "../requests/context.ts";
import { refusalOf, setRefusal, validationError } from "../requests/errors.ts";
import { isOwnSite } from "../requests/own-site.ts";
import type { Site } from "../requests/site.ts";
import { html, type Page, sendPage } from "./html.ts";
import { signInPage } from "./sign-in-form.ts";

interface PageRoute {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly access: Access;
  /** Name of the query parameter that may hold a secret. */
  readonly secret?: string;
  /** Called before the form is read. Returns a page to show instead, or undefined to continue. */
  readonly stop?: (request: FastifyRequest) => Promise<Page | undefined>;
}

interface Visit {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Maximum size of a form in bytes: enough for three passwords of maximum length in their longest encoding. */
const formLimit = 64 * 1024;

/**
 * Registers a page that anybody may see. A request with a submitted form or a secret counts against the rate limit of
 * its caller.
 */
export function publicPage(
  app: FastifyInstance,
  { limits, callers, site }: Pick<RequestContext, "limits" | "callers" | "site">,
  route: PageRoute,
  show: (visit: Visit) => Promise<Page | undefined>,
): void {
  app.route({
    method: route.method,
    url: route.url,
    config: { access: route.access },
    bodyLimit: formLimit,
    // A HEAD request would consume a sign-in link just like a GET.
    exposeHeadRoute: false,
    errorHandler: (error, request, reply) => {
      const refusal = refusalOf(error, request);
      setRefusal(reply, refusal);
      void sendPage(reply, site, errorPage(refusal));
    },
    onRequest: async (request, reply) => {
      if (route.method === "POST") refuseOtherSites(request, site);
      const isTry = route.method === "POST" || (route.secret && field(request.query, route.secret) !== "");
      if (isTry && route.access.kind === "public") limits.strangers.take(await callers.keyOf(request));
      const page = await route.stop?.(request);
      return page && sendPage(reply, site, page);
    },
    handler: async (request, reply) => {
      const page = await show({ request, reply });
      return page ? sendPage(reply, site, page) : reply;
    },
  });
}

/** Returns the principal of the session; undefined if the visitor is not signed in. */
export async function visitor({ store, clock, connections, site }: RequestContext, { headers, raw }: FastifyRequest) {
  const principal = await principalOfSession(store.db, sessionCookieOf(headers, site), clock.now());
  if (principal) connections.know(raw.socket, principal);
  return principal;
}

/** Registers a page for signed-in users. */
export function privatePage(
  app: FastifyInstance,
  context: RequestContext,
  route: Omit<PageRoute, "access" | "stop">,
  show: (visit: Visit & { principal: Principal }) => Promise<Page | undefined>,
): void {
  const access: Access = { kind: "signed-in", why: "a browser session; the page shows what its user may see" };
  const showTo = async (visit: Visit) => {
    const principal = visit.request.principal as Principal;
    const page = await show({ ...visit, principal });
    return page && { ...page, user: principal.username };
  };
  const stop = async (request: FastifyRequest) => {
    request.principal = (await visitor(context, request)) ?? null;
    return request.principal ? undefined : signInPage(wantedPath(request));
  };
  publicPage(app, context, { ...route, access, stop }, showTo);
}

/** Refuses forms that another site submits. */
function refuseOtherSites(request: FastifyRequest, site: Site): void {
  if (!isOwnSite(request, site))
    throw new ApiError(
      "forbidden",
      "The form was sent from a page of another site, so it was refused. Open the page on this server and send the form there.",
    );
}

/**
 * Returns the path to show after signing in: for a GET request the requested page, otherwise the start page, because
 * the content of a submitted form is lost.
 */
const wantedPath = ({ method, url }: FastifyRequest) => (method === "GET" ? url : "/");

/** Validates the fields of a form with the schema of the API route, so that both have the same rules and errors. */
export function checkForm<R extends Route & { body: TSchema }>(
  request: FastifyRequest,
  route: R,
  values: object,
): Static<R["body"]> {
  const validate = request.compileValidationSchema(route.body as object, "body");
  if (!validate(values)) throw validationError(validate.errors as FastifySchemaValidationError[]);
  return values as Static<R["body"]>;
}

/** Returns a field of a form or query as text; empty if it is absent. */
export const field = (source: unknown, name: string): string => {
  const value = (source as Record<string, unknown> | undefined)?.[name];
  return typeof value === "string" ? value : "";
};

function errorPage({ status, message }: ApiError): Page {
  return {
    title: "Error",
    status,
    body: html`<h1>The request failed</h1><p class="said bad">${message}</p><p><a href="/">Back to the start</a></p>`,
  };
}
