/** A job's log as everybody gets it. Whatever leaves the server of a log goes through here, and is masked. */
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
  /** Where logs of ended attempts are, unless their engine keeps them. */
  readonly archive?: LogArchive | undefined;
}

interface Opened<Log> {
  readonly log: Log;
  readonly ended: boolean;
}

/**
 * The logs of all attempts, one after another, each with a line on how it ended where another one followed. A job that is
 * settled when this is called has written all it ever will.
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
 * The log of an attempt that another one followed, and what is said after it. Its file is open only while it is read: a
 * job may have had twenty such attempts, and its log many readers.
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

/** Of one attempt, counted from 1; refused where there is none. */
export async function openAttemptLog(context: JobLogContext, id: string, number: number): Promise<Opened<GrowingLog>> {
  const job = await presentJob(context, id);
  const before = await endedAttempts(context.store.db, id);
  const ended = before[number - 1];
  if (job && ended) return { log: await openAttempt(context, { ...job, attempt: ended.attempt }, true), ended: true };
  if (job && number === before.length + 1 && job.attempt > (before.at(-1)?.attempt ?? 0))
    return openNewest(context, job);
  throw new ApiError("not_found", `Job ${id} has no attempt ${number}.`, { hint: "list_attempts" });
}

/** Of the newest attempt only. */
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
  // Before the file is opened: whoever waits for it may go.
  const search = await searchOf(context.keys, job);
  return new MaskedLog(await openSource(context, job), search, ended);
}

async function openSource({ store, engines, archive }: JobLogContext, job: JobSecretsRow) {
  const { id, attempt } = job;
  const key = attemptKey(id, attempt);
  const live = await openLog(engines.of(job), key);
  const isOver = async () => attempt > 0 && !(await isOpenAttempt(store.db, id, attempt));
  return archive?.open(key, live, isOver) ?? live;
}

/** Follows from what is in the store and in the log, so that it has the same length whenever it is asked for. */
async function linesBetween(
  log: GrowingLog,
  number: number,
  { error_message, next_at }: EndedAttempt,
): Promise<string> {
  const size = await log.size();
  const isOpen = size > 0 && (await log.read(size - 1, 1)).toString() !== "\n";
  // The log is right above; a reason of several lines repeats its end.
  const why = error_message?.split("\n")[0] ?? "no reason is known.";
  return `${isOpen ? "\n" : ""}[millrace] Attempt ${number} failed: ${why}\n[millrace] Attempt ${number + 1} is due at ${next_at}.\n`;
}

/** Its age was over MILLRACE_LOG_DAYS, or its team's logs were over their quota. */
export const logRemoved = (id: string, at: string) =>
  new ApiError(
    "not_found",
    `The log of job ${id} was removed on ${at.slice(0, 10)}: logs are kept for a limited time, and up to the team's quota.`,
  );

/** What a job leaves as its metrics is shown as its log is. A secret that is a number becomes a text. */
export async function maskMetrics({ store, keys }: JobLogContext, id: string, json: string): Promise<string> {
  const job = await getJobSecrets(store.db, id);
  const search = job ? await searchOf(keys, job) : searchFor([]);
  const hide = (text: string) => search.mask(Buffer.from(text)).toString();
  return JSON.stringify(JSON.parse(json), (_key, value: unknown) => {
    if (typeof value === "number") return hide(String(value)) === String(value) ? value : hide(String(value));
    if (typeof value === "string") return hide(value);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [hide(name), inner]));
  });
}
