/**
 * Ends lost attempts. An attempt is lost if its result will never be known, for example because the data folder of its
 * server is gone.
 */
import { localEngine, type RunnerOptions, usualLeaseSeconds } from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import {
  type allAttempts,
  attemptsOnRemoved,
  closeAttempt,
  foreignAttempts,
} from "../../store/queries/jobs/attempts.ts";
import { formerName } from "../../store/queries/jobs/clusters.ts";
import { statesBefore } from "../../store/queries/jobs/job-moves.ts";
import { getJob } from "../../store/queries/jobs/jobs.ts";
import { lockPipelinesOf } from "../../store/queries/pipelines/pipelines.ts";
import { iso } from "../time/clock.ts";
import { endJob } from "./end-job.ts";
import { readSpec } from "./job-documents.ts";
import { planRetry } from "./retries.ts";

type LostAttempt = Pick<
  Awaited<ReturnType<typeof allAttempts>>[number],
  "job_id" | "attempt" | "status" | "signalled_at"
>;

interface Loss {
  /** The job's error message if the job fails. */
  readonly error_message: string;
  readonly finished_at: string;
  /** When a job with retries left may begin another attempt; null if it gets none. */
  readonly retryAt: number | null;
  /**
   * Whether only retries count that the job itself asks for. Those of its team may be newer than the attempt: then its
   * runner knows of no lease, and may go on for ever.
   */
  readonly onlyOwnRetries?: boolean;
}

/**
 * Closes a lost attempt, and fails its job or plans a retry. If the job was being canceled, and its processes had
 * already been told to stop, the job is canceled instead.
 */
export async function endLostAttempt(db: Db, lost: LostAttempt, loss: Loss, now: number): Promise<void> {
  const { job_id: id, attempt, status, signalled_at } = lost;
  if (!(await closeAttempt(db, id, attempt))) return;
  const { error_message, finished_at } = loss;
  const from = { id, fence: attempt };
  if (status === "CANCELING" && signalled_at !== null) {
    const changes = { error_message: null, finished_at };
    await endJob(db, { ...from, from: statesBefore("CANCELED"), to: "CANCELED", changes }, now);
    return;
  }
  const found = loss.retryAt === null ? undefined : await getJob(db, id);
  const job = found && loss.onlyOwnRetries && !readSpec(found).retries ? undefined : found;
  const failure = { error_message, finished_at, exit_code: null, error_stack: null };
  if (job && (await planRetry(db, job, failure, now, loss.retryAt ?? now))) return;
  await endJob(
    db,
    { ...from, from: statesBefore("FAILED"), to: "FAILED", changes: { error_message, finished_at } },
    now,
  );
}

/**
 * Ends the attempts that a server with another data folder started. Only one server uses a database at a time, so no
 * other server watches these attempts. They may still run, so a retry waits for a lease: a runner ends its job by then,
 * and a server that was replaced ends its jobs once it reaches the database again.
 */
export async function endForeignAttempts(store: Store, serverId: string, now: number): Promise<void> {
  const error_message =
    "The job was lost: a server with another data folder ran it. Make sure that it does not run there any more, and run it again.";
  await store.write(async (db) => {
    const attempts = await foreignAttempts(db, serverId);
    await lockPipelinesOf(
      db,
      attempts.map(({ job_id }) => job_id),
    );
    for (const attempt of attempts) {
      const retryAt = now + 1000 * leaseOf(attempt);
      const onlyOwnRetries = attempt.engine !== localEngine;
      await endLostAttempt(db, attempt, { error_message, finished_at: iso(now), retryAt, onlyOwnRetries }, now);
    }
  });
}

/** Seconds for which an attempt of another server may still run. */
function leaseOf({ engine, options }: { readonly engine: string; readonly options: string }): number {
  if (engine === localEngine) return usualLeaseSeconds;
  return (JSON.parse(options) as Partial<RunnerOptions>).lease_seconds ?? usualLeaseSeconds;
}

/**
 * Ends attempts on clusters that were removed with force, at most `limit` of them. Returns their jobs. A job that was
 * being canceled is canceled. There are no retries: they would run on that cluster, too.
 */
export async function endRemovedAttempts(store: Store, limit: number, now: number) {
  return store.write(async (db) => {
    const attempts = await attemptsOnRemoved(db, limit);
    await lockPipelinesOf(
      db,
      attempts.map(({ job_id }) => job_id),
    );
    for (const attempt of attempts) {
      const error_message = `The job was lost: its cluster was removed (${formerName(attempt.cluster)}).`;
      const told = { ...attempt, signalled_at: attempt.signalled_at ?? iso(now) };
      await endLostAttempt(db, told, { error_message, finished_at: iso(now), retryAt: null }, now);
    }
    return attempts;
  });
}
