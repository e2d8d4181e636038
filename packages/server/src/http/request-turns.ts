/**
 * Requests begin in turns. One is handled without a break where the store is synchronous, and many may arrive in one round
 * of the event loop: after some milliseconds of them it goes round, and callers have their next request begun in turn.
 */

/** How long requests may hold the event loop before others have a turn. */
const turnMs = 20;
/** How many may begin in a round, beside those that begin at once: what a round costs does not grow with who waits. */
const mostInRound = 64;

export class RequestTurns {
  readonly #waiting = new Map<object, (() => void)[]>();
  #count = 0;
  #planned = 0;
  #since: number | undefined;

  /** Calls back at once where there is time left in this round and nobody waits. */
  begin(caller: object, go: () => void): void {
    if (this.#waiting.size === 0 && this.#hasTime()) go();
    else {
      const own = this.#waiting.get(caller) ?? [];
      own.push(go);
      this.#waiting.set(caller, own);
      this.#count++;
      this.#plan();
    }
  }

  /** One immediate for each: what is done without a break for one of them ends before the next is called. */
  #plan(): void {
    for (; this.#planned < Math.min(this.#count, mostInRound); this.#planned++) setImmediate(() => this.#next());
  }

  #next(): void {
    this.#planned--;
    if (this.#hasTime()) this.#beginOne();
    this.#plan();
  }

  #beginOne(): void {
    const [caller, own] = this.#waiting.entries().next().value ?? [this, []];
    const go = own.shift();
    if (!go) return;
    this.#count--;
    this.#waiting.delete(caller);
    if (own.length > 0) this.#waiting.set(caller, own);
    go();
  }

  #hasTime(): boolean {
    const now = performance.now();
    if (this.#since === undefined) {
      this.#since = now;
      setImmediate(() => {
        this.#since = undefined;
      });
    }
    return now - this.#since < turnMs;
  }
}
