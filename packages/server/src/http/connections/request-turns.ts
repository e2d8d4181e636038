/**
 * Requests begin in turns. One is handled without a break where the store is synchronous, and many may arrive in one round
 * of the event loop: after some milliseconds of them it goes round, and callers have their next request begun in turn.
 * Strangers can come from as many addresses as they like: every second turn is for those who are known.
 */

/** How long requests may hold the event loop before others have a turn. */
const turnMs = 20;
/** How many may begin in a round, beside those that begin at once: what a round costs does not grow with who waits. */
const mostInRound = 64;

/** What waits, by caller; who comes first is next. */
type Line = Map<object, (() => void)[]>;

export class RequestTurns {
  readonly #known: Line = new Map();
  readonly #strangers: Line = new Map();
  #isForKnown = true;
  #count = 0;
  #planned = 0;
  #since: number | undefined;

  /** Calls back at once where there is time left in this round and nobody waits. */
  begin(caller: object, go: () => void, isKnown = false): void {
    if (this.#count === 0 && this.#hasTime()) go();
    else {
      const line = isKnown ? this.#known : this.#strangers;
      const own = line.get(caller) ?? [];
      own.push(go);
      line.set(caller, own);
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
    this.#isForKnown = !this.#isForKnown;
    const lines = [this.#known, this.#strangers];
    const go = takeFirst(this.#isForKnown ? lines : lines.reverse());
    if (!go) return;
    this.#count--;
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

function takeFirst(lines: readonly Line[]): (() => void) | undefined {
  const line = lines.find(({ size }) => size > 0);
  const [caller, own] = line?.entries().next().value ?? [];
  if (!line || !caller || !own) return undefined;
  const go = own.shift();
  line.delete(caller);
  if (own.length > 0) line.set(caller, own);
  return go;
}
