/** One connection to the log socket, from the handshake to the close. */
import { type LogFrame, routes } from "@millrace/contract";
import WebSocket from "ws";
import type { Connection } from "../connection.ts";
import { CliError, exitCodes } from "../errors.ts";

const pingEvery = 20_000;
const handshakeTimeout = 10_000;

export interface SocketRequest {
  readonly jobId: string;
  readonly after: number;
  readonly statusesOnly: boolean;
}

/**
 * Reads frames until the connection ends for any reason; the caller may then connect again. Throws if connecting again
 * would not help: the server refused the token, or `onFrame` threw.
 */
export function readSocket(
  { settings }: Connection,
  request: SocketRequest,
  signal: AbortSignal,
  onFrame: (frame: LogFrame) => Promise<void> | undefined,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = new WebSocket(socketUrl(settings.url.value, settings.team?.value, request), {
    headers: { authorization: `Bearer ${settings.token?.value ?? ""}` },
    handshakeTimeout,
    perMessageDeflate: false,
  });
  const stop = () => socket.terminate();
  const stopPings = pingRegularly(socket);
  signal.addEventListener("abort", stop);
  socket.on("unexpected-response", (_, response) => {
    const refusal = refused(response.statusCode ?? 0, settings.team?.value);
    if (refusal) reject(refusal);
    stop();
  });
  const listen = (data: WebSocket.RawData) => {
    try {
      holdBack(socket, onFrame(JSON.parse(String(data)) as LogFrame));
    } catch (error) {
      // Ignore the remaining messages: after a refusal, the server sends a status for old clients that do not know
      // refusals.
      socket.off("message", listen);
      reject(error);
      stop();
    }
  };
  socket.on("message", listen);
  // A "close" event follows every error, so this handler does nothing.
  socket.on("error", () => {});
  socket.on("close", () => {
    stopPings();
    signal.removeEventListener("abort", stop);
    resolve();
  });
  return promise;
}

function socketUrl(base: string, team: string | undefined, { jobId, after, statusesOnly }: SocketRequest): URL {
  const url = new URL(base + routes.followLogs.path);
  url.protocol = url.protocol.replace("http", "ws");
  url.searchParams.set("job_id", jobId);
  if (team) url.searchParams.set("team_name", team);
  if (after > 0) url.searchParams.set("after", String(after));
  if (statusesOnly) url.searchParams.set("no_follow", "true");
  return url;
}

/** Pauses the socket until the promise resolves, so that pieces of the log do not pile up in memory. */
function holdBack(socket: WebSocket, drained: Promise<void> | undefined): void {
  if (!drained) return;
  socket.pause();
  drained.then(() => socket.resume());
}

/**
 * Pings the server regularly, and terminates the connection if a ping is not answered. Returns a function that stops
 * the pings.
 */
function pingRegularly(socket: WebSocket): () => void {
  let answered = true;
  const heard = () => {
    answered = true;
  };
  socket.on("pong", heard);
  socket.on("message", heard);
  const timer = setInterval(() => {
    if (socket.readyState !== WebSocket.OPEN || socket.isPaused) return;
    if (!answered) return socket.terminate();
    answered = false;
    socket.ping();
  }, pingEvery);
  return () => clearInterval(timer);
}

function refused(status: number, team: string | undefined): CliError | undefined {
  if (status === 401) {
    return new CliError("The server does not accept your token", {
      next: "millrace auth login",
      exitCode: exitCodes.signInNeeded,
    });
  }
  if (status !== 403) return undefined;
  return new CliError("You may not read this log", {
    why: team
      ? `Your token or role has no access to the team '${team}'`
      : "Your token or role has no access to this team",
    next: "Choose another team: --team NAME, or millrace auth team NAME",
  });
}
