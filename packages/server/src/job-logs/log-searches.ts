/**
 * Caches the search structures that find secrets in logs. Building a structure can take a tenth of a second. So all
 * readers of a log share one structure, and at most one is built per iteration of the event loop.
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

/** Maximum number of cached search structures. Each may take a few megabytes. */
const most = 16;
/**
 * Milliseconds for which a search structure is cached. The time is short, because the keys that decrypt the secrets may
 * change.
 */
const keptMs = 60_000;

/** Cached searches by key ring and attempt. The least recently used search is the first one in the map. */
const kept = new WeakMap<KeyRing, Map<string, Kept>>();

export async function searchOf(keys: KeyRing, job: JobSecretsRow): Promise<SecretSearch> {
  const found = find(keys, job);
  if (found) return found;
  await nextLook();
  // Another reader may have built it while this one waited.
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

/**
 * Returns the values that must be masked in a job's log: its credentials, its token, and variables that look secret.
 */
function logSecrets(keys: KeyRing, { id, attempt, environment, secrets }: JobSecretsRow): Buffer[] {
  const given = secrets === "" ? [] : (JSON.parse(decryptJobSecrets(keys, id, secrets)) as string[]);
  const own = environment === "" ? [] : secretsOfEnvironment(decryptEnvironment(keys, id, environment));
  return spellings([...tokensOfJob(keys, { jobId: id, attempt }), ...given, ...own]);
}
