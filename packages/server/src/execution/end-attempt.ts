/** The three ways in which an attempt ends: with a result, without one, or before it began. */
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
import type { Tables } from "../store/schema/tables.ts";
import type { ExecutionContext } from "./execution-context.ts";

export type EndContext = Pick<ExecutionContext, "store" | "signals" | "clock" | "log" | "metrics">;

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
  /** Others may begin with its end. */
  readonly inPipeline?: boolean;
  /** No other attempt would fare better. */
  readonly isLast?: boolean;
  /** Added to the reason where no other attempt follows. */
  readonly lastWords?: string;
  readonly changes: Updateable<Tables["jobs"]>;
  /** What it did to its team's datasets; absent: it did not work with them. */
  readonly collected?: Omit<Collected, "metrics"> & { readonly teamId: number };
}

/**
 * Accepts results, at most one per attempt, in one write; if that fails one by one, so that none holds up the rest.
 * Returns those that were accepted, now or before.
 */
export async function acceptResults(context: EndContext, results: readonly Result[]): Promise<readonly Result[]> {
  const { store, signals } = context;
  let accepted = results;
  const writing = store.write(async (db) => {
    const ends: (JobEnd | Retried | undefined)[] = [];
    for (const result of results) ends.push(await acceptResult(db, context, result));
    return ends;
  });
  // Woken at once, the next start shares this commit with the end that frees its slots, or lets it begin; woken again, it
  // misses nothing.
  const enqueues = results.some(({ inPipeline }) => inPipeline) ? 1 : 0;
  signals.enqueuing += enqueues;
  signals.dispatch.wake();
  try {
    await writing.finally(() => {
      signals.enqueuing -= enqueues;
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

async function acceptOneByOne(context: EndContext, results: readonly Result[]): Promise<Result[]> {
  const accepted: Result[] = [];
  for (const result of results) {
    try {
      accepted.push(...(await acceptResults(context, [result])));
    } catch (error) {
      context.log[isPassing(error) ? "debug" : "error"](
        { err: error, job: result.fence.id },
        "the result could not be written; it is tried again",
      );
    }
  }
  return accepted;
}

/** What became of a job. */
interface JobEnd {
  readonly status: Exclude<JobStatus, "QUEUED">;
  readonly team: string;
  readonly seconds: number;
}

/** It is tried again. */
interface Retried {
  readonly status: "QUEUED";
  readonly team: string;
}

function announceRetry({ log, signals, metrics }: EndContext, { id, attempt }: Fence, { team }: Retried): void {
  metrics.jobsRetried.add({ team });
  log.info({ job: id, attempt }, "an attempt failed; the job is tried again");
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

/** Tells of an end that was accepted by a commit whose answer was lost. */
export async function announceFound(context: EndContext, fence: Fence): Promise<void> {
  const job = await getJob(context.store.db, fence.id);
  if (!job || job.attempt !== fence.attempt || job.finished_at === null || job.status === "QUEUED") return;
  announce(context, fence, job.exit_code, endOf(job.status, job, job.finished_at));
}

function endOf(status: JobEnd["status"], job: JobRow | undefined, finishedAt: string | null | undefined): JobEnd {
  const ran = Date.parse(finishedAt ?? "") - Date.parse(job?.started_at ?? "");
  return { status, team: String(job?.team_id ?? 0), seconds: Math.max(0, ran || 0) / 1000 };
}

/** Undefined: its end was accepted before. */
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

/** Said on the job: its versions are in the team's warehouse, and not where people look. */
function noteRefused(refused: readonly string[], { error_message }: Result["changes"]) {
  if (refused.length === 0) return {};
  const why = `Not in the registry: these version numbers were already registered by an external producer: ${refused.slice(0, 10).join(", ")}.`;
  return { error_message: error_message ? `${error_message} ${why}` : why };
}

export async function failAttempt(context: EndContext, fence: Fence, message: string, isLast = false): Promise<void> {
  const changes = { error_message: message };
  await acceptResults(context, [{ fence, status: "FAILED", signalled: true, isLast, changes }]);
}

/** An attempt that was withdrawn before it began: the job waits again, with the next number, or is canceled. */
export async function requeueAttempt(context: EndContext, { id, attempt: fence }: Fence): Promise<void> {
  await context.store.write(async (db) => {
    if (!(await closeAttempt(db, id, fence))) return;
    // By trying, not by looking first: a cancellation may come between a look and a move.
    if (await moveJob(db, { id, from: ["INIT"], to: "QUEUED", fence, changes: { started_at: null } })) {
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
