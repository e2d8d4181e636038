/**
 * Finds the user id of the process at the other end of a connection within this machine, from the kernel's connection
 * tables. Any local process can make these tables long. Therefore one read serves many lookups, reads are rate limited,
 * lines are searched without parsing the table, and while the tables are long, the kernel is asked for each connection.
 */
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { kernelForms } from "./ip-addresses.ts";
import { PeerLookup } from "./peer-lookup.ts";

/**
 * User id of the process at the other end of a connection. It is "gone" if the kernel's tables of connections do not
 * have the connection, for example because the other end was closed. It is undefined if the system has no such tables.
 */
export type PeerUser = number | "gone" | undefined;

/** Reads a table; undefined if it does not exist. */
type ReadTable = (path: string) => Promise<Buffer | undefined>;
type Rest = (milliseconds: number) => Promise<void>;

/** Finds the users of single connections. */
type Lookup = Pick<PeerLookup, "of">;
type StartLookup = (onEnd: () => void) => Lookup;

interface Question {
  readonly socket: Socket;
  /** Port of the server, in the hexadecimal form of /proc/net/tcp. */
  readonly port: string;
  /**
   * Texts that identify the connection in a line of /proc/net/tcp or tcp6: both addresses with ports, and the state.
   */
  readonly ends: readonly string[];
  readonly answer: (user: PeerUser) => void;
}

/** The kernel's connection tables. `address` is the number of characters of an address in the table. */
const tables = [
  { path: "/proc/net/tcp", address: 8 },
  { path: "/proc/net/tcp6", address: 32 },
];

/** The connection state ESTABLISHED, as /proc/net/tcp writes it. In other states, the user id is not reliable. */
const established = " 01 ";

/**
 * Maximum number of bytes of the tables that are read per second: about fifty thousand lines. Reading and searching
 * this much takes about a hundredth of the event loop's time.
 */
const readPerSecond = 8 * 1024 ** 2;

export class PeerUsers {
  readonly #read: ReadTable;
  readonly #rest: Rest;
  readonly #startLookup: StartLookup;
  #waiting: Question[] = [];
  #isReading = false;
  /** Asks the kernel for single connections; undefined while the tables are short. */
  #lookup: Lookup | undefined;
  /** Number of lines that were compared in all searches; tests read it. */
  linesCompared = 0;

  constructor(read: ReadTable = readTable, rest: Rest = sleep, startLookup: StartLookup = lookUp) {
    this.#read = read;
    this.#rest = rest;
    this.#startLookup = startLookup;
  }

  /**
   * Looks up the user of a connection's peer. The answer comes from tables that are read after this call, because
   * tables that were read earlier may lack the connection.
   */
  of(socket: Socket): Promise<PeerUser> {
    return this.#lookup ? this.#lookup.of(socket).catch(() => this.#inTables(socket)) : this.#inTables(socket);
  }

  #inTables(socket: Socket): Promise<PeerUser> {
    const { promise, resolve } = Promise.withResolvers<PeerUser>();
    this.#waiting.push({ socket, port: hexPort(socket.localPort), ends: endsOf(socket), answer: resolve });
    if (!this.#isReading) void this.#answerAll();
    return promise;
  }

  /**
   * Answers all waiting lookups. Lookups that arrive during a read, or during the pause after a long read, share the
   * next read.
   */
  async #answerAll(): Promise<void> {
    this.#isReading = true;
    while (this.#waiting.length > 0) {
      const questions = this.#waiting;
      this.#waiting = [];
      const bytes = await this.#answer(questions);
      if (bytes > readPerSecond) this.#askKernel();
      await this.#rest((bytes / readPerSecond) * 1000);
    }
    this.#isReading = false;
  }

  /** From now on the kernel is asked for single connections. If that does not work here, callers wait for the tables. */
  #askKernel(): void {
    this.#lookup ??= this.#startLookup(() => {
      this.#lookup = undefined;
    });
    for (const { socket, answer } of this.#waiting.splice(0)) void this.of(socket).then(answer);
  }

  /**
   * Reads the kernel's connection tables and answers these lookups in their order, which is not the order of the tables:
   * the connection that was opened first counts as idle for longest. Returns the number of bytes read.
   */
  async #answer(questions: readonly Question[]): Promise<number> {
    const wanted = new Map(questions.flatMap((question) => question.ends.map((text) => [text, question] as const)));
    const ports = new Set(questions.map(({ port }) => port));
    const users = new Map<Question, number>();
    let bytes: number | undefined;
    for (const { path, address } of tables) {
      const table = await this.#read(path);
      if (!table) continue;
      bytes = (bytes ?? 0) + table.length;
      for (const port of ports) this.#search(table, `:${port}${established}`, 2 * address + 11, wanted, users);
    }
    for (const question of questions)
      question.answer(users.get(question) ?? (bytes === undefined ? undefined : "gone"));
    return bytes ?? 0;
  }

  /**
   * Finds the lines of /proc/net/tcp or tcp6 that contain `needle`, and adds to `users` what those say that match a
   * lookup in `wanted`. `width` is the length of both addresses with their ports in a line.
   */
  #search(
    table: Buffer,
    needle: string,
    width: number,
    wanted: ReadonlyMap<string, Question>,
    users: Map<Question, number>,
  ): void {
    for (let at = table.indexOf(needle); at !== -1; at = table.indexOf(needle, at + needle.length)) {
      this.linesCompared++;
      const rest = at + needle.length;
      const question = wanted.get(table.toString("latin1", rest - width - established.length, rest));
      if (question) users.set(question, userOf(table.toString("latin1", rest, table.indexOf("\n", rest))));
    }
  }
}

const lookUp: StartLookup = (onEnd) => new PeerLookup(onEnd);

const readTable: ReadTable = (path) => readFile(path).catch(() => undefined);

/**
 * Parses the user id in a line of /proc/net/tcp. `rest` is the part of the line after the state; its fourth field is
 * the user id.
 */
const userOf = (rest: string) => Number(rest.trim().split(/\s+/)[3]);

const hexPort = (port = 0) => port.toString(16).toUpperCase().padStart(4, "0");

/**
 * Returns how the kernel's tables show the peer's side of this connection: the remote end, then the local end. Both
 * ends are needed, because another local address may use the same port.
 */
function endsOf({ remoteAddress = "", remotePort, localAddress = "", localPort }: Socket): string[] {
  const local = kernelForms(localAddress);
  return kernelForms(remoteAddress).map(
    (remote, index) => `${remote}:${hexPort(remotePort)} ${local[index]}:${hexPort(localPort)}${established}`,
  );
}
