/**
 * Tracks open connections by owner: an authenticated user, otherwise an address, or a user of this machine. An owner
 * with too many connections loses its least useful ones first.
 */
import type { Socket } from "node:net";

export interface Owner {
  readonly key: string;
  /** Maximum number of connections of this owner. */
  readonly limit: number;
  readonly sockets: Set<Socket>;
  /** The sockets whose requests are all answered; the one that has been idle longest is first. */
  readonly idle: Set<Socket>;
}

/** Predicates that help to choose the connection to close. */
export interface Looks {
  /** Tells whether the server waits for this caller to send or to read. */
  readonly isWaitedFor: (socket: Socket) => boolean;
  /** Tells whether the connection was just opened, so that its first request may be on its way. */
  readonly isComing: (socket: Socket) => boolean;
}

export class Owners {
  readonly #owners = new Map<string, Owner>();

  get(key: string, limit: number): Owner {
    const owner = this.#owners.get(key) ?? { key, limit, sockets: new Set(), idle: new Set() };
    this.#owners.set(key, owner);
    return owner;
  }

  /** Returns the number of connections of an owner; 0 for an unknown owner. */
  count(key: string): number {
    return this.#owners.get(key)?.sockets.size ?? 0;
  }

  add(owner: Owner, socket: Socket, idle: boolean): void {
    // Adds the owner again, because it is deleted when its last connection closes.
    this.#owners.set(owner.key, owner);
    owner.sockets.add(socket);
    if (idle) owner.idle.add(socket);
  }

  remove(owner: Owner, socket: Socket): void {
    owner.sockets.delete(socket);
    owner.idle.delete(socket);
    if (owner.sockets.size === 0 && this.#owners.get(owner.key) === owner) this.#owners.delete(owner.key);
  }

  /**
   * Picks the connection to close when a new one needs its place. Of the owners that have a connection that may be
   * closed, it picks the owner with the most connections. Returns undefined if all connections are in use.
   */
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

/**
 * Picks the connection of this owner to close: the one that has been idle longest. If none is idle, it picks the oldest
 * connection whose caller keeps the server waiting; if there is none either, one that was just opened.
 */
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
