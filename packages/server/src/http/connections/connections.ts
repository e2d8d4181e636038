/**
 * Limits open connections: the number per caller, the time for which a caller may keep the server waiting, and the
 * answer bytes that wait in memory.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { ApiError } from "@millrace/contract";
import type { Logger } from "pino";
import type { Callers } from "./callers.ts";
import { type Looks, leastMissedOf, type Owner, Owners } from "./connection-owners.ts";
import { isLoopback, networkOf } from "./ip-addresses.ts";
import { OwedAnswers } from "./owed-answers.ts";
import { answerAndClose } from "./raw-answers.ts";
import { readInTurns } from "./read-turns.ts";
import { RequestTurns } from "./request-turns.ts";
import { bytesWaiting, largestOf, mostWaiting, type Waiting } from "./waiting-answers.ts";

interface ConnectionRules {
  /** Maximum number of connections in total. */
  readonly total: number;
  /**
   * Maximum number of connections of one address without a valid token or session. For connections within this machine,
   * the limit applies to each operating system user instead.
   */
  readonly perAddress: number;
  /** Maximum number of connections of one authenticated user. */
  readonly perUser: number;
  /**
   * Seconds within which a request must arrive completely. For an authenticated caller, these are the seconds within
   * which the next `leastBytes` bytes must arrive.
   */
  readonly seconds: number;
  /**
   * Tells whether the address is a trusted proxy. A proxy serves many callers, so its connections have no limit per
   * address.
   */
  readonly isProxy: (address: string) => boolean;
  /** Tells apart the operating system users of this machine, who all share one address. */
  readonly callers: Pick<Callers, "keyOf">;
}

/**
 * Minimum number of bytes that an authenticated caller must send in each period of `ConnectionRules.seconds`. Every
 * usable network is faster.
 */
export const leastBytes = 256 * 1024;

/**
 * If an address already has this many unauthenticated connections, the server looks up the owner of each further
 * connection. A connection from this machine then counts for the operating system user that opened it.
 */
const fewStrangers = 48;

/**
 * Maximum number of pipelined requests of one connection that are not answered yet. A connection with more is closed.
 */
const mostAhead = 16;

/**
 * Factor by which an authenticated caller may pause reading for longer than other callers, for example while somebody
 * pages through a log.
 */
const readerPatience = 5;

/** Maximum number of connections of one runner. It uses two at a time: for beats, and for the log or a file. */
const perRunner = 8;

/** A connection that was opened less than this many milliseconds ago, and has sent nothing, is not closed as idle. */
const comingMs = 1000;

interface Connection {
  readonly opened: number;
  owner: Owner;
  known: boolean;
  /** Answers that are not completely sent yet. */
  readonly answers: OwedAnswers;
  /**
   * The latest request and its response. `since` is the time and `read` the byte count at the last check of the
   * request's progress.
   */
  body?: { readonly request: IncomingMessage; readonly response: ServerResponse; since: number; read: number };
  /** Set while the caller does not read: the time when it stopped, and the number of bytes that it had read by then. */
  stalled?: { readonly since: number; readonly written: number } | undefined;
}

export class Connections {
  readonly #rules: ConnectionRules;
  readonly #open = new Map<Socket, Connection>();
  readonly #owners = new Owners();
  readonly #turns = new RequestTurns();
  /** Estimated number of answer bytes in memory: the last measured number, plus the bytes of all answers since then. */
  #waiting = 0;
  #notedFull = Number.NEGATIVE_INFINITY;

  constructor(rules: ConnectionRules) {
    this.#rules = rules;
  }

