/** A loop: rereads state, does what is due, sleeps until woken or until its interval has passed. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { isPassing } from "../machine/passing.ts";
import { isUnavailable } from "../store/drivers/unavailable.ts";
import type { Signal } from "../turns/signals.ts";

export interface Loop {
  readonly name: string;
  readonly signal: Signal;
  /** Milliseconds between two runs that nobody woke. */
  readonly interval: number;
  runOnce(): Promise<void>;
  /** Resolves when what earlier runs left under way has ended; absent: runs leave nothing. */
  settled?(): Promise<void>;
}

/** Returns how to stop it; the stop waits for the run under way, and for what earlier runs left under way. */
export function startLoop(loop: Loop, log: Logger): () => Promise<void> {
  const abort = new AbortController();
  const failures = new Failures(loop.name, log);
  const done = (async () => {
    while (!abort.signal.aborted) {
      try {
        await loop.runOnce();
        failures.end();
      } catch (error) {
        await sleep(failures.count(error), undefined, { signal: abort.signal }).catch(() => {});
        // Its interval may be an hour, and what failed is due.
        if (isPassing(error)) continue;
      }
      await loop.signal.wait(loop.interval, abort.signal);
    }
  })();
  return async () => {
    abort.abort();
    await done;
    await loop.settled?.();
  };
}

const tellEvery = 60_000;
const longestPause = 1000;

/** Failures of a loop, one after another: told when they begin, every minute while they last, and when they are over. */
class Failures {
  readonly #loop: string;
  readonly #log: Logger;
  #inRow = 0;
  #told: number | undefined;

  constructor(loop: string, log: Logger) {
    this.#loop = loop;
    this.#log = log;
  }

  /** Returns how many milliseconds to wait. */
  count(error: unknown): number {
    this.#inRow++;
    const now = performance.now();
    if (!this.#isKnown(error) && (this.#told === undefined || now - this.#told >= tellEvery)) {
      this.#told = now;
      this.#log.error({ err: error, loop: this.#loop, failures: this.#inRow }, "loop failed; it runs again");
    }
    return Math.min(100 * 2 ** this.#inRow, longestPause);
  }

  end(): void {
    if (this.#told !== undefined) this.#log.info({ loop: this.#loop, failures: this.#inRow }, "the loop works again");
    this.#inRow = 0;
    this.#told = undefined;
  }

  /** That the database is away was told by whoever noticed. A connection that breaks first is part of that. */
  #isKnown(error: unknown): boolean {
    return isUnavailable(error) && (error.cause === undefined || this.#inRow < 3);
  }
}
