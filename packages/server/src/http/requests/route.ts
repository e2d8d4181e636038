/**
 * Registers the routes of the contract: authenticates the caller, reads and validates the input, calls the handler and
 * sends its answer.
 */
import {
  type Access,
  bodyLimitOf,
  errorsAs,
  invalid,
  noticeOf,
  type Route,
  type RouteInput,
  type RouteOutput,
} from "@millrace/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Actor, actorOf } from "../../domain/access/audit.ts";
import { admit, type Principal, requireSomeTeam, type Team } from "../../domain/access/principals.ts";
import { answering, nextList } from "../../turns/large-answers.ts";
import { authenticate } from "./authenticate.ts";
import type { RequestContext } from "./context.ts";
import { bodyOfGet } from "./json-bodies.ts";
import { messagePack } from "./message-pack.ts";
import { readQuery } from "./query-strings.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Who may call the route. A test checks that every route has this. */
    access?: Access;
    /** True if the handler also gets the body as text, in which integers beyond 2^53 keep all their digits. */
    keepsNumbers?: boolean;
    /** True if the body is streamed to storage. */
    upload?: boolean;
    /** Content type of error answers. */
    errorsAs?: string;
    /** Id of the route in the contract; absent for pages. */
    routeId?: string;
    /** True if the answer is a stream without an end. */
    endless?: boolean;
  }
}

/**
 * Fields that depend on the access of the route. With the access `token`, the handler gets the caller's principal, an
 * actor for the audit log, and a team. With `signed-in` or `admin`, it gets no team. With `public` or `runner`, it
 * gets none of these.
 */
type Caller<R extends Route> = R["access"] extends { kind: "token" }
  ? { principal: Principal; actor: Actor; team: Team }
  : R["access"] extends { kind: "signed-in" | "admin" }
    ? { principal: Principal; actor: Actor }
    : unknown;

type Call<R extends Route> = RouteInput<R> & Caller<R> & { request: FastifyRequest; reply: FastifyReply };

/** An answer that is already JSON text. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** An answer that is sent as MessagePack. */
export class MessagePack {
  readonly bytes: Buffer;
  constructor(value: unknown) {
    this.bytes = messagePack(value);
  }
}

/** Handles a call. Returns undefined if it has sent the answer itself. */
type Handler<R extends Route> = (call: Call<R>) => Promise<RouteOutput<R> | JsonText | MessagePack | undefined>;

export function register<R extends Route>(
  app: FastifyInstance,
  context: RequestContext,
  route: R,
  handle: Handler<R>,
): void {
  const notice = noticeOf(route);
  app.route({
    method: route.method,
    url: route.path.replace(/\{(\w+)\}/g, ":$1"),
    config: {
      access: route.access,
      routeId: route.id,
      keepsNumbers: route.keepsNumbers ?? false,
      upload: route.upload ?? route.streamed ?? false,
      errorsAs: errorsAs(route),
      endless: route.answersAs === "text/event-stream",
    },
    schema: {
      ...(route.params ? { params: route.params } : {}),
      ...(route.query ? { querystring: route.query } : {}),
      ...(route.body ? { body: route.body } : {}),
    },
    bodyLimit: bodyLimitOf(route, context.requests.bodyLimit),
    // Authentication comes first: an unauthenticated caller learns nothing from validation errors, and its body is not
    // read.
    onRequest: async (request) => {
      if (isForUsers(route.access)) {
        request.principal = await authenticate(context, request, request.ip);
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
        noted: new Set<string>(),
      };
      const answer = await answering(asker, async () => {
        if (mayBeLong(route, request.query)) await nextList();
        return handle(call as unknown as Call<R>);
      });
      // The writes have noted some changes themselves, and with the ids of what changed.
      if (notice && caller?.team && !asker.noted.has(notice)) context.changes.note(caller.team.id, notice);
      if (answer === undefined) return reply;
      if (answer instanceof MessagePack) return reply.type("application/msgpack").send(answer.bytes);
      // Plain JSON.stringify: schema-driven serializers were slower on rows with many nullable fields.
      return reply
        .type("application/json; charset=utf-8")
        .send(answer instanceof JsonText ? answer.text : JSON.stringify(answer));
    },
  });
}

/** Maximum number of entries of a list that is built at once. Longer lists take turns. */
const shortList = 50;

/** Whether the answer is a list that may have many entries: some have a thousand. */
const mayBeLong = (route: Route, query: unknown) =>
  route.method === "GET" &&
  (route.response as { readonly type?: unknown }).type === "array" &&
  ((query as { limit?: number } | undefined)?.limit ?? usualLimitOf(route) ?? Number.POSITIVE_INFINITY) > shortList;

/** Number of entries that a list has at most if the caller sets no limit; undefined if it then has all. */
const usualLimitOf = ({ query }: Route) =>
  (query?.properties["limit"] as { readonly default?: number } | undefined)?.default;

/** Whether callers authenticate as users. Runners do not: their routes check the secret of an attempt. */
const isForUsers = (access: Access): access is Exclude<Access, { kind: "public" | "runner" }> =>
  access.kind !== "public" && access.kind !== "runner";

/** Reads the JSON body of a GET request, and adds its values to the query parameter `field`. */
async function moveBody(field: string, request: FastifyRequest): Promise<void> {
  const body = await bodyOfGet(request.raw, request.routeOptions.bodyLimit);
  if (body === undefined || body === null) return;
  const query = request.query as Record<string, unknown>;
  request.query = { ...query, [field]: [query[field] ?? [], body].flat() };
}

/** Tells whether a path parameter contains a NUL character, which PostgreSQL does not accept even in a search. */
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
  if (!principal || !isForUsers(access)) return null;
  const team = await admit(store.db, principal, access, teamNameOf(request));
  return { principal, actor: actorOf(principal, request.ip), team };
}

/**
 * Returns the team's name from the path, the query or the body. A value that is not a text is skipped here; the
 * validation reports it.
 */
function teamNameOf({ params, query, body }: FastifyRequest): string | undefined {
  const given = [params, query, body].map((place) => (place as { team_name?: unknown } | null | undefined)?.team_name);
  return given.find((name) => typeof name === "string" && name !== "") as string | undefined;
}

declare module "fastify" {
  interface FastifyRequest {
    principal: Principal | null;
    /** Key of the attempt whose runner has authenticated; empty for other callers. */
    runner: string;
    caller: KnownCaller | null;
    /** Text of the body if the route sets `keepsNumbers`; otherwise empty. */
    bodyText: string;
  }
}
