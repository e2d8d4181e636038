/** Open connections: how many of one caller, how long each may keep the server waiting, and how much may wait in it. */
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
  /** Connections of everybody. */
  readonly total: number;
  /** Connections of one address, on this machine of one of its users, over which nobody has shown a good token or session. */
  readonly perAddress: number;
  /** Connections of one user who has. */
  readonly perUser: number;
  /** For a request to arrive whole; a known caller has as long for every `leastBytes` of it. */
  readonly seconds: number;
  /** Stands for many callers: its connections are not counted as those of one. */
  readonly isProxy: (address: string) => boolean;
  /** Tells the users of this machine apart, who all have one address. */
  readonly callers: Pick<Callers, "keyOf">;
}

/** Slower than any network that people work over. */
export const leastBytes = 256 * 1024;

/** Strangers of one address before it is asked which of this machine's users they are. */
const fewStrangers = 48;

/** Requests that a caller may send over one connection ahead of their answers: they wait in memory. */
const mostAhead = 16;

/** How many times longer than a stranger a known caller may take nothing: somebody pages through a log. */
const readerPatience = 5;

/** For the first bytes of a connection to arrive, before it counts as idle. */
const comingMs = 1000;

interface Connection {
  readonly opened: number;
  owner: Owner;
  known: boolean;
  /** Not yet sent whole. */
  readonly answers: OwedAnswers;
  /** Of the latest request; since when it is waited for, and what had been read by then. */
  body?: { readonly request: IncomingMessage; readonly response: ServerResponse; since: number; read: number };
  /** Since when the caller takes nothing of what it is sent, and what it had taken by then. */
  stalled?: { readonly since: number; readonly written: number } | undefined;
}

export class Connections {
  readonly #rules: ConnectionRules;
  readonly #open = new Map<Socket, Connection>();
  readonly #owners = new Owners();
  readonly #turns = new RequestTurns();
  /** Bytes that waited when that was last measured, and those of all answers since. */
  #waiting = 0;
  #notedFull = Number.NEGATIVE_INFINITY;

  constructor(rules: ConnectionRules) {
    this.#rules = rules;
  }

  guard(server: Server, log: Logger): void {
    // The last resort, since it drops whoever comes: before it is reached somebody idle makes room.
    server.maxConnections = this.#rules.total;
    server.on("drop", () => this.#noteFull(log));
    server.on("connection", (socket) => this.#take(socket, log));
    server.prependListener("request", (request, response) => this.#expectBody(request, response));
    server.on("upgrade", ({ socket }) => void this.#open.get(socket)?.owner.idle.delete(socket));
    const looking = setInterval(() => this.#look(), Math.min(1000, this.#rules.seconds * 250)).unref();
    server.on("close", () => clearInterval(looking));
  }

  /** Somebody has shown who they are. Throws where they have too many connections, none of them idle. */
  know(socket: Socket, { userId }: { readonly userId: number }): void {
    const connection = this.#open.get(socket);
    if (!connection || connection.owner.key === proxies) return;
    const owner = this.#owners.get(`user ${userId}`, this.#rules.perUser);
    if (connection.owner !== owner) {
      if (!this.#makeRoom(owner)) throw tooMany(`${owner.limit} connections of yours are busy`);
      this.#move(socket, connection, owner);
    }
    connection.known = true;
  }

  /** An answer of this many bytes is about to be sent. */
  expectAnswer(bytes: number): void {
    this.#waiting += bytes;
    if (this.#waiting > mostWaiting) this.#measureWaiting();
  }

  /** Waits until no answer is owed over this connection. False: none was. */
  async awaitAnswers(socket: Socket): Promise<boolean> {
    return (await this.#open.get(socket)?.answers.sent()) ?? false;
  }

  /** Calls back when this answer has been sent, or its connection is gone. */
  onceAnswered(socket: Socket, answer: ServerResponse, end: () => void): void {
    const connection = this.#open.get(socket);
    if (connection) connection.answers.onceSent(answer, end);
    else end();
  }

  /** Calls back when this request is to be handled: of a connection one at a time, of all callers in turns. */
  onceItsTurn({ socket }: IncomingMessage, answer: ServerResponse, go: () => void): void {
    const connection = this.#open.get(socket);
    const begin = () =>
      this.#turns.begin(
        connection?.owner ?? this,
        () => {
          // Nobody waits any more for what was asked over a connection that is gone.
          if (!socket.destroyed) go();
        },
        connection?.known,
      );
    if (connection) connection.answers.onceNext(answer, begin);
    else begin();
  }

  /** Resolves when what is asked over this connection may go on: to know who asks may have taken others' time. */
  nextTurn(socket: Socket): Promise<void> {
    const { owner, known } = this.#open.get(socket) ?? { owner: this };
    return new Promise((resolve) => this.#turns.begin(owner, resolve, known));
  }

  #take(socket: Socket, log: Logger): void {
    const address = socket.remoteAddress ?? "";
    const isProxy = this.#rules.isProxy(address);
    // Loopback has millions of addresses, all of them this machine's.
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

  /** Nearly all places are taken: somebody leaves who is idle or keeps us waiting, of whoever has most. */
  #makePlace(socket: Socket, log: Logger): void {
    const least = this.#owners.leastMissed(this.#looks, socket);
    if (least) return void this.#close(least);
    this.#noteFull(log);
    this.#refuse(socket, "All connections of the server are busy");
  }

  readonly #looks: Looks = {
    /** A stranger: for the rest of its request, or to take its answer. */
    isWaitedFor: (socket) => {
      const { known, body } = this.#open.get(socket) ?? {};
      return !known && body !== undefined && (!body.request.complete || socket.writableLength > 0);
    },
    isComing: (socket) =>
      socket.bytesRead === 0 && performance.now() - (this.#open.get(socket)?.opened ?? 0) < comingMs,
  };

  /** On this machine everybody has the same address: there a user's connections are that user's alone. */
  async #tellApart(socket: Socket, connection: Connection): Promise<void> {
    const pending = connection.owner;
    const key = await this.#rules.callers.keyOf({ ip: socket.remoteAddress ?? "", socket });
    // Gone, or known by now.
    if (this.#open.get(socket) !== connection || connection.owner !== pending) return;
    const owner = this.#owners.get(`from ${key}`, this.#rules.perAddress);
    if (this.#makeRoom(owner)) this.#move(socket, connection, owner);
    else this.#refuse(socket, `More than ${owner.limit} connections from here that nobody has signed in over are busy`);
  }

  /** False: the owner has as many as it may have, and is waiting for answers over all of them. */
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

  /** The rest of this request is waited for from now on, and then its answer. */
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
      "new connections are refused: raise the limit of open files (ulimit -n)",
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

  /** Some room is made at once, so that the next measuring is far. */
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
    // What has come and lies unread is for the server to take.
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

/** An answer that was given already, as to a body that is too large, is not given twice. */
function endRequest(socket: Socket, { body }: Connection, seconds: number): void {
  if (body?.response.headersSent) socket.destroy();
  else answerAndClose(socket, tooLate(seconds));
}

export const tooLate = (seconds: number) =>
  new ApiError("request_timeout", `The request did not arrive whole within ${seconds} s. Send it again.`);

const proxies = "proxies";

/** Places that are kept free, so that there is time to choose who leaves. */
const spare = (total: number) => Math.ceil(total / 32);

const tooMany = (what: string) =>
  new ApiError("too_many_requests", `${what}. Close some, or try again.`, { retryAfter: 1 });
