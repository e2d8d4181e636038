/** Serves followers of a job over a WebSocket: pieces of the log and status changes as JSON frames. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { ApiError, isSettled, type JobStatus, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { type WebSocket, WebSocketServer } from "ws";
import { authorize, type Principal, type Team } from "../../domain/access/principals.ts";
import { logRemoved } from "../../job-logs/job-log.ts";
import type { LogFrames } from "../../logs/log-frames.ts";
import { isUnavailable } from "../../store/drivers/unavailable.ts";
import { Turns } from "../../turns/turns.ts";
import { hostCheck } from "../connections/hosts.ts";
import { keepAlive } from "../connections/keep-alive.ts";
import { addressOf } from "../connections/proxies.ts";
import { answerAndClose } from "../connections/raw-answers.ts";
import { authenticate } from "../requests/authenticate.ts";
import type { JobContext } from "../requests/context.ts";
import { unavailable } from "../requests/errors.ts";
import { readQuery } from "../requests/query-strings.ts";
import { register } from "../requests/route.ts";
import { JobFeeds } from "./job-feeds.ts";
import { Follower } from "./log-follower.ts";

const route = routes.followLogs;
/** Maximum number of followers that are sent a frame at the same time. */
const turnsAtOnce = 8;
/** A frame that takes longer waits for a storage, and followers of other logs need not wait with it. */
const longestTurnMs = 250;
const closeMs = 1000;

export function logSocket(app: FastifyInstance, context: JobContext): void {
  register(app, context, route, async () => {
    throw new ApiError("bad_request", "This route is a WebSocket: connect with an Upgrade header.");
  });
  const sockets = new WebSocketServer({
    noServer: true,
    autoPong: false,
    perMessageDeflate: false,
    // A follower has nothing to send. Fragments of an unfinished message stay in memory at many times their size.
    maxPayload: 1024,
    maxFragments: 4,
    maxBufferedChunks: 64,
  });
  const following: Following = {
    context,
    feeds: new JobFeeds(context),
    turns: new Turns(turnsAtOnce, turnsAtOnce, longestTurnMs),
  };
  const checkHost = hostCheck(context.listening);
  const enter = async (request: IncomingMessage) => {
    if (await context.connections.awaitAnswers(request.socket)) throw outOfTurn();
    if (context.stopping.aborted)
      throw new ApiError("unavailable", "The server is stopping. Connect again in a moment.");
    checkHost(request.headers.host);
    const call = await accept(context, request);
    context.connections.know(request.socket, call.principal);
    return call;
  };
  sockets.on("wsClientError", ({ message }, socket) => refuse(socket, new ApiError("bad_request", `${message}.`)));
  app.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    enter(request)
      .then(
        (call) =>
          sockets.handleUpgrade(request, socket, head, (client) => {
            const ping = keepAlive(client, () => accept(context, request));
            void serve(following, client, call).finally(() => clearInterval(ping));
          }),
        (error: unknown) => refuse(socket, error),
      )
      // Input from an unauthenticated client must never crash the server.
      .catch((error: unknown) => {
        context.log.error({ err: error }, "a WebSocket upgrade failed");
        socket.destroy();
      });
  });
  app.addHook("onClose", async () => {
    for (const client of sockets.clients) client.close(1001);
    // A client that does not answer must not delay the stop.
    setTimeout(() => {
      for (const client of sockets.clients) client.terminate();
    }, closeMs).unref();
    sockets.close();
  });
}

/** Objects that all followers share. */
interface Following {
  readonly context: JobContext;
  readonly feeds: JobFeeds;
  readonly turns: Turns;
}

interface Call {
  principal: Principal;
  jobId: string;
  team: Team;
  statusesOnly: boolean;
  /** True if the client wants the size of the log instead of the log. */
  sizesOnly: boolean;
  after: number;
}

async function accept(context: JobContext, request: IncomingMessage): Promise<Call> {
  if (!URL.canParse(request.url ?? "", "http://localhost"))
    throw new ApiError("bad_request", "The path of the request is not a valid URL.");
  const url = new URL(request.url ?? "", "http://localhost");
  if (`${url.pathname.replace(/\/+$/, "")}/` !== route.path)
    throw new ApiError("not_found", `There is no WebSocket at ${url.pathname}. See /api/docs.`);
  const principal = await authenticate(context, request, addressOf(request, context.listening.trustProxy));
  const query = readQuery(route.query, Object.fromEntries(url.searchParams)) as {
    job_id?: string;
    team_name?: string;
    no_follow?: boolean;
    sizes?: boolean;
    after?: number;
  };
  const team = authorize(principal, route.access, query.team_name);
  const after =
    typeof query.after === "number" && query.after > 0 ? Math.min(Math.floor(query.after), Number.MAX_SAFE_INTEGER) : 0;
  return {
    principal,
    jobId: (query.job_id ?? "").toLowerCase(),
    team,
    statusesOnly: query.no_follow === true,
    sizesOnly: query.sizes === true,
    after,
  };
}

