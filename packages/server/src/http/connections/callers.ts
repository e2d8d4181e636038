/**
 * Whose budget a request counts against. By address, of IPv6 the network of 64 bits that one customer has. On this machine
 * everybody has the same address: there it is the user of the process that calls, so that a job cannot use up what people
 * have.
 */
import type { Socket } from "node:net";
import type { UserRange } from "../../configuration/parse.ts";
import { isLoopback, networkOf } from "./ip-addresses.ts";
import { type PeerUser, PeerUsers } from "./peer-users.ts";

interface Request {
  /** As told by proxies that are trusted; undefined where the caller has gone. */
  readonly ip: string | undefined;
  readonly socket: Socket;
}

export class Callers {
  readonly #jobUsers: UserRange;
  readonly #users = new PeerUsers();
  /** Asked once for each connection. */
  readonly #peers = new WeakMap<Socket, Promise<PeerUser>>();

  constructor(jobUsers: UserRange) {
    this.#jobUsers = jobUsers;
  }

  async keyOf({ ip, socket }: Request): Promise<string> {
    const user = isOnThisMachine(socket) ? await this.#peer(socket) : undefined;
    // A job that pretends to be a proxy is still a job; so is what cannot be told any more.
    if (user === "gone" || ip === undefined) return "nobody";
    if (user !== undefined && (this.#isJob(user) || ip === socket.remoteAddress)) return `user ${user}`;
    return networkOf(ip);
  }

  #isJob(user: number): boolean {
    return user >= this.#jobUsers.first && user <= this.#jobUsers.last;
  }

  #peer(socket: Socket): Promise<PeerUser> {
    const known = this.#peers.get(socket) ?? this.#users.of(socket);
    this.#peers.set(socket, known);
    return known;
  }
}

const isOnThisMachine = ({ remoteAddress = "", localAddress }: Socket): boolean =>
  isLoopback(remoteAddress) || remoteAddress === localAddress;
