/**
 * Whose budget a request counts against. By address, of IPv6 the network of 64 bits that one customer has. On this machine
 * everybody has the same address: there it is the user of the process that calls, so that a job cannot use up what people
 * have.
 */
import { readFile } from "node:fs/promises";
import { isIPv4, type Socket } from "node:net";
import type { Config } from "../config.ts";
import { kernelForms, networkOf } from "./ip-addresses.ts";

interface Request {
  /** As told by proxies that are trusted. */
  readonly ip: string;
  readonly socket: Socket;
}

/** "gone": the connection is not in the tables, as when its other end has been closed. Undefined: there are no tables. */
type PeerUser = number | "gone" | undefined;

const tables = ["/proc/net/tcp", "/proc/net/tcp6"];

export class Callers {
  readonly #jobUsers: Config["jobUsers"];
  readonly #peers = new WeakMap<Socket, Promise<PeerUser>>();

  constructor(jobUsers: Config["jobUsers"]) {
    this.#jobUsers = jobUsers;
  }

  async keyOf({ ip, socket }: Request): Promise<string> {
    const user = isOnThisMachine(socket) ? await this.#peer(socket) : undefined;
    // A job that pretends to be a proxy is still a job; so is what cannot be told any more.
    if (user === "gone") return "nobody";
    if (user !== undefined && (this.#isJob(user) || ip === socket.remoteAddress)) return `user ${user}`;
    return networkOf(ip);
  }

  #isJob(user: number): boolean {
    return user >= this.#jobUsers.first && user <= this.#jobUsers.last;
  }

  #peer(socket: Socket): Promise<PeerUser> {
    const known = this.#peers.get(socket) ?? peerUser(socket);
    this.#peers.set(socket, known);
    return known;
  }
}

function isOnThisMachine({ remoteAddress = "", localAddress }: Socket): boolean {
  const address = remoteAddress.replace(/^::ffff:/i, "");
  return address === "::1" || (isIPv4(address) && address.startsWith("127.")) || remoteAddress === localAddress;
}

/** The line of the other end: its own address first, ours second. Only of a connection that stands is the user certain. */
async function peerUser({ remoteAddress = "", remotePort = 0, localPort = 0 }: Socket): Promise<PeerUser> {
  const port = (number: number) => number.toString(16).toUpperCase().padStart(4, "0");
  const own = new Set(kernelForms(remoteAddress).map((address) => `${address}:${port(remotePort)}`));
  let readable = false;
  for (const table of tables) {
    const text = await readFile(table, "utf8").catch(() => undefined);
    readable ||= text !== undefined;
    for (const line of text?.split("\n") ?? []) {
      const [, local = "", remote = "", state, , , , user] = line.trim().split(/\s+/);
      if (state === "01" && own.has(local) && remote.endsWith(`:${port(localPort)}`)) return Number(user);
    }
  }
  return readable ? "gone" : undefined;
}