  guard(server: Server, log: Logger): void {
    // This limit is the last resort, because it drops new connections. Before it is reached, an idle connection is
    // closed.
    server.maxConnections = this.#rules.total;
    server.on("drop", () => this.#noteFull(log));
    server.on("connection", (socket) => this.#take(socket, log));
    server.prependListener("request", (request, response) => this.#expectBody(request, response));
    server.on("upgrade", ({ socket }) => void this.#open.get(socket)?.owner.idle.delete(socket));
    const looking = setInterval(() => this.#look(), Math.min(1000, this.#rules.seconds * 250)).unref();
    server.on("close", () => clearInterval(looking));
  }

  /**
   * Assigns a connection to its authenticated user. Throws if the user has too many connections and none of them is
   * idle.
   */
  know(socket: Socket, { userId }: { readonly userId: number }): void {
    this.#know(socket, `user ${userId}`, this.#rules.perUser);
  }

  /** Assigns a connection to the runner of an attempt, so that many runners can share one address. */
  knowRunner(socket: Socket, key: string): void {
    this.#know(socket, `runner ${key}`, perRunner);
  }

  #know(socket: Socket, key: string, limit: number): void {
    const connection = this.#open.get(socket);
    if (!connection || connection.owner.key === proxies) return;
    const owner = this.#owners.get(key, limit);
    if (connection.owner !== owner) {
      if (!this.#makeRoom(owner)) throw tooMany(`You already have ${owner.limit} busy connections, which is the limit`);
      this.#move(socket, connection, owner);
    }
    connection.known = true;
  }

  /** Counts an answer of this many bytes that is about to be sent. */
  expectAnswer(bytes: number): void {
    this.#waiting += bytes;
    if (this.#waiting > mostWaiting) this.#measureWaiting();
  }

  /** Waits until all answers of this connection are sent. Returns false if there were none. */
  async awaitAnswers(socket: Socket): Promise<boolean> {
    return (await this.#open.get(socket)?.answers.sent()) ?? false;
  }

  /** Calls `end` when this answer was sent or its connection is closed. */
  onceAnswered(socket: Socket, answer: ServerResponse, end: () => void): void {
    const connection = this.#open.get(socket);
    if (connection) connection.answers.onceSent(answer, end);
    else end();
  }

  /**
   * Calls `go` when it is this request's turn. Each connection has one request handled at a time, and callers take
   * turns.
   */
  onceItsTurn({ socket }: IncomingMessage, answer: ServerResponse, go: () => void): void {
    const connection = this.#open.get(socket);
    const begin = () =>
      this.#turns.begin(
        connection?.owner ?? this,
        () => {
          // Skipped if the connection was closed: nobody waits for the answer.
          if (!socket.destroyed) go();
        },
        connection?.known,
      );
    if (connection) connection.answers.onceNext(answer, begin);
    else begin();
  }

  /**
   * Waits for the next turn of the request on this connection. Call this after authentication, because requests of
   * other callers may have arrived in the meantime.
   */
  nextTurn(socket: Socket): Promise<void> {
    const { owner, known } = this.#open.get(socket) ?? { owner: this };
    return new Promise((resolve) => this.#turns.begin(owner, resolve, known));
  }

  #take(socket: Socket, log: Logger): void {
    const address = socket.remoteAddress ?? "";
    const isProxy = this.#rules.isProxy(address);
    // All loopback addresses belong to this machine, so they count as one.
    const key = isProxy ? proxies : `from ${isLoopback(address) ? "loopback" : networkOf(address)}`;
    const limit = isProxy ? Number.POSITIVE_INFINITY : this.#rules.perAddress;
    const isMany = !isProxy && this.#owners.count(key) >= Math.min(fewStrangers, Math.ceil(limit / 2));
    const owner = isMany
      ? this.#owners.get("not told apart yet", Number.POSITIVE_INFINITY)
      : this.#owners.get(key, limit);
    const connection: Connection = { opened: performance.now(), owner, known: isProxy, answers: new OwedAnswers() };
    this.#open.set(socket, connection);
    this.#owners.add(owner, socket, true);
    socket.once("close", () => this.#forget(socket));
    readInTurns(socket, (go) => this.#turns.begin(connection.owner, go, connection.known));
    if (this.#open.size > this.#rules.total - spare(this.#rules.total)) this.#makePlace(socket, log);
    if (isMany) void this.#tellApart(socket, connection);
  }

  /**
   * Called when nearly all connections are in use. Closes an idle or slow connection of the owner with the most
   * connections. If no connection may be closed, refuses the new one.
   */
  #makePlace(socket: Socket, log: Logger): void {
    const least = this.#owners.leastMissed(this.#looks, socket);
    if (least) return void this.#close(least);
    this.#noteFull(log);
    this.#refuse(socket, "All connections of the server are in use");
  }

  readonly #looks: Looks = {
    /** True for an unauthenticated caller that has not sent its whole request, or does not read its answer. */
    isWaitedFor: (socket) => {
      const { known, body } = this.#open.get(socket) ?? {};
      return !known && body !== undefined && (!body.request.complete || socket.writableLength > 0);
    },
    isComing: (socket) =>
      socket.bytesRead === 0 && performance.now() - (this.#open.get(socket)?.opened ?? 0) < comingMs,
  };

  /**
   * Assigns a connection from this machine to the operating system user of the calling process, because all these users
   * share one address.
   */
  async #tellApart(socket: Socket, connection: Connection): Promise<void> {
    const pending = connection.owner;
    const key = await this.#rules.callers.keyOf({ ip: socket.remoteAddress ?? "", socket });
    // The connection was closed, or its user has authenticated in the meantime.
    if (this.#open.get(socket) !== connection || connection.owner !== pending) return;
    const owner = this.#owners.get(`from ${key}`, this.#rules.perAddress);
    if (this.#makeRoom(owner)) this.#move(socket, connection, owner);
    else this.#refuse(socket, `This address has more than ${owner.limit} connections without a valid token or session`);
  }

  /**
   * Makes room for one more connection of the owner, if needed by closing another one. Returns false if none may be
   * closed.
   */
  #makeRoom(owner: Owner): boolean {
    if (owner.sockets.size < owner.limit) return true;
    const least = leastMissedOf(owner, this.#looks);
    if (least) this.#close(least);
    return least !== undefined;
  }

  #move(socket: Socket, connection: Connection, owner: Owner): void {
    const isIdle = connection.owner.idle.has(socket);
    this.#owners.remove(connection.owner, socket);
    connection.owner = owner;
    this.#owners.add(owner, socket, isIdle);
  }

  #close(socket: Socket): void {
    this.#forget(socket);
    socket.destroy();
  }

  #refuse(socket: Socket, what: string): void {
    this.#forget(socket);
    socket.on("error", () => socket.destroy());
    answerAndClose(socket, tooMany(what));
  }

  #forget(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (!connection) return;
    this.#open.delete(socket);
    this.#owners.remove(connection.owner, socket);
    connection.answers.endAll();
  }

  /** Starts to track a request: first the arrival of its body, then its answer. */
  #expectBody(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const connection = this.#open.get(socket);
    if (!connection) return;
    connection.body = { request, response, since: performance.now(), read: socket.bytesRead };
    connection.answers.add(response);
    connection.owner.idle.delete(socket);
    response.once("close", () => {
      connection.answers.end(response);
      if (connection.answers.size === 0 && this.#open.has(socket)) connection.owner.idle.add(socket);
    });
    if (connection.answers.size > mostAhead) this.#close(socket);
  }

  #noteFull(log: Logger): void {
    const now = performance.now();
    if (now - this.#notedFull < 60_000) return;
    this.#notedFull = now;
    log.warn(
      { connections: this.#rules.total },
      "all connections are in use and new ones are refused: raise the limit of open files (ulimit -n)",
    );
  }

  #look(): void {
    const now = performance.now();
    for (const [socket, connection] of this.#open) {
      if (this.#isBodyLate(socket, connection, now)) endRequest(socket, connection, this.#rules.seconds);
      else if (this.#isReaderGone(socket, connection, now)) socket.destroy();
    }
    this.#measureWaiting();
  }

  /**
   * Measures the bytes of answers that wait in memory. If they exceed the limit, closes connections until at most three
   * quarters of the limit remain, so that the next measurement is not needed soon.
   */
  #measureWaiting(): void {
    const all: Waiting[] = [];
    for (const [socket, { owner, answers }] of this.#open) {
      const bytes = bytesWaiting(socket, answers.all);
      if (bytes > 0) all.push({ socket, owner, bytes });
    }
    const cut = new Set(largestOf(all, mostWaiting * 0.75));
    for (const socket of cut) this.#close(socket);
    this.#waiting = all.reduce((sum, { socket, bytes }) => (cut.has(socket) ? sum : sum + bytes), 0);
  }

  #isBodyLate(socket: Socket, { body, known }: Connection, now: number): boolean {
    if (!body || body.request.complete || now - body.since < this.#rules.seconds * 1000) return false;
    // If bytes have arrived that the server has not read yet, the server causes the delay and not the caller.
    const goesOn = known && (socket.bytesRead - body.read >= leastBytes || body.request.readableLength > 0);
    if (goesOn) Object.assign(body, { since: now, read: socket.bytesRead });
    return !goesOn;
  }

  #isReaderGone(socket: Socket, connection: Connection, now: number): boolean {
    const written = socket.bytesWritten - socket.writableLength;
    const patience = connection.known ? readerPatience : 1;
    if (socket.writableLength === 0) connection.stalled = undefined;
    else if (connection.stalled?.written !== written) connection.stalled = { since: now, written };
    else return now - connection.stalled.since >= patience * this.#rules.seconds * 1000;
    return false;
  }
}

/**
 * Ends a request whose body is late. If an answer was already sent, such as for a body that is too large, the
 * connection is only closed.
 */
function endRequest(socket: Socket, { body }: Connection, seconds: number): void {
  if (body?.response.headersSent) socket.destroy();
  else answerAndClose(socket, tooLate(seconds));
}

export const tooLate = (seconds: number) =>
  new ApiError("request_timeout", `The request did not arrive completely within ${seconds} s. Send it again.`);

const proxies = "proxies";

/**
 * Returns how many connections are kept free. If fewer are free, each new connection causes another one to be closed.
 */
const spare = (total: number) => Math.ceil(total / 32);

const tooMany = (what: string) =>
  new ApiError("too_many_requests", `${what}. Close some connections, or try again later.`, { retryAfter: 1 });
