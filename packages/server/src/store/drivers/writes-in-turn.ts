/**
 * Writes that wait for the embedded store. Teams take turns, one write each, and a team whose write took long rests as
 * long: whoever asks for much waits for themselves, not everybody for them.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { currentAsker } from "../../turns/asker.ts";

/** For whom a write is: a team, a user without one, or nobody, whose work the server does by itself. */
export function writerNow(): unknown {
  const asker = currentAsker();
  return asker && (asker.team ?? `user ${asker.caller}`);
}

/** Milliseconds: however long a write took. */
const longestRest = 1000;

export class WritesInTurn<Write extends { readonly owner: unknown }> {
  /** By owner; the one whose turn comes next is first. */
  readonly #waiting = new Map<unknown, Write[]>();
  readonly #restsUntil = new Map<unknown, number>();
  #arrived = Promise.withResolvers<void>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(write: Write): void {
    const own = this.#waiting.get(write.owner);
    if (own) own.push(write);
    else this.#waiting.set(write.owner, [write]);
    this.#size++;
    this.#arrived.resolve();
  }

  /** The first of every owner who does not rest, then the second of each, and so on. */
  take(most: number, now: number): Write[] {
    for (const [owner, until] of this.#restsUntil) if (until <= now) this.#restsUntil.delete(owner);
    const ready = [...this.#waiting].filter(([owner]) => !this.#restsUntil.has(owner));
    const taken: Write[] = [];
    for (let round = 0; taken.length < most; round++) {
      const next = ready.flatMap(([, writes]) => writes[round] ?? []);
      if (next.length === 0) break;
      taken.push(...next.slice(0, most - taken.length));
    }
    for (const { owner } of taken) this.#remove(owner);
    return taken;
  }

  /** What was taken and not done, in the order in which it was taken. */
  putBack(writes: readonly Write[]): void {
    for (const write of [...writes].reverse()) {
      this.#waiting.set(write.owner, [write, ...(this.#waiting.get(write.owner) ?? [])]);
      this.#size++;
    }
    // Those who still wait for their first come before those who have had one.
    const owners = new Set(writes.map(({ owner }) => owner));
    const first = [...owners].map((owner) => [owner, this.#waiting.get(owner) ?? []] as const);
    const others = [...this.#waiting].filter(([owner]) => !owners.has(owner));
    this.#waiting.clear();
    for (const [owner, own] of [...first, ...others]) this.#waiting.set(owner, own);
  }

  /** Nobody rests whom nobody asked: jobs end and begin by that. */
  rest(owner: unknown, now: number, took: number): void {
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

  #remove(owner: unknown): void {
    const own = this.#waiting.get(owner) as Write[];
    own.shift();
    this.#size--;
    this.#waiting.delete(owner);
    if (own.length > 0) this.#waiting.set(owner, own);
  }
}
