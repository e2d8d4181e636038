/** Registers routes of the contract: reads the input, checks who calls, hands over, answers. */
import {
  type Access,
  bodyLimitOf,
  errorsAs,
  invalid,
  type Route,
  type RouteInput,
  type RouteOutput,
} from "@millrace/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Actor, actorOf } from "../../domain/access/audit.ts";
import { admit, type Principal, requireSomeTeam, type Team } from "../../domain/access/principals.ts";
import { answering } from "../../turns/large-answers.ts";
import { authenticate } from "./authenticate.ts";
import type { RequestContext } from "./context.ts";
import { bodyOfGet } from "./json-bodies.ts";
import { messagePack } from "./message-pack.ts";
import { readQuery } from "./query-strings.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Every route says who may call it; a test walks them all. */
    access?: Access;
    /** Handlers want the body's text too. */
    keepsNumbers?: boolean;
    /** The body is a file. */
    upload?: boolean;
    /** In which form refusals go out. */
    errorsAs?: string;
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

/** An answer that goes out as MessagePack. */
export class MessagePack {
  readonly bytes: Buffer;
  constructor(value: unknown) {
    this.bytes = messagePack(value);
  }
}

/** Undefined: the handler has answered itself. */
type Handler<R extends Route> = (call: Call<R>) => Promise<RouteOutput<R> | JsonText | MessagePack | undefined>;

export function register<R extends Route>(
  app: FastifyInstance,
  context: RequestContext,
  route: R,
  handle: Handler<R>,
): void {
  app.route({
    method: route.method,
    url: route.path.replace(/\{(\w+)\}/g, ":$1"),
    config: {
      access: route.access,
      routeId: route.id,
      keepsNumbers: route.keepsNumbers ?? false,
      upload: route.upload ?? false,
      errorsAs: errorsAs(route),
    },
    schema: {
      ...(route.params ? { params: route.params } : {}),
      ...(route.query ? { querystring: route.query } : {}),
      ...(route.body ? { body: route.body } : {}),
    },
    bodyLimit: bodyLimitOf(route, context.requests.bodyLimit),
    // The caller first: a stranger learns nothing from how bad input is refused, and nothing of a stranger's is read.
    onRequest: async (request) => {
      if (route.access.kind !== "public") {
        request.principal = await authenticate(context, request.headers, request.ip);
        context.connections.know(request.raw.socket, request.principal);
        if (route.bodyLimit === "large") requireSomeTeam(request.principal, route.access);
      }
      if (route.rateLimit) context.limits[route.rateLimit].take(await context.callers.keyOf(request));
    },
    preValidation: async (request) => {
      if (route.body && request.body === undefined) request.body = {};
      if (route.bodyInQuery) await moveBody(route.bodyInQuery, request);
      if (route.query) request.query = readQuery(route.query, request.query as Record<string, unknown>);
      if (holdsNul(request.params as Record<string, string>)) throw invalid("path", "text without NUL characters");
      request.caller = await callerOf(context, route, request);
    },
    handler: async (request, reply) => {
      const call = {
        params: request.params,
        query: request.query,
        body: request.body,
        request,
        reply,
        ...request.caller,
      };
      const { principal, raw, caller } = request;
      await context.connections.nextTurn(raw.socket);
      const asker = {
        caller: principal?.userId,
        team: caller?.team?.id,
        hasGone: () => raw.socket.destroyed,
      };
      const answer = await answering(asker, () => handle(call as unknown as Call<R>));
      if (answer === undefined) return reply;
      if (answer instanceof MessagePack) return reply.type("application/msgpack").send(answer.bytes);
      // Plain JSON.stringify: schema-driven serialisers were slower on rows with many nullable fields.
      return reply
        .type("application/json; charset=utf-8")
        .send(answer instanceof JsonText ? answer.text : JSON.stringify(answer));
    },
  });
}

/** What a GET says in its body is added to what its query says. */
async function moveBody(field: string, request: FastifyRequest): Promise<void> {
  const body = await bodyOfGet(request.raw, request.routeOptions.bodyLimit);
  if (body === undefined || body === null) return;
  const query = request.query as Record<string, unknown>;
  request.query = { ...query, [field]: [query[field] ?? [], body].flat() };
}

/** The shared store cannot hold this character, not even to look for it. */
const holdsNul = (params: Record<string, string>) => Object.values(params).some((value) => value.includes("\0"));

interface KnownCaller {
  readonly principal: Principal;
  readonly actor: Actor;
  readonly team: Team | undefined;
}

async function callerOf(
  { store }: RequestContext,
  { access }: Route,
  request: FastifyRequest,
): Promise<KnownCaller | null> {
  const { principal } = request;
  if (!principal || access.kind === "public") return null;
  const team = await admit(store.db, principal, access, teamNameOf(request));
  return { principal, actor: actorOf(principal, request.ip), team };
}

/** In the path, in the query of a GET and of an upload, in the body of everything else. What is no text is for the validation to name. */
function teamNameOf({ params, query, body }: FastifyRequest): string | undefined {
  const given = [params, query, body].map((place) => (place as { team_name?: unknown } | null | undefined)?.team_name);
  return given.find((name) => typeof name === "string" && name !== "") as string | undefined;
}

declare module "fastify" {
  interface FastifyRequest {
    principal: Principal | null;
    caller: KnownCaller | null;
    /** Of the body, where the route keeps numbers; otherwise empty. */
    bodyText: string;
  }
}
