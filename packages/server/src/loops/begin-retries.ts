/** Puts jobs that wait for a retry back into the queue when their delay is over. */
import { retryLimits } from "@millrace/contract";
import type { ExecutionContext } from "../execution/execution-context.ts";
import { releaseRetry, waitingForRetry } from "../store/queries/jobs/queue.ts";
import type { Loop } from "./loop.ts";
import { Waits } from "./waits.ts";

export type RetriesContext = Pick<ExecutionContext, "store" | "signals" | "clock">;

/** Maximum number of waiting jobs that one run reads. It puts them back into the queue in one transaction. */
const page = 500;

export function beginRetries({ store, signals, clock }: RetriesContext): Loop {
  const waits = new Waits(clock, retryLimits.delay * 1000);
  return {
    name: "begin-retries",
    signal: signals.retries,
    interval: 500,
    async runOnce() {
      const due = waits.over(await waitingForRetry(store.db, page));
      if (due.length === 0) return;
      await store.write(async (db) => {
        for (const { job_id, not_before } of due) await releaseRetry(db, job_id, not_before);
      });
      signals.dispatch.wake();
    },
  };
}
