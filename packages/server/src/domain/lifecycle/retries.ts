/**
 * Time limits and retries of jobs. A failed job with retries left waits in the queue for its next attempt, with the
 * same id. The job has not ended, so its pipeline and the clients that follow its log keep waiting. One transaction
 * closes an attempt and plans the next.
 */
import { durationWords, type JobAttempts, jobStates, retryWait, usualRetryDelay } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { endedAttempts, insertEndedAttempt } from "../../store/queries/jobs/ended-attempts.ts";
import { moveJob } from "../../store/queries/jobs/job-moves.ts";
import { getJob, type JobRow } from "../../store/queries/jobs/jobs.ts";
import { dequeue, enqueue, waitOf } from "../../store/queries/jobs/queue.ts";
import { teamRetriesOf } from "../../store/queries/people/teams.ts";
import { lockPipeline } from "../../store/queries/pipelines/pipelines.ts";
import { beginningOf } from "../../store/queries/short-texts.ts";
import { iso } from "../time/clock.ts";
import { readSpec } from "./job-documents.ts";
import { queueRow } from "./job-queue.ts";

/** Time limit in seconds (0 means none), number of retries, and delay before the first retry in seconds. */
export type Rules = Pick<JobAttempts, "timeout" | "retries" | "retry_delay">;

/**
 * Returns the time limit and the retry settings of a job. A setting that the job does not have is taken from the
 * present defaults of its team.
 */
const rulesOf = async (db: Db, job: Pick<JobRow, "team_id" | "spec">): Promise<Rules> =>
  (await teamAndRulesOf(db, job)).rules;

/** Returns the name of a job's team and, as `rulesOf`, the rules of the job: both with one statement. */
export async function teamAndRulesOf(db: Db, job: Pick<JobRow, "team_id" | "spec">) {
  const own = readSpec(job);
  const team = await teamRetriesOf(db, job.team_id);
  const rules: Rules = {
    timeout: own.timeout ?? team?.job_timeout ?? 0,
    retries: own.retries ?? team?.job_retries ?? 0,
    retry_delay: own.retry_delay ?? team?.job_retry_delay ?? usualRetryDelay,
  };
  return { team: team?.name ?? "", rules };
}

/** Error message of a job that was stopped at its time limit. */
export const overTime = (seconds: number) =>
  `The job ran longer than its limit of ${durationWords(seconds)}. The end of its log shows how far it came. To give it more time, set a larger \`timeout\`; 0 means no limit.`;

/** Exit code, error and end time of a failed attempt. */
export type Failure = Pick<JobRow, "exit_code" | "error_message" | "error_stack" | "finished_at">;

/** Columns that a retry resets, because a job shows its newest attempt only. */
const fresh = { started_at: null, exit_code: null, error_message: null, error_stack: null, steps: null, metrics: "{}" };

/**
 * Puts a failed job back in the queue for its next attempt. Call this in the transaction that closed the failed
 * attempt. Returns false if the job has no retries left, is being canceled, or belongs to a pipeline that has ended.
 * The next attempt does not begin before `earliest`.
 */
export async function planRetry(
  db: Db,
  job: JobRow,
  failure: Failure,
  now: number,
  earliest: number = now,
): Promise<boolean> {
  const { id, attempt, retried } = job;
  const { retries, retry_delay } = await rulesOf(db, job);
  if (retried >= retries) return false;
  const pipeline = job.pipeline_id === null ? undefined : await lockPipeline(db, job.pipeline_id);
  if (pipeline && pipeline.status !== "RUNNING" && pipeline.status !== "PAUSED") return false;
  const changes = { ...fresh, retried: retried + 1 };
  if (!(await moveJob(db, { id, from: jobStates.begun, to: "QUEUED", fence: attempt, changes }))) return false;
  const not_before = iso(Math.max(earliest, now + 1000 * retryWait(retry_delay, retried + 1)));
  const finished_at = failure.finished_at ?? iso(now);
  const reason = { error_message: shortened(failure.error_message), error_stack: shortened(failure.error_stack) };
  const times = { started_at: job.started_at, finished_at, next_at: not_before };
  await insertEndedAttempt(db, { job_id: id, attempt, exit_code: failure.exit_code, ...reason, ...times });
  await enqueue(db, { ...queueRow(job), not_before });
  // In a paused pipeline no job may start: the job is a draft until the pipeline is resumed.
  if (pipeline?.status === "PAUSED" && (await dequeue(db, id)))
    await moveJob(db, { id, from: ["QUEUED"], to: "PENDING" });
  return true;
}

/** Shortens a long text, because one answer shows the texts of all attempts of a job. */
const shortened = (text: string | null) => text && beginningOf(text);

/** Returns the attempts of a job, oldest first; undefined if there is no job with this id. */
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
  const { waits_for = "", not_before = "" } = (await waitOf(db, id)) ?? {};
  const next_attempt_at = waits_for === "" && not_before !== "" ? not_before : null;
  return { attempts, next_attempt_at, waits_for: waitTexts[waits_for], ...(await rulesOf(db, job)) };
}

/**
 * Texts that tell the owner of a queued job what the job waits for, by the value of `waits_for`. The value "" means
 * that nothing special holds the job up.
 */
export const waitTexts = {
  "": null,
  files: "The files of the job are being fetched from the server's storage.",
  storage:
    "The files of the job cannot be fetched: the server's storage cannot be reached or does not answer as it should. The server keeps trying, and the job starts when its files are there.",
  disk: "The server's disk has no space for the files of the job. The server keeps trying, and the job starts when its files are there. An operator can free disk space or add some.",
} as const;
