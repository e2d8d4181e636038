/**
 * Submits a claimed job to its engine. If the submission fails temporarily, the job is queued again. If it fails
 * permanently, the job fails.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Attempt, attemptKey, CannotStart, EngineUnreachable } from "../engines/engine.ts";
import { isPassing } from "../machine/passing.ts";
import { setHandle } from "../store/queries/jobs/attempts.ts";
import type { ClusterRow } from "../store/queries/jobs/clusters.ts";
import { endedAttempts } from "../store/queries/jobs/ended-attempts.ts";
import type { JobRow } from "../store/queries/jobs/jobs.ts";
import { type BundleContext, bundleOf } from "./bundle.ts";
import type { Claimed } from "./claim.ts";
import { failAttempt, requeueAttempt } from "./end-attempt.ts";
import { FilesNotHere } from "./job-files.ts";

/** A job fails after this many failed submissions to its engine. */
const maxStarts = 5;

/** Submits the job. Returns whether the engine accepted it. */
export async function startJob(context: BundleContext, cluster: ClusterRow, claimed: Claimed): Promise<boolean> {
  const { store, engines, log } = context;
  const { job } = claimed;
  const key = attemptKey(job.id, job.attempt);
  let handle: string | null;
  try {
    const bundle = await bundleOf(context, claimed, key);
    handle = await engines.ask(cluster.id, (engine) => engine.submit(bundle));
  } catch (error) {
    if (error instanceof CannotStart) await failAttempt(context, job, error.message, true);
    // The job may have arrived. The engine says whether it did once it can be reached again.
    else if (error instanceof EngineUnreachable) log.debug({ err: error, job: job.id }, "the engine cannot be reached");
    else await takeBack(context, cluster, job, error as Error);
    return false;
  }
  const given = handle;
  if (given !== null) await store.write((db) => setHandle(db, job.id, job.attempt, given));
  return true;
}

async function takeBack(context: BundleContext, cluster: ClusterRow, job: JobRow, error: Error): Promise<void> {
  const { engines, log } = context;
  const engine = engines.of(cluster.id);
  const attempt: Attempt = { key: attemptKey(job.id, job.attempt), handle: null, epoch: engine.epoch ?? "" };
  log[isPassing(error) || error instanceof FilesNotHere ? "debug" : "error"](
    { err: error, job: job.id },
    "the engine did not accept the job",
  );
  if (!(await engine.withdraw(attempt))) return;
  await engine.cleanup(attempt.key).catch(() => {});
  // The slots are free at once. The next claim finds that the files are missing, and the job waits for them without slots.
  if (error instanceof FilesNotHere) return requeueAttempt(context, job);
  // The cause may be temporary, such as too many open files or a full disk, so back off and retry.
  const starts = await startsOf(context, job);
  await sleep(100 * 2 ** Math.min(starts, maxStarts));
  if (starts < maxStarts || isPassing(error)) return requeueAttempt(context, job);
  await failAttempt(context, job, `The job could not be started: ${error.message}`);
}

/** Returns how often the job was submitted since the last of its attempts that started to run. */
async function startsOf({ store }: BundleContext, { id, attempt, retried }: JobRow): Promise<number> {
  const ran = retried === 0 ? undefined : (await endedAttempts(store.db, id)).at(-1);
  return attempt - (ran?.attempt ?? 0);
}
