/**
 * Time limits and retries. A job that failed waits in the queue for its next attempt: it keeps its id, and nobody who waits
 * for its end is told of one. The end of the attempt and the plan of the next are one write.
 */
import { durationWords, type JobAttempts, retryWait, usualRetryDelay } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { endedAttempts, insertEndedAttempt } from "../../store/queries/jobs/ended-attempts.ts";
import { moveJob } from "../../store/queries/jobs/job-moves.ts";
import { getJob, type JobRow } from "../../store/queries/jobs/jobs.ts";
import { dequeue, enqueue, retryTimeOf } from "../../store/queries/jobs/queue.ts";
import { teamRetriesOf } from "../../store/queries/people/teams.ts";
import { lockPipeline } from "../../store/queries/pipelines/pipelines.ts";
import { beginningOf } from "../../store/queries/short-texts.ts";
import { iso } from "../time/clock.ts";
import { readSpec } from "./job-documents.ts";
import { queueRow } from "./job-queue.ts";

/** Times in seconds. */
type Rules = Pick<JobAttempts, "timeout" | "retries" | "retry_delay">;

/** The job's own, or its team's defaults as they are now. */
export async function rulesOf(db: Db, job: Pick<JobRow, "team_id" | "spec">): Promise<Rules> {
  const own = readSpec(job);
  const team = await teamRetriesOf(db, job.team_id);
  return {
    timeout: own.timeout ?? team?.job_timeout ?? 0,
    retries: own.retries ?? team?.job_retries ?? 0,
    retry_delay: own.retry_delay ?? team?.job_retry_delay ?? usualRetryDelay,
  };
}

/** For the owner of a job that was ended for it. */
export const overTime = (seconds: number) =>
  `The job ran longer than its limit of ${durationWords(seconds)}. The end of its log shows how far it came; give it more time with a larger \`timeout\`; 0 is no limit.`;

/** How an attempt failed. */
export type Failure = Pick<JobRow, "exit_code" | "error_message" | "error_stack" | "finished_at">;

/** What a job shows tells of its newest attempt only. */
const fresh = { started_at: null, exit_code: null, error_message: null, error_stack: null, steps: null, metrics: "{}" };

/**
 * Plans the next attempt, in the write that closed this one. False: there is none, since it was the last, the job is being
 * cancelled, or its pipeline is over.
 */
export async function planRetry(db: Db, job: JobRow, failure: Failure, now: number): Promise<boolean> {
  const { id, attempt, retried } = job;
  const { retries, retry_delay } = await rulesOf(db, job);
  if (retried >= retries) return false;
  const pipeline = job.pipeline_id === null ? undefined : await lockPipeline(db, job.pipeline_id);
  if (pipeline && pipeline.status !== "RUNNING" && pipeline.status !== "PAUSED") return false;
  const changes = { ...fresh, retried: retried + 1 };
  if (!(await moveJob(db, { id, from: ["INIT", "RUNNING"], to: "QUEUED", fence: attempt, changes }))) return false;
  const not_before = iso(now + 1000 * retryWait(retry_delay, retried + 1));
  const finished_at = failure.finished_at ?? iso(now);
  const reason = { error_message: shortened(failure.error_message), error_stack: shortened(failure.error_stack) };
  const times = { started_at: job.started_at, finished_at, next_at: not_before };
  await insertEndedAttempt(db, { job_id: id, attempt, exit_code: failure.exit_code, ...reason, ...times });
  await enqueue(db, { ...queueRow(job), not_before });
  // Nothing begins in a paused pipeline: as whatever else waits, it is a draft until that goes on.
  if (pipeline?.status === "PAUSED" && (await dequeue(db, id)))
    await moveJob(db, { id, from: ["QUEUED"], to: "PENDING" });
  return true;
}

/** A job may have many attempts, and all are shown at once. */
const shortened = (text: string | null) => text && beginningOf(text);

/** Undefined: there is no such job. */
export async function readAttempts(db: Db, id: string): Promise<JobAttempts | undefined> {
  const job = await getJob(db, id);
  if (!job) return undefined;
  const before = (await endedAttempts(db, id)).map((row) => ({ ...row, status: "FAILED" as const }));
  const attempts = (job.started_at === null ? before : [...before, job]).map((row, index) => ({
    number: index + 1,
    status: row.status,
    started_at: row.started_at,
    finished_at: row.finished_at,
    exit_code: row.exit_code,
    error_message: shortened(row.error_message),
    error_stack: shortened(row.error_stack),
  }));
  return { attempts, next_attempt_at: (await retryTimeOf(db, id)) ?? null, ...(await rulesOf(db, job)) };
}
