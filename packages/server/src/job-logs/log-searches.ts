/**
 * What looks for the secrets of an attempt in its log. To make one takes a tenth of a second where there are many long
 * secrets, so it is kept for a while, for whoever else reads that log, and one is made in a round of the event loop.
 */
import { decryptEnvironment, decryptJobSecrets } from "../domain/secrets/encryption.ts";
import { tokensOfJob } from "../domain/secrets/job-tokens.ts";
import type { KeyRing } from "../domain/secrets/key-ring.ts";
import { secretsOfEnvironment, spellings } from "../domain/secrets/log-secrets.ts";
import { type SecretSearch, searchFor } from "../logs/secret-search.ts";
import type { JobSecretsRow } from "../store/queries/jobs/jobs.ts";
import { nextLook } from "../turns/large-answers.ts";

interface Kept {
  readonly environment: string;
  readonly secrets: string;
  readonly search: SecretSearch;
  readonly until: number;
}

/** Each may take a few megabytes. */
const most = 16;
/** Keys may be exchanged meanwhile. */
const keptMs = 60_000;

/** By the keys that its secrets were read with, and the attempt; the first was used longest ago. */
const kept = new WeakMap<KeyRing, Map<string, Kept>>();

export async function searchOf(keys: KeyRing, job: JobSecretsRow): Promise<SecretSearch> {
  const found = find(keys, job);
  if (found) return found;
  await nextLook();
  // Somebody else may have made it while this one waited.
  return find(keys, job) ?? keep(keys, job, searchFor(logSecrets(keys, job)));
}

const nameOf = ({ id, attempt }: JobSecretsRow) => `${id}.${attempt}`;

function find(keys: KeyRing, job: JobSecretsRow): SecretSearch | undefined {
  const all = kept.get(keys);
  const one = all?.get(nameOf(job));
  const isRight = one?.environment === job.environment && one.secrets === job.secrets && one.until > performance.now();
  if (!all || !one || !isRight) return undefined;
  all.delete(nameOf(job));
  all.set(nameOf(job), one);
  return one.search;
}

function keep(keys: KeyRing, job: JobSecretsRow, search: SecretSearch): SecretSearch {
  const all = kept.get(keys) ?? new Map<string, Kept>();
  kept.set(keys, all);
  const { environment, secrets } = job;
  all.delete(nameOf(job));
  all.set(nameOf(job), { environment, secrets, search, until: performance.now() + keptMs });
  for (const name of all.keys()) if (all.size > most) all.delete(name);
  return search;
}

/** What this job was given that nobody is to see: credentials, its token, and what looks like a secret. */
function logSecrets(keys: KeyRing, { id, attempt, environment, secrets }: JobSecretsRow): Buffer[] {
  const given = secrets === "" ? [] : (JSON.parse(decryptJobSecrets(keys, id, secrets)) as string[]);
  const own = environment === "" ? [] : secretsOfEnvironment(decryptEnvironment(keys, id, environment));
  return spellings([...tokensOfJob(keys, { jobId: id, attempt }), ...given, ...own]);
}
