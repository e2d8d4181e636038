/** Attempts whose server is gone, with its data folder: nobody will ever tell how they ended. */
import type { Db, Store } from "../../store/drivers/store.ts";
import { type allAttempts, closeAttempt, foreignAttempts } from "../../store/queries/jobs/attempts.ts";
import { statesBefore } from "../../store/queries/jobs/job-moves.ts";
import { getJob } from "../../store/queries/jobs/jobs.ts";
import { iso } from "../time/clock.ts";
import { endJob } from "./end-job.ts";
import { planRetry } from "./retries.ts";

type LostAttempt = Pick<
  Awaited<ReturnType<typeof allAttempts>>[number],
  "job_id" | "attempt" | "status" | "signalled_at"
>;

interface Loss {
  /** Why the job failed. */
  readonly error_message: string;
  readonly finished_at: string;
  /** Whether a job with retries left is tried again. */
  readonly retries: boolean;
}

/** Closes a lost attempt, and fails its job or plans the next attempt. A job that was already being stopped is canceled. */
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
  const job = loss.retries ? await getJob(db, id) : undefined;
  const failure = { error_message, finished_at, exit_code: null, error_stack: null };
  if (job && (await planRetry(db, job, failure, now))) return;
  await endJob(
    db,
    { ...from, from: statesBefore("FAILED"), to: "FAILED", changes: { error_message, finished_at } },
    now,
  );
}

/** Ends the attempts of other data folders. A database has one server, and this is it, so nobody else follows them. */
export async function endForeignAttempts(store: Store, serverId: string, now: number): Promise<void> {
  const error_message = "The job was lost: the data folder of its server is gone.";
  const loss = { error_message, finished_at: iso(now), retries: true };
  await store.write(async (db) => {
    for (const attempt of await foreignAttempts(db, serverId)) await endLostAttempt(db, attempt, loss, now);
  });
}
