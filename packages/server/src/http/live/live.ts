/** HTTP route of the live stream: server-sent events that say what changed in a team. */
import type { ServerResponse } from "node:http";
import { ApiError, routes } from "@millrace/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { authorize, type Team } from "../../domain/access/principals.ts";
import { authenticate } from "../requests/authenticate.ts";
import type { JobContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";
import { LiveFeeds } from "./live-feeds.ts";
import { LiveFollower } from "./live-follower.ts";

const route = routes.followChanges;

/** Maximum number of streams of one user. A browser has one for each page that is being looked at. */
const mostStreams = 100;

/** Milliseconds between two signs of life. At each, the server checks whether the caller may still follow the team. */
const beatMs = 15_000;

export function liveRoutes(app: FastifyInstance, context: JobContext): void {
  const feeds = new LiveFeeds(context.changes);
  const streams = new Streams();
  register(app, context, route, async ({ principal, team, request, reply }) => {
    if (context.stopping.aborted) throw new ApiError("unavailable", "The server is stopping. Try again in a moment.");
    const forget = streams.add(principal.userId);
    const follower = new LiveFollower(begin(reply), principal.scopes, endUnlessAllowed(context, request, team));
    const leave = feeds.join(team.id, follower);
    const beating = setInterval(() => {
      follower.beat();
      follower.check();
    }, beatMs);
    const stop = () => follower.end();
    context.stopping.addEventListener("abort", stop);
    follower.onEnd(() => {
      forget();
      leave();
      clearInterval(beating);
      context.stopping.removeEventListener("abort", stop);
    });
    return undefined;
  });
}

/** Counts the open streams of each user. */
class Streams {
  readonly #open = new Map<number, number>();

  /** Returns a function that removes the stream again. Throws if the user has too many. */
  add(userId: number): () => void {
    const count = this.#open.get(userId) ?? 0;
    if (count >= mostStreams)
      throw new ApiError("too_many_requests", `You already have ${mostStreams} live streams, which is the limit.`, {
        retryAfter: 5,
      });
    this.#open.set(userId, count + 1);
    return () => {
      const left = (this.#open.get(userId) ?? 1) - 1;
      if (left > 0) this.#open.set(userId, left);
      else this.#open.delete(userId);
    };
  }
}

/** Begins the answer. Proxies are asked not to collect it. */
function begin(reply: FastifyReply): ServerResponse {
  reply.hijack();
  return reply.raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
    // The connection ends with the stream. Otherwise a stop of the server would wait for its next request.
    connection: "close",
  });
}

/**
 * Returns a function that ends the stream if the caller may no longer follow the team: the session has ended, the token
 * was revoked, or the user is no longer a member. While the store is unreachable, the stream goes on.
 */
const endUnlessAllowed =
  (context: JobContext, request: FastifyRequest, team: Team) =>
  (follower: LiveFollower): void => {
    const check = async () => {
      const principal = await authenticate(context, request, request.ip);
      authorize(principal, route.access, team.name);
    };
    check().catch((error: unknown) => error instanceof ApiError && follower.end());
  };
