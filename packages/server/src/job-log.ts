/** A job's log as everybody gets it. Whatever leaves the server of a log goes through here, and is masked. */
import { ApiError, isSettled } from "@millrace/contract";
import { decryptEnvironment, decryptJobSecrets } from "./domain/encryption.ts";
import { tokensOfJob } from "./domain/job-tokens.ts";
import type { KeyRing } from "./domain/key-ring.ts";
import { secretsOfEnvironment, spellings } from "./domain/log-secrets.ts";
import { attemptKey, type Engine } from "./engines/engine.ts";
import { MaskedLog } from "./logs/masked-log.ts";
import { searchFor } from "./logs/secret-search.ts";
import { getJobSecrets, type JobSecretsRow } from "./store/jobs.ts";
import type { Store } from "./store/store.ts";

export interface JobLogContext {
  readonly store: Store;
  readonly engine: Engine;
  readonly keys: KeyRing;
}

/** The log of the newest attempt. A job that is settled when this is called has written all it ever will. */
export async function openJobLog(
  { store, engine, keys }: JobLogContext,
  id: string,
): Promise<{ log: MaskedLog; ended: boolean }> {
  const job = await getJobSecrets(store.db, id);
  if (job?.log_removed_at) throw logRemoved(id, job.log_removed_at);
  const ended = job !== undefined && isSettled(job.status);
  const raw = await engine.openLog(attemptKey(id, job?.attempt ?? 0));
  return { log: new MaskedLog(raw, job ? logSecrets(keys, job) : [], ended), ended };
}

/** Its age was over MILLRACE_LOG_DAYS, or its team's logs were over their quota. */
export const logRemoved = (id: string, at: string) =>
  new ApiError(
    "not_found",
    `The log of job ${id} was removed on ${at.slice(0, 10)}: logs are kept for a limited time, and up to the team's quota.`,
  );

/** What this job was given that nobody is to see: credentials, its token, and what looks like a secret. */
function logSecrets(keys: KeyRing, { id, attempt, environment, secrets }: JobSecretsRow): Buffer[] {
  const given = secrets === "" ? [] : (JSON.parse(decryptJobSecrets(keys, id, secrets)) as string[]);
  const own = environment === "" ? [] : secretsOfEnvironment(decryptEnvironment(keys, id, environment));
  return spellings([...tokensOfJob(keys, { jobId: id, attempt }), ...given, ...own]);
}

/** What a job leaves as its metrics is shown as its log is. A secret that is a number becomes a text. */
export async function maskMetrics({ store, keys }: JobLogContext, id: string, json: string): Promise<string> {
  const job = await getJobSecrets(store.db, id);
  const secrets = job ? logSecrets(keys, job) : [];
  const search = searchFor(secrets);
  const hide = (text: string) => search.mask(Buffer.from(text)).toString();
  return JSON.stringify(JSON.parse(json), (_key, value: unknown) => {
    if (typeof value === "number") return hide(String(value)) === String(value) ? value : hide(String(value));
    if (typeof value === "string") return hide(value);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [hide(name), inner]));
  });
}