/**
 * Returns the error for a WebSocket upgrade that was sent before an earlier request was answered. If such an upgrade
 * were accepted, its frames would mix with the answer to the earlier request.
 */
const outOfTurn = () =>
  new ApiError(
    "bad_request",
    "A WebSocket upgrade was sent before earlier requests on the same connection were answered. Wait for the answers to those requests, or use a new connection.",
  );

/** Refuses an upgrade. Statuses 401 and 403 end the client's command; after any other status the client tries again. */
function refuse(socket: Duplex, error: unknown): void {
  const known = isUnavailable(error) ? unavailable(undefined, error) : error;
  answerAndClose(
    socket,
    known instanceof ApiError ? known : new ApiError("internal", "The server failed; its log has the details."),
  );
}

async function serve(following: Following, client: WebSocket, call: Call): Promise<void> {
  const { context } = following;
  const follower = new Follower(client);
  context.log.debug({ job: call.jobId, after: call.after }, "a follower connected");
  context.metrics.followers.add(client);
  try {
    await follow(following, follower, call, AbortSignal.any([follower.gone, context.stopping]));
    client.close(1000);
  } catch (error) {
    context.log.error({ err: error, job: call.jobId }, "could not send the log to a follower");
    client.close(1011);
  } finally {
    context.metrics.followers.delete(client);
  }
}

/**
 * Sends every byte of the log, then the final status, and returns. The feed reads the status before the log, so the log
 * is complete if the status is final.
 */
async function follow(following: Following, follower: Follower, call: Call, abort: AbortSignal): Promise<void> {
  const feed = following.feeds.join(call.jobId, !call.statusesOnly);
  let offset = call.after;
  let seen = 0;
  let size = -1;
  let shown: JobStatus | undefined;
  try {
    for (;;) {
      const now = await feed.after(seen, abort);
      if (!now) return;
      seen = now.version;
      const { job } = now;
      if (!job || job.team_id !== call.team.id) return await sayThereIsNone(follower, call);
      if (job.log_removed_at && !call.statusesOnly)
        return await follower.send({ message: logRemoved(call.jobId, job.log_removed_at).message });
      const settled = isSettled(job.status);
      const status = { job: { id: call.jobId, status: job.status } };
      if (job.status !== shown && !settled) await follower.send(status);
      shown = job.status;
      if (call.sizesOnly && now.size > size) await follower.send({ size: now.size });
      size = Math.max(size, now.size);
      // The log of a new attempt continues the earlier ones, so the offset stays valid.
      if (!call.statusesOnly && !call.sizesOnly && now.frames)
        offset = await sendLog(following.turns, follower, { frames: now.frames, from: offset, ended: settled }, abort);
      if (settled) return await follower.send(status);
    }
  } finally {
    feed.leave();
  }
}

/**
 * Tells the follower that the job does not exist. Clients older than version 0.59 ignore this message and
 * would retry for ten minutes, so a final status follows.
 */
async function sayThereIsNone(follower: Follower, { jobId, team }: Call): Promise<void> {
  await follower.send({ message: `There is no job ${jobId} in the team ${team.name}.` });
  await follower.send({ job: { id: jobId, status: "FAILED" } });
}

/** The part of the log that was not yet sent to a follower. */
interface RestOfLog {
  readonly frames: LogFrames;
  /** Offset of the first byte. */
  readonly from: number;
  /** True if the log will not grow any more. */
  readonly ended: boolean;
}

/**
 * Sends frames in turns, so that many followers do not block the server. Each frame is read only when the previous one
 * was sent, so a slow follower keeps at most one frame in memory. Followers at the same position share one frame.
 */
async function sendLog(
  turns: Turns,
  follower: Follower,
  { frames, from, ended }: RestOfLog,
  abort: AbortSignal,
): Promise<number> {
  let offset = from;
  while (!abort.aborted) {
    const step = await turns.run(async () => {
      const frame = await frames.at(offset, ended);
      return frame && { next: frame.next, sent: follower.sendText(frame.text) };
    });
    if (!step) return offset;
    await step.sent;
    offset = step.next;
  }
  return offset;
}
