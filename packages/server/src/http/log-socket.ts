/** Following a job over a WebSocket: log pieces and statuses as JSON frames. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { ApiError, isSettled, type JobStatus, type LogFrame, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { type WebSocket, WebSocketServer } from "ws";
import { authorize, type Team } from "../domain/principals.ts";
import { Signal } from "../domain/signals.ts";
import type { LogSource } from "../engines/engine.ts";
import { logRemoved, openJobLog } from "../job-log.ts";
import type { MaskedLog } from "../logs/masked-log.ts";
import { readPieces } from "../logs/read-pieces.ts";
import { getJobState } from "../store/jobs.ts";
import { authenticate } from "./authenticate.ts";
import type { HttpContext } from "./context.ts";
import { hostCheck } from "./hosts.ts";
import { addressOf } from "./proxies.ts";
import { readQuery } from "./query-strings.ts";
import { answerAndClose } from "./raw-answers.ts";
import { register } from "./route.ts";

const route = routes.followLogs;
const pollMs = 100;
const pingMs = 15_000;
const closeMs = 1000;

export function logSocket(app: FastifyInstance, context: HttpContext): void {
  register(app, context, route, async () => {
    throw new ApiError("bad_request", "This path is a WebSocket: connect with an Upgrade header.");
  });
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: 64 * 1024 });
  const checkHost = hostCheck(context.config);
  const enter = async (request: IncomingMessage) => {
    checkHost(request.headers.host);
    const call = await accept(context, request);
    context.connections.know(request.socket);
    return call;
  };
  app.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    enter(request).then(
      (call) =>
        sockets.handleUpgrade(request, socket, head, (client) => {
          const ping = keepAlive(client, () => accept(context, request));
          void serve(context, client, call).finally(() => clearInterval(ping));
        }),
      (error: unknown) => refuse(socket as Socket, error),
    );
  });
  app.addHook("onClose", async () => {
    for (const client of sockets.clients) client.close(1001);
    // One that does not answer must not hold up the stop.
    setTimeout(() => {
      for (const client of sockets.clients) client.terminate();
    }, closeMs).unref();
    sockets.close();
  });
}

interface Call {
  jobId: string;
  team: Team;
  statusesOnly: boolean;
  after: number;
}

async function accept(context: HttpContext, request: IncomingMessage): Promise<Call> {
  if (!URL.canParse(request.url ?? "", "http://localhost"))
    throw new ApiError("bad_request", "The path cannot be read.");
  const url = new URL(request.url ?? "", "http://localhost");
  if (`${url.pathname.replace(/\/+$/, "")}/` !== route.path)
    throw new ApiError("not_found", "There is no WebSocket at this path.");
  const principal = await authenticate(context, request.headers, addressOf(request, context.config.trustProxy));
  const query = readQuery(route.query, Object.fromEntries(url.searchParams)) as {
    job_id?: string;
    team_name?: string;
    no_follow?: boolean;
    after?: number;
  };
  const team = authorize(principal, route.access, query.team_name);
  const after =
    typeof query.after === "number" && query.after > 0 ? Math.min(Math.floor(query.after), Number.MAX_SAFE_INTEGER) : 0;
  return { jobId: (query.job_id ?? "").toLowerCase(), team, statusesOnly: query.no_follow === true, after };
}

/** 401 and 403 end the client's command; it tries again after anything else. */
function refuse(socket: Socket, error: unknown): void {
  answerAndClose(socket, error instanceof ApiError ? error : new ApiError("internal", "The server failed."));
}

async function serve(context: HttpContext, client: WebSocket, call: Call): Promise<void> {
  const gone = new AbortController();
  client.on("close", () => gone.abort());
  client.on("error", () => client.terminate());
  context.log.debug({ job: call.jobId, after: call.after }, "following");
  context.metrics.followers++;
  try {
    await follow(context, client, call, AbortSignal.any([gone.signal, context.stopping]));
    client.close(1000);
  } catch (error) {
    context.log.error({ err: error, job: call.jobId }, "following failed");
    client.close(1011);
  } finally {
    context.metrics.followers--;
  }
}

/**
 * A reader that neither answers nor takes anything for two rounds is gone, whatever its connection says. One that would
 * not be let in any more, since the token was revoked or the user disabled, is sent away.
 */
function keepAlive(client: WebSocket, askAgain: () => Promise<unknown>): NodeJS.Timeout {
  let silent = 0;
  let waiting = 0;
  client.on("pong", () => {
    silent = 0;
  });
  return setInterval(() => {
    if (client.bufferedAmount < waiting) silent = 0;
    waiting = client.bufferedAmount;
    if (++silent > 2) client.terminate();
    else client.ping();
    askAgain().catch((error: unknown) => error instanceof ApiError && client.close(1008));
  }, pingMs);
}

/**
 * Every byte of the log, then the final status, then the end. The status is read before the log each time round: once
 * it is final, what the log holds is all there is.
 */
async function follow(context: HttpContext, client: WebSocket, call: Call, abort: AbortSignal): Promise<void> {
  const changed = new Signal();
  const stopListening = context.signals.onJobChange(call.jobId, () => changed.wake());
  let source: { attempt: number; log: MaskedLog } | undefined;
  let offset = call.after;
  let shown: JobStatus | undefined;
  try {
    while (!abort.aborted) {
      const job = await getJobState(context.store.db, call.jobId);
      if (!job || job.team_id !== call.team.id) {
        await send(client, { message: `There is no job ${call.jobId} in the team ${call.team.name}.` });
        return;
      }
      if (job.log_removed_at && !call.statusesOnly) {
        await send(client, { message: logRemoved(call.jobId, job.log_removed_at).message });
        return;
      }
      const settled = isSettled(job.status);
      if (job.status !== shown && !settled) await send(client, { job: { id: call.jobId, status: job.status } });
      shown = job.status;
      if (!call.statusesOnly && job.attempt > 0) {
        if (source?.attempt !== job.attempt) {
          // An attempt that never began has written nothing, so the offset holds.
          await source?.log.close();
          source = { attempt: job.attempt, log: (await openJobLog(context, call.jobId)).log };
        }
        if (settled) source.log.end();
        offset = await sendLog(client, source.log, offset, settled, abort);
      }
      if (settled) return await send(client, { job: { id: call.jobId, status: job.status } });
      await changed.wait(pollMs, abort);
    }
  } finally {
    stopListening();
    await source?.log.close();
  }
}

async function sendLog(
  client: WebSocket,
  log: LogSource,
  from: number,
  ended: boolean,
  abort: AbortSignal,
): Promise<number> {
  let offset = from;
  while (!abort.aborted) {
    const batch = await readPieces(log, offset, ended, Number.POSITIVE_INFINITY);
    if (batch.pieces.length === 0) return offset;
    await send(client, { logs: batch.pieces });
    offset = batch.next;
  }
  return offset;
}

/** Resolves when the frame has left: a slow reader slows the reading down, not the memory up. */
function send(client: WebSocket, frame: LogFrame): Promise<void> {
  return new Promise((resolve) => client.send(JSON.stringify(frame), () => resolve()));
}
