/** Whose connections are open: each has an owner, and an owner with too many has its own closed first that nobody misses. */
import type { Socket } from "node:net";

export interface Owner {
  readonly key: string;
  /** How many connections it may have. */
  readonly limit: number;
  readonly sockets: Set<Socket>;
  /** Of these, the ones over which no answer is owed; the first has been idle for longest. */
  readonly idle: Set<Socket>;
}

/** What is known of a connection, to choose the one to close. */
export interface Looks {
  /** Its caller keeps the server waiting. */
  readonly isWaitedFor: (socket: Socket) => boolean;
  /** It has just been opened: its first request may be under way. */
  readonly isComing: (socket: Socket) => boolean;
}

export class Owners {
  readonly #owners = new Map<string, Owner>();

  get(key: string, limit: number): Owner {
    const owner = this.#owners.get(key) ?? { key, limit, sockets: new Set(), idle: new Set() };
    this.#owners.set(key, owner);
    return owner;
  }

  /** How many connections an owner has that may not be there. */
  count(key: string): number {
    return this.#owners.get(key)?.sockets.size ?? 0;
  }

  add(owner: Owner, socket: Socket, idle: boolean): void {
    // It may have been forgotten since, with its last connection.
    this.#owners.set(owner.key, owner);
    owner.sockets.add(socket);
    if (idle) owner.idle.add(socket);
  }

  remove(owner: Owner, socket: Socket): void {
    owner.sockets.delete(socket);
    owner.idle.delete(socket);
    if (owner.sockets.size === 0 && this.#owners.get(owner.key) === owner) this.#owners.delete(owner.key);
  }

  /** Of whoever has most connections, the one to close for somebody new. Undefined: all of them are in use. */
  leastMissed(looks: Looks, except: Socket): Socket | undefined {
    let most = 0;
    let least: Socket | undefined;
    for (const owner of this.#owners.values()) {
      const own = owner.sockets.size > most ? leastMissedOf(owner, looks, except) : undefined;
      if (!own) continue;
      most = owner.sockets.size;
      least = own;
    }
    return least;
  }
}

/** The one that has been idle for longest, else the oldest of those whose caller keeps the server waiting, else who comes. */
export function leastMissedOf({ idle, sockets }: Owner, looks: Looks, except?: Socket): Socket | undefined {
  let coming: Socket | undefined;
  for (const socket of idle) {
    if (socket === except) continue;
    if (!looks.isComing(socket)) return socket;
    coming ??= socket;
  }
  for (const socket of sockets) if (looks.isWaitedFor(socket)) return socket;
  return coming;
}
