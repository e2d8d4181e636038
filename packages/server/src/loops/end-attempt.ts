/** The three ways in which an attempt ends: with a result, without one, or before it began. */
import { finalStatuses, type JobStatus } from "@millrace/contract";
import type { Updateable } from "kysely";
import { iso } from "../domain/clock.ts";
import { readSpec } from "../domain/job-documents.ts";
import { queueRow } from "../domain/jobs.ts";
import { type AttemptRow, closeAttempt } from "../store/attempts.ts";
import { getJob, moveJob, statesBefore } from "../store/jobs.ts";
import { enqueue } from "../store/queue.ts";
import type { Tables } from "../store/tables.ts";
import type { JobLoopContext } from "./loop.ts";

type EndContext = Pick<JobLoopContext, "store" | "signals" | "clock">;

/** One attempt of one job: the fence. */
export interface Fence {
  readonly id: string;
  readonly attempt: number;
}

export interface Result {
  readonly fence: Fence;
  readonly status: "COMPLETE" | "FAILED";
  /** Whether an end that came after a cancellation's signal is its doing. */
  readonly signalled: boolean;
  readonly changes: Updateable<Tables["jobs"]>;
}

/** Accepts results, at most one per attempt, in one write. */
export async function acceptResults({ store, signals, clock }: EndContext, results: readonly Result[]): Promise<void> {
  const accepted = store.write(async (db) => {
    for (const { fence, status, signalled, changes } of results) {
      if (!(await closeAttempt(db, fence.id, fence.attempt))) continue;
      const job = await getJob(db, fence.id);
      const to: JobStatus = job?.status === "CANCELING" && signalled ? "CANCELED" : status;
      const errors = to === "CANCELED" ? { error_message: null, error_stack: null } : {};
      const all = { finished_at: iso(clock.now()), ...changes, ...errors };
      await moveJob(db, { id: fence.id, from: statesBefore(to), to, fence: fence.attempt, changes: all });
    }
  });
  // Woken at once, the next start shares this commit with the end that frees its slots; woken again, it misses nothing.
  signals.dispatch.wake();
  await accepted;
  for (const { fence } of results) signals.jobChanged(fence.id);
  signals.dispatch.wake();
}

export const failAttempt = (context: EndContext, fence: Fence, message: string) =>
  acceptResults(context, [{ fence, status: "FAILED", signalled: true, changes: { error_message: message } }]);

/** An attempt that was withdrawn before it began: the job waits again, with the next number. */
export async function requeueAttempt(context: EndContext, fence: Fence): Promise<void> {
  await context.store.write(async (db) => {
    if (!(await closeAttempt(db, fence.id, fence.attempt))) return;
    const job = await getJob(db, fence.id);
    if (!job || finalStatuses.includes(job.status)) return;
    if (job.status === "CANCELING") {
      const changes = { finished_at: iso(context.clock.now()) };
      await moveJob(db, { id: job.id, from: ["CANCELING"], to: "CANCELED", fence: fence.attempt, changes });
      return;
    }
    if (
      !(await moveJob(db, {
        id: job.id,
        from: ["INIT"],
        to: "QUEUED",
        fence: fence.attempt,
        changes: { started_at: null },
      }))
    )
      return;
    await enqueue(db, queueRow(job, readSpec(job)));
  });
  context.signals.jobChanged(fence.id);
  context.signals.dispatch.wake();
}

export const fenceOf = ({ job_id, attempt }: AttemptRow): Fence => ({ id: job_id, attempt });
