/**
 * Puts jobs that wait for a retry back into the queue when their delay is over. The remaining delay is read from the
 * store once, when the loop first sees the job, and is then counted by the monotonic clock. It is capped at the longest
 * delay that can be configured, so a wrong wall clock neither loses a retry nor delays it for long.
 */
import { retryLimits } from "@millrace/contract";
import type { Clock } from "../domain/time/clock.ts";
import type { ExecutionContext } from "../execution/execution-context.ts";
import { releaseRetry, waitingForRetry } from "../store/queries/jobs/queue.ts";
import type { Loop } from "./loop.ts";

export type RetriesContext = Pick<ExecutionContext, "store" | "signals" | "clock">;

/** Maximum number of retries that one run reads, and releases in one transaction. */
const page = 500;

export function beginRetries({ store, signals, clock }: RetriesContext): Loop {
  const waits = new Waits(clock);
  return {
    name: "begin-retries",
    signal: signals.retries,
    interval: 500,
    async runOnce() {
      const waiting = await waitingForRetry(store.db, page);
      waits.keep(waiting);
      const due = waiting.filter((retry) => waits.isOver(retry));
      if (due.length === 0) return;
      await store.write(async (db) => {
        for (const { job_id, not_before } of due) await releaseRetry(db, job_id, not_before);
      });
      signals.dispatch.wake();
    },
  };
}

interface Waiting {
  readonly job_id: string;
  readonly not_before: string;
}

/** Keeps the end of each retry's delay, in milliseconds of the monotonic clock. */
class Waits {
  readonly #clock: Clock;
  readonly #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isOver(retry: Waiting): boolean {
    const key = keyOf(retry);
    const until = this.#until.get(key) ?? this.#clock.monotonic() + this.#left(retry);
    this.#until.set(key, until);
    return this.#clock.monotonic() >= until;
  }

  /** Forgets all retries that are not in the given list. */
  keep(waiting: readonly Waiting[]): void {
    const keys = new Set(waiting.map(keyOf));
    for (const key of this.#until.keys()) if (!keys.has(key)) this.#until.delete(key);
  }

  #left({ not_before }: Waiting): number {
    return Math.min(Math.max(0, Date.parse(not_before) - this.#clock.now()), retryLimits.delay * 1000);
  }
}

const keyOf = ({ job_id, not_before }: Waiting) => `${job_id} ${not_before}`;
