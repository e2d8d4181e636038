/** Open connections: how many of one address, and how long each may keep the server waiting. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { ApiError } from "@millrace/contract";
import type { Logger } from "pino";
import { answerAndClose } from "./raw-answers.ts";

interface ConnectionRules {
  /** Connections of all addresses. */
  readonly total: number;
  /** Connections of one address over which nobody has shown a good token or session. */
  readonly perAddress: number;
  /** For a request to arrive whole; a known caller has as long for every `leastBytes` of it. */
  readonly seconds: number;
  /** Stands for many callers: its connections are not counted as those of one. */
  readonly isProxy: (address: string) => boolean;
}

/** Slower than any network that people work over. */
export const leastBytes = 256 * 1024;

interface Connection {
  readonly address: string;
  known: boolean;
  /** Of the latest request; since when it is waited for, and what had been read by then. */
  body?: { readonly request: IncomingMessage; readonly response: ServerResponse; since: number; read: number };
  /** Since when the caller takes nothing of what it is sent, and what it had taken by then. */
  stalled?: { readonly since: number; readonly written: number } | undefined;
}

export class Connections {
  readonly #rules: ConnectionRules;
  readonly #open = new Map<Socket, Connection>();
  /** Connections of an address that are not known. */
  readonly #strangers = new Map<string, number>();

  #notedFull = Number.NEGATIVE_INFINITY;

  constructor(rules: ConnectionRules) {
    this.#rules = rules;
  }

  guard(server: Server, log: Logger): void {
    server.maxConnections = this.#rules.total;
    server.on("drop", () => this.#noteFull(log));
    server.on("connection", (socket) => this.#take(socket));
    server.on("request", (request, response) => this.#expectBody(request, response));
    const looking = setInterval(() => this.#look(), Math.min(1000, this.#rules.seconds * 250)).unref();
    server.on("close", () => clearInterval(looking));
  }

  /** The rest of this request is waited for from now on. */
  #expectBody(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#open.get(request.socket);
    if (connection) connection.body = { request, response, since: performance.now(), read: request.socket.bytesRead };
  }

  /** Somebody has shown who they are. */
  know(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (!connection || connection.known) return;
    connection.known = true;
    this.#forget(connection.address);
  }

  #take(socket: Socket): void {
    const address = socket.remoteAddress ?? "";
    const known = this.#rules.isProxy(address);
    const strangers = this.#strangers.get(address) ?? 0;
    if (!known && strangers >= this.#rules.perAddress) return void refuse(socket, this.#rules.perAddress);
    const connection: Connection = { address, known };
    this.#open.set(socket, connection);
    if (!known) this.#strangers.set(address, strangers + 1);
    socket.once("close", () => {
      this.#open.delete(socket);
      if (!connection.known) this.#forget(address);
    });
  }

  #noteFull(log: Logger): void {
    const now = performance.now();
    if (now - this.#notedFull < 60_000) return;
    this.#notedFull = now;
    log.warn(
      { connections: this.#rules.total },
      "new connections are refused: raise the limit of open files (ulimit -n)",
    );
  }

  #forget(address: string): void {
    const left = (this.#strangers.get(address) ?? 0) - 1;
    if (left > 0) this.#strangers.set(address, left);
    else this.#strangers.delete(address);
  }

  #look(): void {
    const now = performance.now();
    for (const [socket, connection] of this.#open) {
      if (this.#isBodyLate(socket, connection, now)) endRequest(socket, connection, this.#rules.seconds);
      else if (this.#isReaderGone(socket, connection, now)) socket.destroy();
    }
  }

  #isBodyLate(socket: Socket, { body, known }: Connection, now: number): boolean {
    if (!body || body.request.complete || now - body.since < this.#rules.seconds * 1000) return false;
    // What has come and lies unread is for the server to take.
    const goesOn = known && (socket.bytesRead - body.read >= leastBytes || body.request.readableLength > 0);
    if (goesOn) Object.assign(body, { since: now, read: socket.bytesRead });
    return !goesOn;
  }

  /** Known callers may take their time: somebody pages through a log. */
  #isReaderGone(socket: Socket, connection: Connection, now: number): boolean {
    const written = socket.bytesWritten - socket.writableLength;
    if (connection.known || socket.writableLength === 0) connection.stalled = undefined;
    else if (connection.stalled?.written !== written) connection.stalled = { since: now, written };
    else return now - connection.stalled.since >= this.#rules.seconds * 1000;
    return false;
  }
}

/** An answer that was given already, as to a body that is too large, is not given twice. */
function endRequest(socket: Socket, { body }: Connection, seconds: number): void {
  if (body?.response.headersSent) socket.destroy();
  else answerAndClose(socket, tooLate(seconds));
}

export const tooLate = (seconds: number) =>
  new ApiError("request_timeout", `The request did not arrive whole within ${seconds} s. Send it again.`);

function refuse(socket: Socket, limit: number): void {
  socket.on("error", () => socket.destroy());
  const what = `More than ${limit} connections from this address that nobody has signed in over. Close some.`;
  answerAndClose(socket, new ApiError("too_many_requests", what, { retryAfter: 1 }));
}
