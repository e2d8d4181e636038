/**
 * Returns the key by which requests are counted for rate limits. The key is the caller's IPv4 address or IPv6 /64
 * network. For connections within this machine, the key is the user id of the calling process, so that a job cannot use
 * up the limit of people.
 */
import type { Socket } from "node:net";
import type { UserRange } from "../../configuration/parse.ts";
import { isLoopback, networkOf } from "./ip-addresses.ts";
import { type PeerUser, PeerUsers } from "./peer-users.ts";

interface Request {
  /** Address of the caller as reported by trusted proxies; undefined if the connection was closed. */
  readonly ip: string | undefined;
  readonly socket: Socket;
}

export class Callers {
  readonly #jobUsers: UserRange;
  readonly #users = new PeerUsers();
  /** User of the peer process, looked up once per connection. */
  readonly #peers = new WeakMap<Socket, Promise<PeerUser>>();

  constructor(jobUsers: UserRange) {
    this.#jobUsers = jobUsers;
  }

  async keyOf({ ip, socket }: Request): Promise<string> {
    const user = isOnThisMachine(socket) ? await this.#peer(socket) : undefined;
    // A job that claims to be a proxy is still counted as a job. All connections that are already closed share the key
    // `nobody`.
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
