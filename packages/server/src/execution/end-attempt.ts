/**
 * Ends attempts. If the engine has a result, the attempt ends with that result. If the engine has no result, the
 * attempt ends as failed. If the attempt never started, its job goes back to the queue.
 */
import type { JobStatus } from "@millrace/contract";
import type { Updateable } from "kysely";
import type { Collected } from "../domain/datasets/parse-collected.ts";
import { recordCollected } from "../domain/datasets/record-collected.ts";
import { endJob } from "../domain/lifecycle/end-job.ts";
import { queueRow } from "../domain/lifecycle/job-queue.ts";
import { type Failure, planRetry } from "../domain/lifecycle/retries.ts";
import { iso } from "../domain/time/clock.ts";
import { isPassing } from "../machine/passing.ts";
import type { Db } from "../store/drivers/store.ts";
import { isUnavailable } from "../store/drivers/unavailable.ts";
import { type AttemptRow, closeAttempt } from "../store/queries/jobs/attempts.ts";
import { moveJob, statesBefore } from "../store/queries/jobs/job-moves.ts";
import { getJob, type JobRow } from "../store/queries/jobs/jobs.ts";
import { enqueue } from "../store/queries/jobs/queue.ts";
import { lockPipelinesOf } from "../store/queries/pipelines/pipelines.ts";
import type { Tables } from "../store/schema/tables.ts";
import type { ExecutionContext } from "./execution-context.ts";

export type EndContext = Pick<ExecutionContext, "store" | "signals" | "clock" | "log" | "metrics">;

/**
 * Identifies one attempt of a job. A write with a fence has an effect only while this attempt is the newest of the job.
 */
export interface Fence {
  readonly id: string;
  readonly attempt: number;
}

export interface Result {
  readonly fence: Fence;
  readonly status: "COMPLETE" | "FAILED";
  /** Whether a cancellation may have caused this end. If true, a job in CANCELING becomes CANCELED. */
  readonly signalled: boolean;
  /** Whether the job is part of a pipeline, so that its end may start other jobs; undefined if that is not known. */
  readonly inPipeline?: boolean;
  /** Whether the job must not be retried, because every further attempt would fail in the same way. */
  readonly isLast?: boolean;
  /** Text that is added to the error message if the job is not retried. */
  readonly lastWords?: string;
  readonly changes: Updateable<Tables["jobs"]>;
  /** Dataset versions that the job created or used; absent if it does not use the dataset library. */
  readonly collected?: Omit<Collected, "metrics"> & { readonly teamId: number };
}

/**
 * Writes the results of ended attempts in one transaction. If the transaction fails, writes them one by one, so that
 * one bad result does not block the others. Returns the results that are in the database now, including results that an
 * earlier call had written. Each attempt gets at most one result.
 */
export async function acceptResults(context: EndContext, results: readonly Result[]): Promise<readonly Result[]> {
  const { store, signals } = context;
  let accepted = results;
  const writing = store.write(async (db) => {
    await lockPipelinesOf(db, runsIn(results));
    const ends: (JobEnd | Retried | undefined)[] = [];
    for (const result of results) ends.push(await acceptResult(db, context, result));
    return ends;
  });
  // Wake dispatch before the commit, so that the next job's start shares the commit. It is woken again after the
  // commit, because the first wake-up may have come too early to see the freed slots.
  const enqueues = results.some(({ inPipeline }) => inPipeline) ? 1 : 0;
  signals.enqueuing += enqueues;
  signals.freeing++;
  signals.dispatch.wake();
  try {
    await writing.finally(() => {
      signals.enqueuing -= enqueues;
      signals.freeing--;
    });
    for (const [index, end] of (await writing).entries()) {
      const { fence, changes } = results[index] as Result;
      if (end?.status === "QUEUED") announceRetry(context, fence, end);
      else if (end) announce(context, fence, changes.exit_code, end);
    }
  } catch (error) {
    if (results.length === 1 || isUnavailable(error)) throw error;
    accepted = await acceptOneByOne(context, results);
  }
  signals.dispatch.wake();
  return accepted;
}

/** Returns the ids of the jobs that are, or may be, runs of a pipeline. */
const runsIn = (results: readonly Result[]): string[] =>
  results.flatMap(({ inPipeline, fence }) => (inPipeline === false ? [] : fence.id));

async function acceptOneByOne(context: EndContext, results: readonly Result[]): Promise<Result[]> {
  const accepted: Result[] = [];
  for (const result of results) {
    try {
      accepted.push(...(await acceptResults(context, [result])));
    } catch (error) {
      context.log[isPassing(error) ? "debug" : "error"](
        { err: error, job: result.fence.id },
        "could not write the job's result; trying again",
      );
    }
  }
  return accepted;
}

/** The end of a job, with the values for metrics. `seconds` is the run time of the job. */
interface JobEnd {
  readonly status: Exclude<JobStatus, "QUEUED">;
  readonly team: string;
  readonly seconds: number;
}

