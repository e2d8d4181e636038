/**
 * Requests begin in turns. One is handled without a break where the store is synchronous, and many may arrive in one round
 * of the event loop: after some milliseconds of them it goes round, and callers have their next request begun in turn.
 */

/** How long requests may hold the event loop before others have a turn. */
const turnMs = 20;

export class RequestTurns {
  readonly #waiting = new Map<object, (() => void)[]>();
  #since: number | undefined;

  /** Calls back at once where there is time left in this round and nobody waits. */
  begin(caller: object, go: () => void): void {
    if (this.#waiting.size === 0 && this.#hasTime()) go();
    else {
      const own = this.#waiting.get(caller) ?? [];
      own.push(go);
      this.#waiting.set(caller, own);
      // One for each: what is done without a break for one of them ends before the next is called.
      setImmediate(() => this.#next());
    }
  }

  #next(): void {
    if (!this.#hasTime()) return void setImmediate(() => this.#next());
    const [caller, own] = this.#waiting.entries().next().value ?? [this, []];
    const go = own.shift();
    this.#waiting.delete(caller);
    if (own.length > 0) this.#waiting.set(caller, own);
    go?.();
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
