/** Registers routes of the contract: reads the input, checks who calls, hands over, answers. */
import type { Access, Route, RouteInput, RouteOutput } from "@millrace/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Actor, actorOf } from "../domain/audit.ts";
import { authorize, authorizeAdmin, type Principal, type Team } from "../domain/principals.ts";
import { authenticate } from "./authenticate.ts";
import type { HttpContext } from "./context.ts";
import { readQuery } from "./query-strings.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Every route says who may call it; a test walks them all. */
    access?: Access;
    /** Of the contract; absent for pages. */
    routeId?: string;
  }
}

/** A caller with a token has a principal, is an actor for the audit, and has a team on team routes. */
type Caller<R extends Route> = R["access"] extends { kind: "token" }
  ? { principal: Principal; actor: Actor; team: Team }
  : R["access"] extends { kind: "signed-in" | "admin" }
    ? { principal: Principal; actor: Actor }
    : unknown;

type Call<R extends Route> = RouteInput<R> & Caller<R> & { request: FastifyRequest; reply: FastifyReply };

/** An answer that is JSON text already. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Undefined: the handler has answered itself. */
type Handler<R extends Route> = (call: Call<R>) => Promise<RouteOutput<R> | JsonText | undefined>;

export function register<R extends Route>(
  app: FastifyInstance,
  context: HttpContext,
  route: R,
  handle: Handler<R>,
): void {
  app.route({
    method: route.method,
    url: route.path.replace(/\{(\w+)\}/g, ":$1"),
    config: { access: route.access, routeId: route.id },
    schema: {
      ...(route.params ? { params: route.params } : {}),
      ...(route.query ? { querystring: route.query } : {}),
      ...(route.body ? { body: route.body } : {}),
    },
    // The caller first: a stranger learns nothing from how bad input is refused.
    onRequest: async (request) => {
      if (route.access.kind !== "public") request.principal = await authenticate(context, request.headers, request.ip);
    },
    preValidation: (request, _reply, done) => {
      if (route.body && request.body === undefined) request.body = {};
      try {
        if (route.query) request.query = readQuery(route.query, request.query as Record<string, unknown>);
        done();
      } catch (error) {
        done(error as Error);
      }
    },
    handler: async (request, reply) => {
      const call = {
        params: request.params,
        query: request.query,
        body: request.body,
        request,
        reply,
        ...callerOf(route, request),
      };
      const answer = await handle(call as unknown as Call<R>);
      if (answer === undefined) return reply;
      // Plain JSON.stringify: schema-driven serialisers were slower on rows with many nullable fields.
      return reply
        .type("application/json; charset=utf-8")
        .send(answer instanceof JsonText ? answer.text : JSON.stringify(answer));
    },
  });
}

function callerOf(route: Route, request: FastifyRequest): { principal?: Principal; actor?: Actor; team?: Team } {
  const { principal } = request;
  if (!principal) return {};
  const caller = { principal, actor: actorOf(principal, request.ip) };
  if (route.access.kind === "admin") authorizeAdmin(principal, route.access);
  if (route.access.kind !== "token") return caller;
  return { ...caller, team: authorize(principal, route.access, teamNameOf(request)) };
}

/** In the query of a GET and of an upload, in the body of everything else. */
function teamNameOf({ query, body }: FastifyRequest): string | undefined {
  const name =
    (query as { team_name?: string }).team_name ?? (body as { team_name?: string | null } | undefined)?.team_name;
  return name ?? undefined;
}

declare module "fastify" {
  interface FastifyRequest {
    principal: Principal | null;
  }
}
