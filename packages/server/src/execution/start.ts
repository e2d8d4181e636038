/** Hands a claimed job to the engine. What the engine cannot take now waits again; what it never could ends. */
import { setTimeout as sleep } from "node:timers/promises";
import { attemptKey, CannotStart } from "../engines/engine.ts";
import { isPassing } from "../machine/passing.ts";
import { endedAttempts } from "../store/queries/jobs/ended-attempts.ts";
import type { JobRow } from "../store/queries/jobs/jobs.ts";
import { type BundleContext, bundleOf } from "./bundle.ts";
import type { Claimed } from "./claim.ts";
import { failAttempt, requeueAttempt } from "./end-attempt.ts";

/** An engine that cannot take a job is asked this often. */
const maxStarts = 5;

export async function startJob(context: BundleContext, claimed: Claimed): Promise<void> {
  const { engine, log } = context;
  const { job } = claimed;
  const key = attemptKey(job.id, job.attempt);
  try {
    await engine.submit(await bundleOf(context, claimed, key));
  } catch (error) {
    if (error instanceof CannotStart) return failAttempt(context, job, error.message, true);
    log[isPassing(error) ? "debug" : "error"]({ err: error, job: job.id }, "the engine did not take the job");
    if (!(await engine.withdraw(key))) return;
    await engine.cleanup(key).catch(() => {});
    // What is wrong may pass: too many open files, a full disk.
    const starts = await startsOf(context, job);
    await sleep(100 * 2 ** Math.min(starts, maxStarts));
    if (starts < maxStarts || isPassing(error)) return requeueAttempt(context, job);
    await failAttempt(context, job, `The job could not be started: ${(error as Error).message}`);
  }
}

/** How often it was handed over since its last attempt that ran. */
async function startsOf({ store }: BundleContext, { id, attempt, retried }: JobRow): Promise<number> {
  const ran = retried === 0 ? undefined : (await endedAttempts(store.db, id)).at(-1);
  return attempt - (ran?.attempt ?? 0);
}
