/**
 * Fair queue of writes to SQLite. Teams take turns, one write each, and so do the members of a team. After each write,
 * its team is paused for as long as the write took, so that heavy use delays only the team itself.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Asker } from "../../turns/asker.ts";
import { Lines } from "../../turns/lines.ts";

/** Returns the owner of a write: a team, a user outside any team, or undefined for the server's own work. */
export const ownerOf = (asker: Asker | undefined): unknown => asker && (asker.team ?? `user ${asker.caller}`);

/** Longest pause of an owner in milliseconds, however long the write took. */
const longestRest = 1000;

interface Waiting {
  readonly asker: Asker | undefined;
}

export class WritesInTurn<Write extends Waiting> {
  /** Pending writes by owner; the owner whose turn is next comes first. */
  readonly #waiting = new Map<unknown, Lines<Write>>();
  readonly #restsUntil = new Map<unknown, number>();
  #arrived = Promise.withResolvers<void>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(write: Write): void {
    this.#linesOf(write).add(write.asker?.caller, write);
    this.#size++;
    this.#arrived.resolve();
  }

  /** Takes the first write of every owner that is not paused, then the second of each, and so on. */
  take(most: number, now: number): Write[] {
    for (const [owner, until] of this.#restsUntil) if (until <= now) this.#restsUntil.delete(owner);
    const taken: Write[] = [];
    while (taken.length < most) {
      const owner = this.#waiting.keys().find((one) => !this.#restsUntil.has(one));
      const lines = this.#waiting.get(owner);
      if (!lines || this.#restsUntil.has(owner)) break;
      taken.push(this.#takeOf(owner, lines));
    }
    return taken;
  }

  /** Puts writes that were taken but not run back to the front of the queue, in their original order. */
  putBack(writes: readonly Write[]): void {
    for (const write of [...writes].reverse()) {
      this.#linesOf(write).putBack(write.asker?.caller, write);
      this.#size++;
    }
    // Owners who still wait for their first write come before those who have had one.
    const owners = new Set(writes.map(({ asker }) => ownerOf(asker)));
    const before = new Map(this.#waiting);
    this.#waiting.clear();
    for (const owner of new Set([...owners, ...before.keys()]))
      this.#waiting.set(owner, before.get(owner) as Lines<Write>);
  }

  /**
   * Pauses the write's owner for as long as the write took. The server's own work is never paused, because starts and
   * ends of jobs depend on it.
   */
  rest({ asker }: Write, now: number, took: number): void {
    const owner = ownerOf(asker);
    if (owner !== undefined) this.#restsUntil.set(owner, now + Math.min(took, longestRest));
  }

  /**
   * Waits until the first pause ends or another write arrives. Called when every owner with pending writes is paused.
   */
  async nextArrivalOrEndOfRest(now: number): Promise<void> {
    const until = Math.min(...this.#restsUntil.values());
    this.#arrived = Promise.withResolvers<void>();
    const done = new AbortController();
    await Promise.race([this.#arrived.promise, sleep(Math.max(1, until - now), undefined, { signal: done.signal })]);
    done.abort();
  }

  #linesOf({ asker }: Write): Lines<Write> {
    const owner = ownerOf(asker);
    const lines = this.#waiting.get(owner) ?? new Lines();
    this.#waiting.set(owner, lines);
    return lines;
  }

  /** Takes the next write of an owner and moves the owner to the end of the queue. */
  #takeOf(owner: unknown, lines: Lines<Write>): Write {
    const write = lines.take() as Write;
    this.#size--;
    this.#waiting.delete(owner);
    if (!lines.isEmpty) this.#waiting.set(owner, lines);
    return write;
  }
}
