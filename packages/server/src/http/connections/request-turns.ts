/**
 * Makes requests take turns. With SQLite, which is synchronous, handling a request blocks the event loop, and many
 * requests may arrive at once. After `turnMs`, the remaining requests are queued, so that other work can run. Queued
 * requests are taken from each caller in turn. Every second turn is for authenticated callers, because an
 * unauthenticated caller can use as many addresses as it likes.
 */

/** Milliseconds for which requests may block the event loop before other work runs. */
const turnMs = 20;
/**
 * Maximum number of queued requests that start in one iteration of the event loop, so that the cost of an iteration
 * does not grow with the queue.
 */
const mostInRound = 64;

/** Queued requests by caller; the first caller in the map is next. */
type Line = Map<object, (() => void)[]>;

export class RequestTurns {
  readonly #known: Line = new Map();
  readonly #strangers: Line = new Map();
  #isForKnown = true;
  #count = 0;
  #planned = 0;
  #since: number | undefined;

  /**
   * Calls `go` at once if time is left in this iteration of the event loop and no other request is queued. Otherwise
   * queues `go`.
   */
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

  /**
   * Schedules one `setImmediate` for each queued request, so that the synchronous work of one request ends before the
   * next starts.
   */
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