/** A failed attempt after which the job waits in the queue for a retry. */
interface Retried {
  readonly status: "QUEUED";
  readonly team: string;
}

function announceRetry({ log, signals, metrics }: EndContext, { id, attempt }: Fence, { team }: Retried): void {
  metrics.jobsRetried.add({ team });
  log.info({ job: id, attempt }, "attempt failed; the job will be retried");
  signals.jobChanged(id);
  signals.retries.wake();
}

function announce(
  { log, signals, metrics }: EndContext,
  fence: Fence,
  exitCode: number | null | undefined,
  { status, team, seconds }: JobEnd,
): void {
  metrics.jobsEnded.add({ team, status });
  metrics.jobDuration.observe({ status }, seconds);
  log.info({ job: fence.id, attempt: fence.attempt, status, exitCode }, "job ended");
  signals.jobChanged(fence.id);
}

/**
 * Logs and counts the end of a job. Called if the end was committed but the database's response to the commit was lost.
 */
export async function announceFound(context: EndContext, fence: Fence): Promise<void> {
  const job = await getJob(context.store.db, fence.id);
  if (!job || job.attempt !== fence.attempt || job.finished_at === null || job.status === "QUEUED") return;
  announce(context, fence, job.exit_code, endOf(job.status, job, job.finished_at));
}

function endOf(status: JobEnd["status"], job: JobRow | undefined, finishedAt: string | null | undefined): JobEnd {
  const ran = Date.parse(finishedAt ?? "") - Date.parse(job?.started_at ?? "");
  return { status, team: String(job?.team_id ?? 0), seconds: Math.max(0, ran || 0) / 1000 };
}

/** Stores one result, and ends the job or plans its retry. Returns undefined if the attempt was already closed. */
async function acceptResult(
  db: Db,
  { clock }: EndContext,
  { fence, status, signalled, isLast = false, lastWords, changes, collected }: Result,
): Promise<JobEnd | Retried | undefined> {
  if (!(await closeAttempt(db, fence.id, fence.attempt))) return undefined;
  const refused = collected ? await recordCollected(db, fence.id, collected, iso(clock.now())) : [];
  const job = await getJob(db, fence.id);
  const to = job?.status === "CANCELING" && signalled ? "CANCELED" : status;
  const errors = to === "CANCELED" ? { error_message: null, error_stack: null } : {};
  const all = { finished_at: iso(clock.now()), ...changes, ...noteRefused(refused, changes), ...errors };
  if (to === "FAILED" && !isLast && job && (await planRetry(db, job, failureOf(all), clock.now())))
    return { status: "QUEUED", team: String(job.team_id) };
  if (to === "FAILED" && lastWords) all.error_message = [all.error_message, lastWords].filter(Boolean).join(" ");
  await endJob(db, { id: fence.id, from: statesBefore(to), to, fence: fence.attempt, changes: all }, clock.now());
  return endOf(to, job, all.finished_at);
}

const failureOf = ({ exit_code, error_message, error_stack, finished_at }: Result["changes"]): Failure => ({
  exit_code: exit_code ?? null,
  error_message: error_message ?? null,
  error_stack: error_stack ?? null,
  finished_at: finished_at ?? null,
});

/** Returns an error message for dataset versions that exist in the team's warehouse but could not be registered. */
function noteRefused(refused: readonly string[], { error_message }: Result["changes"]) {
  if (refused.length === 0) return {};
  const why = `These dataset versions of the job were not registered, because an external producer had already registered versions with the same numbers: ${refused.slice(0, 10).join(", ")}.`;
  return { error_message: error_message ? `${error_message} ${why}` : why };
}

export async function failAttempt(context: EndContext, fence: Fence, message: string, isLast = false): Promise<void> {
  const changes = { error_message: message };
  await acceptResults(context, [{ fence, status: "FAILED", signalled: true, isLast, changes }]);
}

/**
 * Closes an attempt that was withdrawn before it started. If a cancellation was requested, the job is canceled.
 * Otherwise the job goes back to the queue.
 */
export async function requeueAttempt(context: EndContext, { id, attempt: fence }: Fence): Promise<void> {
  await context.store.write(async (db) => {
    await lockPipelinesOf(db, [id]);
    if (!(await closeAttempt(db, id, fence))) return;
    // Try the move without reading the state first: a cancellation could come between the two.
    if (await moveJob(db, { id, from: ["PROVISIONING", "INIT"], to: "QUEUED", fence, changes: { started_at: null } })) {
      const job = await getJob(db, id);
      if (job) await enqueue(db, queueRow(job));
      return;
    }
    const now = context.clock.now();
    const changes = { finished_at: iso(now) };
    await endJob(db, { id, from: ["CANCELING"], to: "CANCELED", fence, changes }, now);
  });
  context.signals.jobChanged(id);
  context.signals.dispatch.wake();
}

export const fenceOf = ({ job_id, attempt }: AttemptRow): Fence => ({ id: job_id, attempt });
