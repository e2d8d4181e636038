/**
 * Tracks open connections by owner. The owner is the authenticated user. Before authentication, it is the address, or
 * for connections within this machine the operating system user. An owner with too many connections loses its least
 * useful ones first.
 */
import type { Socket } from "node:net";

export interface Owner {
  readonly key: string;
  /** Maximum number of connections of this owner. */
  readonly limit: number;
  readonly sockets: Set<Socket>;
  /** The sockets without an unanswered request, ordered by how long they have been idle, the longest first. */
  readonly idle: Set<Socket>;
}

/** Predicates that help to choose the connection to close. */
export interface Looks {
  /** Tells whether the server waits for the caller, either to send the rest of a request or to read an answer. */
  readonly isWaitedFor: (socket: Socket) => boolean;
  /** Tells whether the connection was opened so recently that its first request may not have arrived yet. */
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
   * Returns a connection that is closed to make room for a new one. Only owners with a connection that may be closed
   * are considered; of these, the owner with the most connections loses one. Returns undefined if no connection may be
   * closed.
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
 * Returns the connection of this owner to close. First choice is the connection that has been idle longest, second the
 * oldest connection whose caller keeps the server waiting, third a connection that was just opened. Returns undefined
 * if there is none of these.
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
