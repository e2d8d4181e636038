/** Opens the log of a job with its secrets masked. All log output that leaves the server passes through this file. */
import { ApiError, isSettled } from "@millrace/contract";
import type { KeyRing } from "../domain/secrets/key-ring.ts";
import { attemptKey } from "../engines/engine.ts";
import { type Engines, emptyLog, openLog } from "../engines/registry.ts";
import { type GrowingLog, JoinedLog, type Part, textPart } from "../logs/joined-log.ts";
import { MaskedLog } from "../logs/masked-log.ts";
import { searchFor } from "../logs/secret-search.ts";
import type { Store } from "../store/drivers/store.ts";
import { isOpenAttempt } from "../store/queries/jobs/attempts.ts";
import { type EndedAttempt, endedAttempts } from "../store/queries/jobs/ended-attempts.ts";
import { getJobSecrets, type JobSecretsRow } from "../store/queries/jobs/jobs.ts";
import type { LogArchive } from "./log-archive.ts";
import { searchOf } from "./log-searches.ts";

export interface JobLogContext {
  readonly store: Store;
  readonly engines: Engines;
  readonly keys: KeyRing;
  /** Archive for the logs of ended attempts; undefined if these logs stay in the engine. */
  readonly archive?: LogArchive | undefined;
}

interface Opened<Log> {
  readonly log: Log;
  readonly ended: boolean;
}

/**
 * Opens the logs of all attempts as one log. After the log of each retried attempt, lines say why the attempt failed
 * and when the next attempt was due. If the job is settled (ended for good) at the time of the call, the log is
 * complete.
 */
export async function openJobLog(context: JobLogContext, id: string): Promise<Opened<GrowingLog>> {
  const job = await presentJob(context, id);
  if (job === undefined || job.retried === 0) return openNewest(context, job);
  const before = await endedAttempts(context.store.db, id);
  const parts = [];
  for (const [index, row] of before.entries()) parts.push(...(await endedParts(context, job, row, index + 1)));
  const hasBegun = before.at(-1)?.attempt !== job.attempt;
  const newest = hasBegun ? await openNewest(context, job) : undefined;
  return { log: await JoinedLog.of(parts, newest?.log), ended: isSettled(job.status) };
}

/**
 * Returns the log of a retried attempt and the lines that follow it. The log file is opened only for each read, because
 * a job may have twenty retried attempts and many readers.
 */
async function endedParts(context: JobLogContext, job: JobSecretsRow, row: EndedAttempt, number: number) {
  const withLog = async <T>(use: (log: MaskedLog) => Promise<T>): Promise<T> => {
    const log = await openAttempt(context, { ...job, attempt: row.attempt }, true);
    try {
      return await use(log);
    } finally {
      await log.close();
    }
  };
  const { size, lines } = await withLog(async (log) => ({
    size: await log.size(),
    lines: await linesBetween(log, number, row),
  }));
  const part: Part = {
    size: async () => size,
    read: (offset, length) => withLog((log) => log.read(offset, length)),
    close: async () => {},
  };
  return [part, textPart(lines)];
}

/** Opens the log of the attempt with this number, counted from 1. Throws if there is no such attempt. */
export async function openAttemptLog(context: JobLogContext, id: string, number: number): Promise<Opened<GrowingLog>> {
  const job = await presentJob(context, id);
  const before = await endedAttempts(context.store.db, id);
  const ended = before[number - 1];
  if (job && ended) return { log: await openAttempt(context, { ...job, attempt: ended.attempt }, true), ended: true };
  if (job && number === before.length + 1 && job.attempt > (before.at(-1)?.attempt ?? 0))
    return openNewest(context, job);
  throw new ApiError("not_found", `Job ${id} has no attempt ${number}.`, { hint: "list_attempts" });
}

/** Opens the log of the newest attempt only. */
export const openNewestLog = async (context: JobLogContext, id: string): Promise<Opened<MaskedLog>> =>
  openNewest(context, await presentJob(context, id));

async function presentJob({ store }: JobLogContext, id: string): Promise<JobSecretsRow | undefined> {
  const job = await getJobSecrets(store.db, id);
  if (job?.log_removed_at) throw logRemoved(id, job.log_removed_at);
  return job;
}

async function openNewest(context: JobLogContext, job: JobSecretsRow | undefined) {
  const ended = job !== undefined && isSettled(job.status);
  if (job) return { log: await openAttempt(context, job, ended), ended };
  return { log: new MaskedLog(emptyLog, [], ended), ended };
}

async function openAttempt(context: JobLogContext, job: JobSecretsRow, ended: boolean): Promise<MaskedLog> {
  // Build the search before opening the file: if the reader disconnects meanwhile, no file is left open.
  const search = await searchOf(context.keys, job);
  return new MaskedLog(await openSource(context, job), search, ended);
}

async function openSource({ store, engines, archive }: JobLogContext, job: JobSecretsRow) {
  const { id, attempt } = job;
  const key = attemptKey(id, attempt);
  const live = await openLog(engines.of(job.cluster_id), key);
  const isOver = async () => attempt > 0 && !(await isOpenAttempt(store.db, id, attempt));
  return archive?.open(key, live, isOver) ?? live;
}

/**
 * Returns the lines that stand between the logs of two attempts. The lines depend only on stored data: their length
 * must never change, because all later offsets depend on it.
 */
async function linesBetween(
  log: GrowingLog,
  number: number,
  { error_message, next_at }: EndedAttempt,
): Promise<string> {
  const size = await log.size();
  const isOpen = size > 0 && (await log.read(size - 1, 1)).toString() !== "\n";
  // Without the end of the log, which is right above.
  const why = error_message?.replace(/ Its log ends with: .*/s, "").split("\n")[0] ?? "the reason is unknown.";
  return `${isOpen ? "\n" : ""}[millrace] Attempt ${number} failed: ${why}\n[millrace] Attempt ${number + 1} is due at ${next_at}.\n`;
}

/**
 * Returns the error for a log that was deleted, either because it was older than MILLRACE_LOG_DAYS or because the team
 * was over its quota.
 */
export const logRemoved = (id: string, at: string) =>
  new ApiError(
    "not_found",
    `The log of job ${id} was removed on ${at.slice(0, 10)}, because it was older than the server keeps logs (MILLRACE_LOG_DAYS) or because the logs took up more than the team's quota.`,
  );

/** Returns a function that masks the job's secrets in a text, as in its log. */
export async function maskerOf({ store, keys }: JobLogContext, id: string): Promise<(text: string) => string> {
  const job = await getJobSecrets(store.db, id);
  const search = job ? await searchOf(keys, job) : searchFor([]);
  return (text) => search.mask(Buffer.from(text)).toString("utf8");
}

/** Masks secrets in a job's metrics, as in its log. A number that contains a secret becomes a string. */
export async function maskMetrics(context: JobLogContext, id: string, json: string): Promise<string> {
  const hide = await maskerOf(context, id);
  return JSON.stringify(JSON.parse(json), (_key, value: unknown) => {
    if (typeof value === "number") return hide(String(value)) === String(value) ? value : hide(String(value));
    if (typeof value === "string") return hide(value);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [hide(name), inner]));
  });
}
