/** A loop reads the current state, does what is due, and sleeps until it is woken or its interval has passed. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { isPassing } from "../machine/passing.ts";
import { isUnavailable } from "../store/drivers/unavailable.ts";
import { asServer } from "../turns/asker.ts";
import type { Signal } from "../turns/signals.ts";

export interface Loop {
  readonly name: string;
  readonly signal: Signal;
  /** Milliseconds until the next run, if nothing wakes the loop earlier. */
  readonly interval: number;
  runOnce(): Promise<void>;
  /** Resolves when the background work of earlier runs has ended; absent if runs start no background work. */
  settled?(): Promise<void>;
}

/**
 * Starts the loop and returns a function that stops it. Stopping waits for the current run and for the background work
 * of earlier runs.
 */
export function startLoop(loop: Loop, log: Logger): () => Promise<void> {
  const abort = new AbortController();
  const failures = new Failures(loop.name, log);
  const done = asServer(async () => {
    while (!abort.signal.aborted) {
      const seen = loop.signal.count;
      try {
        await loop.runOnce();
        failures.end();
      } catch (error) {
        await sleep(failures.count(error), undefined, { signal: abort.signal }).catch(() => {});
        // Runs again without waiting for the interval, which may be an hour, because the failed work is still due.
        if (isPassing(error)) continue;
      }
      await loop.signal.wait(loop.interval, seen, abort.signal);
    }
  });
  return async () => {
    abort.abort();
    await done;
    await loop.settled?.();
  };
}

/** Waits for all of these, but no longer than this. They go on. */
export async function waitAtMost(ms: number, work: Iterable<Promise<unknown>>): Promise<void> {
  const waiting = new AbortController();
  const enough = sleep(ms, undefined, { signal: waiting.signal }).catch(() => {});
  await Promise.race([Promise.all(work), enough]);
  waiting.abort();
}

const tellEvery = 60_000;
const longestPause = 1000;

/**
 * Logs failures of a loop. Of consecutive failures it logs the first and then at most one per minute. It also logs the
 * recovery.
 */
class Failures {
  readonly #loop: string;
  readonly #log: Logger;
  #inRow = 0;
  #told: number | undefined;

  constructor(loop: string, log: Logger) {
    this.#loop = loop;
    this.#log = log;
  }

  /** Counts a failure. Returns the back-off in milliseconds. */
  count(error: unknown): number {
    this.#inRow++;
    const now = performance.now();
    if (!this.#isKnown(error) && (this.#told === undefined || now - this.#told >= tellEvery)) {
      this.#told = now;
      this.#log.error(
        { err: error, loop: this.#loop, failures: this.#inRow },
        "the loop failed; it runs again after a pause",
      );
    }
    return Math.min(100 * 2 ** this.#inRow, longestPause);
  }

  end(): void {
    if (this.#told !== undefined) this.#log.info({ loop: this.#loop, failures: this.#inRow }, "the loop works again");
    this.#inRow = 0;
    this.#told = undefined;
  }

  /**
   * Returns true for failures that are not logged here, because the store itself logs that the database is unreachable.
   * If the error has a cause, a connection broke. Then the result is true only for the first two failures in a row.
   */
  #isKnown(error: unknown): boolean {
    return isUnavailable(error) && (error.cause === undefined || this.#inRow < 3);
  }
}
