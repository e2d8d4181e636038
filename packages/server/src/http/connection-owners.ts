/** Whose connections are open: each has an owner, and an owner with too many has its own idle ones closed first. */
import type { Socket } from "node:net";

export interface Owner {
  readonly key: string;
  /** How many connections it may have. */
  readonly limit: number;
  readonly sockets: Set<Socket>;
  /** Of these, the ones over which no answer is owed; the first has been idle for longest. */
  readonly idle: Set<Socket>;
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

  /** The oldest idle connection of whoever has most connections. Undefined: nobody is idle. */
  idleOfLargest(): Socket | undefined {
    let largest: Owner | undefined;
    for (const owner of this.#owners.values())
      if (owner.idle.size > 0 && owner.sockets.size > (largest?.sockets.size ?? 0)) largest = owner;
    return largest && oldest(largest);
  }
}

export const oldest = ({ idle }: Owner): Socket | undefined => idle.values().next().value;
