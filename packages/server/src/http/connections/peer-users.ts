/**
 * Whose process is at the other end of a connection within this machine, by the kernel's tables of connections. Every
 * process of the machine can make these tables long, so they are read for many askers at once, at a pace, and searched
 * without being taken apart.
 */
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { kernelForms } from "./ip-addresses.ts";

/** "gone": the connection is not in the tables, as when its other end has been closed. Undefined: there are no tables. */
export type PeerUser = number | "gone" | undefined;

/** Undefined: there is no such table. */
type ReadTable = (path: string) => Promise<Buffer | undefined>;
type Rest = (milliseconds: number) => Promise<void>;

interface Question {
  /** The server's port, as the tables write it. */
  readonly port: string;
  /** How the line of the other end names its two ends and its state, in either table. */
  readonly ends: readonly string[];
  readonly answer: (user: PeerUser) => void;
}

/** With the characters of an address in each. */
const tables = [
  { path: "/proc/net/tcp", address: 8 },
  { path: "/proc/net/tcp6", address: 32 },
];

/** Only of a connection that stands is the user certain. */
const established = " 01 ";

/** In bytes: fifty thousand lines. Reading and searching them takes about a hundredth of the event loop's time. */
const readPerSecond = 8 * 1024 ** 2;

export class PeerUsers {
  readonly #read: ReadTable;
  readonly #rest: Rest;
  #waiting: Question[] = [];
  #isReading = false;
  /** Of connections to the server: lines that were compared with what is looked for. */
  linesCompared = 0;

  constructor(read: ReadTable = readTable, rest: Rest = sleep) {
    this.#read = read;
    this.#rest = rest;
  }

  /** Answered by tables that are read after this call: earlier ones may lack the connection. */
  of(socket: Socket): Promise<PeerUser> {
    const { promise, resolve } = Promise.withResolvers<PeerUser>();
    this.#waiting.push({ port: hexPort(socket.localPort), ends: endsOf(socket), answer: resolve });
    if (!this.#isReading) void this.#answerAll();
    return promise;
  }

  /** Whoever asks during a reading, or during the rest that a long one is followed by, shares the next. */
  async #answerAll(): Promise<void> {
    this.#isReading = true;
    while (this.#waiting.length > 0) {
      const questions = this.#waiting;
      this.#waiting = [];
      const bytes = await this.#answer(questions);
      await this.#rest((bytes / readPerSecond) * 1000);
    }
    this.#isReading = false;
  }

  /** Returns the bytes that were read. */
  async #answer(questions: readonly Question[]): Promise<number> {
    const wanted = new Map(questions.flatMap(({ ends, answer }) => ends.map((text) => [text, answer] as const)));
    const ports = new Set(questions.map(({ port }) => port));
    let bytes: number | undefined;
    for (const { path, address } of tables) {
      const table = await this.#read(path);
      if (!table) continue;
      bytes = (bytes ?? 0) + table.length;
      for (const port of ports) this.#search(table, `:${port}${established}`, 2 * address + 11, wanted);
    }
    // Nothing changes for those who have their answer.
    for (const { answer } of questions) answer(bytes === undefined ? undefined : "gone");
    return bytes ?? 0;
  }

  /** One pass for everybody. `width`: from the first end to the second port. */
  #search(table: Buffer, needle: string, width: number, wanted: ReadonlyMap<string, Question["answer"]>): void {
    for (let at = table.indexOf(needle); at !== -1; at = table.indexOf(needle, at + needle.length)) {
      this.linesCompared++;
      const rest = at + needle.length;
      const answer = wanted.get(table.toString("latin1", rest - width - established.length, rest));
      if (answer) answer(userOf(table.toString("latin1", rest, table.indexOf("\n", rest))));
    }
  }
}

const readTable: ReadTable = (path) => readFile(path).catch(() => undefined);

/** What follows the state: queues, a timer, retransmissions, the user. */
const userOf = (rest: string) => Number(rest.trim().split(/\s+/)[3]);

const hexPort = (port = 0) => port.toString(16).toUpperCase().padStart(4, "0");

/** The other end comes first, ours second. Both: others have the same port at another address of this machine. */
function endsOf({ remoteAddress = "", remotePort, localAddress = "", localPort }: Socket): string[] {
  const local = kernelForms(localAddress);
  return kernelForms(remoteAddress).map(
    (remote, index) => `${remote}:${hexPort(remotePort)} ${local[index]}:${hexPort(localPort)}${established}`,
  );
}
