/**
 * Writes that wait for the embedded store. Teams take turns, one write each, and inside a team its members; a team whose
 * write took long rests as long: whoever asks for much waits for themselves, not everybody for them.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Asker } from "../../turns/asker.ts";
import { Lines } from "../../turns/lines.ts";

/** For whom a write is: a team, a user without one, or nobody, whose work the server does by itself. */
export const ownerOf = (asker: Asker | undefined): unknown => asker && (asker.team ?? `user ${asker.caller}`);

/** Milliseconds: however long a write took. */
const longestRest = 1000;

interface Waiting {
  readonly asker: Asker | undefined;
}

export class WritesInTurn<Write extends Waiting> {
  /** By owner; the one whose turn comes next is first. */
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

  /** The first of every owner who does not rest, then the second of each, and so on. */
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

  /** What was taken and not done, in the order in which it was taken. */
  putBack(writes: readonly Write[]): void {
    for (const write of [...writes].reverse()) {
      this.#linesOf(write).putBack(write.asker?.caller, write);
      this.#size++;
    }
    // Those who still wait for their first come before those who have had one.
    const owners = new Set(writes.map(({ asker }) => ownerOf(asker)));
    const before = new Map(this.#waiting);
    this.#waiting.clear();
    for (const owner of new Set([...owners, ...before.keys()]))
      this.#waiting.set(owner, before.get(owner) as Lines<Write>);
  }

  /** Nobody rests whom nobody asked: jobs end and begin by that. */
  rest({ asker }: Write, now: number, took: number): void {
    const owner = ownerOf(asker);
    if (owner !== undefined) this.#restsUntil.set(owner, now + Math.min(took, longestRest));
  }

  /** While all who wait rest: until the first has rested, or somebody else comes. */
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

  /** Takes the next write of an owner, who comes last from then on. */
  #takeOf(owner: unknown, lines: Lines<Write>): Write {
    const write = lines.take() as Write;
    this.#size--;
    this.#waiting.delete(owner);
    if (!lines.isEmpty) this.#waiting.set(owner, lines);
    return write;
  }
}
