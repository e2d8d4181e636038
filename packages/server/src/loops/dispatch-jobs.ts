/** Starts jobs: takes them off the queue in order, as far as slots reach, and hands them to the engine. */

import { setTimeout as sleep } from "node:timers/promises";
import { jobStates } from "@millrace/contract";
import { type DefaultQuotas, roomToRun } from "../domain/access/quotas.ts";
import { homeOf } from "../domain/datasets/dataset-names.ts";
import { filesOfJob } from "../domain/jobs/files.ts";
import { CredentialsUnavailable, type Gathered, gatherCredentials } from "../domain/jobs/job-credentials.ts";
import { usesLibrary, withLibrary } from "../domain/jobs/library.ts";
import { endJob } from "../domain/lifecycle/end-job.ts";
import { type JobSpecFields, readSpec } from "../domain/lifecycle/job-documents.ts";
import { rulesOf } from "../domain/lifecycle/retries.ts";
import { momentTold } from "../domain/lifecycle/scheduled-moments.ts";
import { absentCreator } from "../domain/pipelines/pipeline-sources.ts";
import { decryptEnvironment, decryptJobSecrets, encryptJobSecrets } from "../domain/secrets/encryption.ts";
import { parseEnvironment } from "../domain/secrets/environment-text.ts";
import { newJobToken } from "../domain/secrets/job-tokens.ts";
import { secretsOfEnvironment } from "../domain/secrets/log-secrets.ts";
import { iso } from "../domain/time/clock.ts";
import { attemptKey, CannotStart, type JobSpec, type StoreUse } from "../engines/engine.ts";
import type { Db } from "../store/drivers/store.ts";
import { busySlots, openAttempt } from "../store/queries/jobs/attempts.ts";
import { activeClusters, type ClusterRow } from "../store/queries/jobs/clusters.ts";
import { endedAttempts } from "../store/queries/jobs/ended-attempts.ts";
import { getJob, type JobRow, markQueued, moveJob } from "../store/queries/jobs/jobs.ts";
import {
  countPassedOver,
  dequeue,
  headOfQueue,
  headOfQueueWithout,
  waitingSince,
} from "../store/queries/jobs/queue.ts";
import { libraryVersionOf, teamNameOf } from "../store/queries/people/teams.ts";
import { usernameOf } from "../store/queries/people/users.ts";
import type { TeamStores } from "../team-stores/team-stores.ts";
import { failAttempt, requeueAttempt } from "./end-attempt.ts";
import type { JobLoopContext, Loop } from "./loop.ts";
import { isPassing } from "./passing.ts";

export interface DispatchContext extends JobLoopContext {
  readonly bootId: string;
  readonly quotas: DefaultQuotas;
  /** Where the bytes of an uploaded file lie. */
  readonly filePath: (blob: string) => string;
  /** Where jobs reach this server. */
  readonly publicUrl: () => string;
  readonly teamStores: TeamStores;
  /** Of the dataset library, for teams that have not chosen one. */
  readonly libraryVersion: string;
}

/** A job that begins, with the variables of its credentials as they are now: read once, in the write that claims it. */
interface Claimed {
  readonly job: JobRow;
  readonly credentials: Gathered;
}

/** How often a job that does not fit may be overtaken, per slot of its cluster, before the cluster waits for it. */
const overtakings = 4;
/** How many jobs that do not fit are looked past for one that does. */
const lookAhead = 16;
/** An engine that cannot take a job is asked this often. */
const maxStarts = 5;

export function dispatchJobs(context: DispatchContext): Loop {
  const announce = waitingAnnouncer(context);
  const hasRoom = diskWatcher(context);
  return {
    name: "dispatch-jobs",
    signal: context.signals.dispatch,
    interval: 250,
    async runOnce() {
      for (const cluster of await activeClusters(context.store.db)) {
        while ((await hasRoom()) && (await dispatchCluster(context, cluster))) {
          // As long as it started something: the queue may be longer than one look.
        }
        await announce(cluster);
      }
    },
  };
}

/** Below the floor of free space nothing begins: what runs needs what is left. Told once each time. */
function diskWatcher({ disk, log }: DispatchContext) {
  let low = false;
  return async (): Promise<boolean> => {
    const now = await disk.isLow();
    if (now && !low)
      log.warn({ free: await disk.free() }, "too little free space (MILLRACE_DISK_FLOOR): no job is started");
    if (!now && low) log.info("there is free space again: jobs are started");
    low = now;
    return !low;
  };
}

async function dispatchCluster(context: DispatchContext, cluster: ClusterRow): Promise<boolean> {
  const { store, signals } = context;
  if (signals.enqueuing === 0 && (await headOfQueue(store.db, cluster.id, 1)).length === 0) return false;
  const started = await store.write((db) => claimJobs(db, context, cluster));
  await Promise.all(
    started.map(async (claimed) => {
      const { job } = claimed;
      context.faults.pass("attempt-committed");
      context.signals.jobChanged(job.id);
      noteDispatch(context, cluster, job);
      await submit(context, claimed);
      context.log.info({ job: job.id, attempt: job.attempt }, "job started");
      context.faults.pass("attempt-submitted");
    }),
  );
  return started.length > 0;
}

/** A job that begins again has waited for something else than us, and so has a run of a pipeline. */
function noteDispatch({ metrics, clock }: DispatchContext, cluster: ClusterRow, job: JobRow): void {
  if (job.attempt > 1 || job.pipeline_id !== null) return;
  const waited = Math.max(0, clock.now() - Date.parse(job.created_at)) / 1000;
  metrics.dispatch.observe({ cluster: cluster.name }, waited);
}

/** Chooses anew inside the transaction: what was read before it may be gone. */
async function claimJobs(db: Db, context: DispatchContext, cluster: ClusterRow): Promise<Claimed[]> {
  let free = cluster.max_workers - (await busySlots(db, cluster.id));
  const room = await roomToRun(db, context.quotas);
  const claimed: Claimed[] = [];
  const passed: string[] = [];
  const reach = 2 * Math.max(free, 0) + lookAhead;
  const head =
    room.full.length === 0
      ? await headOfQueue(db, cluster.id, reach)
      : await headOfQueueWithout(db, cluster.id, reach, room.full);
  for (const waiting of head) {
    if (free <= 0) break;
    if (waiting.slots > cluster.max_workers) {
      await refuseTooWide(db, context, cluster, waiting);
      continue;
    }
    if (waiting.slots > free) {
      // A wide job may be overtaken for a while, so that slots do not idle; not for ever.
      if (waiting.passed_over >= overtakings * cluster.max_workers) break;
      passed.push(waiting.job_id);
      continue;
    }
    if (!room.take(waiting.team_id)) continue;
    const job = await claimJob(db, context, waiting.job_id, waiting.slots);
    if (!job) continue;
    claimed.push(job);
    free -= waiting.slots;
  }
  if (claimed.length > 0 && passed.length > 0) await countPassedOver(db, passed);
  return claimed;
}

/** The cluster was made smaller while the job waited: it would wait for ever, and others behind it. */
async function refuseTooWide(
  db: Db,
  { clock }: DispatchContext,
  cluster: ClusterRow,
  { job_id: id, slots }: { job_id: string; slots: number },
): Promise<void> {
  if (!(await dequeue(db, id))) return;
  const why = `The job wants ${slots} workers, and the cluster ${cluster.name} now has ${cluster.max_workers}.`;
  await failWaiting(db, id, why, clock.now());
}

const failWaiting = (db: Db, id: string, why: string, now: number) =>
  endJob(
    db,
    {
      id,
      from: jobStates.waiting,
      to: "FAILED",
      changes: { error_message: why, finished_at: iso(now) },
    },
    now,
  );

/** A run of a pipeline may begin long after it was asked for, and by somebody else: its creator must still be there. */
async function claimJob(db: Db, context: DispatchContext, id: string, slots: number): Promise<Claimed | undefined> {
  if (!(await dequeue(db, id))) return undefined;
  const job = await getJob(db, id);
  if (!job) return undefined;
  const now = iso(context.clock.now());
  const refuse = async (why: string) => {
    await failWaiting(db, id, why, context.clock.now());
    context.signals.jobChanged(id);
    return undefined;
  };
  const absent = job.pipeline_id === null ? undefined : await absentCreator(db, [job]);
  if (absent !== undefined) return refuse(`It could not begin: ${absent}`);
  const credentials = await credentialsOf(db, context, job);
  if (credentials instanceof CredentialsUnavailable) return refuse(credentials.message);
  const secrets = await encryptSecrets(db, context, id, [...secretsBefore(context, job), ...credentials.secrets]);
  const changes = { attempt: job.attempt + 1, started_at: now, secrets };
  const moved = await moveJob(db, {
    id,
    from: jobStates.waiting,
    to: "INIT",
    fence: job.attempt,
    changes,
  });
  if (!moved) return undefined;
  await openAttempt(db, {
    job_id: id,
    team_id: job.team_id,
    attempt: changes.attempt,
    cluster_id: job.cluster_id,
    slots,
    server_id: context.serverId,
    boot_id: context.bootId,
    created_at: now,
    signalled_at: null,
    timeout: (await rulesOf(db, job)).timeout || null,
  });
  return { job: { ...job, ...changes, status: "INIT" }, credentials };
}

/** A job whose credentials are gone holds up no other: the reason comes back instead of being thrown. */
async function credentialsOf(db: Db, { keys }: DispatchContext, job: JobRow) {
  const { credentials_name: name, credentials_names: names = name === null ? [] : [name] } = readSpec(job);
  try {
    return await gatherCredentials(db, keys, job, names);
  } catch (error) {
    if (error instanceof CredentialsUnavailable) return error;
    throw error;
  }
}

/** Of attempts before this one: their logs are part of the job's, whatever it is given now. */
const secretsBefore = ({ keys }: DispatchContext, { id, retried, secrets }: JobRow): string[] =>
  retried === 0 || secrets === "" ? [] : (JSON.parse(decryptJobSecrets(keys, id, secrets)) as string[]);

/** Kept with the job: its log must not show them, whatever becomes of the credentials later. */
const encryptSecrets = async (db: Db, { keys }: DispatchContext, id: string, values: readonly string[]) =>
  encryptJobSecrets(db, keys, id, values.length === 0 ? "" : JSON.stringify([...new Set(values)]));

/**
 * Jobs that wait say so, a few times a second: each job once, found by the order of ids, so that a long queue costs
 * nothing.
 */
function waitingAnnouncer({ store, signals, clock }: DispatchContext) {
  const announced = new Map<number, string>();
  let last = Number.NEGATIVE_INFINITY;
  return async (cluster: ClusterRow): Promise<void> => {
    if (clock.monotonic() - last < 200) return;
    last = clock.monotonic();
    const waiting = await waitingSince(store.db, cluster.id, announced.get(cluster.id) ?? "");
    const newest = waiting.at(-1);
    if (newest === undefined) return;
    const changed = await store.write((db) => markQueued(db, waiting));
    announced.set(cluster.id, newest);
    for (const id of changed) signals.jobChanged(id);
  };
}

async function submit(context: DispatchContext, claimed: Claimed): Promise<void> {
  const { engine, log } = context;
  const { job } = claimed;
  const key = attemptKey(job.id, job.attempt);
  try {
    await engine.submit(await specOf(context, claimed, key));
  } catch (error) {
    if (error instanceof CannotStart) return failAttempt(context, job, error.message, true);
    log[isPassing(error) ? "debug" : "error"]({ err: error, job: job.id }, "the engine did not take the job");
    if (!(await engine.withdraw(key))) return;
    await engine.cleanup(key).catch(() => {});
    // What is wrong may pass: too many open files, a full disk.
    const starts = await startsOf(context, job);
    await sleep(100 * 2 ** Math.min(starts, maxStarts));
    if (starts < maxStarts || isPassing(error)) return requeueAttempt(context, job);
    await failAttempt(context, job, `The job could not be started: ${(error as Error).message}`);
  }
}

/** How often it was handed over since its last attempt that ran. */
async function startsOf({ store }: DispatchContext, { id, attempt, retried }: JobRow): Promise<number> {
  const ran = retried === 0 ? undefined : (await endedAttempts(store.db, id)).at(-1);
  return attempt - (ran?.attempt ?? 0);
}

async function specOf(context: DispatchContext, claimed: Claimed, key: string): Promise<JobSpec> {
  const { job } = claimed;
  const spec = readSpec(job);
  const files = await filesOfJob(context.store.db, spec.files);
  if (files.length < spec.files.length) throw new CannotStart("A file that the job takes along is gone.");
  const covered = files.find(({ filename }) => filename === spec.script?.split("/")[0]);
  if (covered)
    throw new CannotStart(`The attached file ${covered.filename} would take the place of the script ${spec.script}.`);
  const uses = usesLibrary(spec);
  const { library_version, username } = await whoseStore(context.store.db, job, uses);
  const own = ownEnvironment(context, job);
  const told = momentTold(spec);
  return {
    key,
    jobId: job.id,
    teamId: job.team_id,
    person: claimed.credentials.personal || own.secret ? job.user_id : null,
    name: job.name,
    query: spec.query,
    queryType: spec.query_type,
    environment: { ...(await environmentOf(context, claimed, own.variables)), ...told.variables },
    params: { ...spec.params, ...told.params },
    pythonVersion: spec.python_version,
    requirements: uses ? withLibrary(spec.requirements, library_version ?? context.libraryVersion) : spec.requirements,
    repository: spec.repository,
    ...(spec.script ? { script: spec.script } : {}),
    reset: spec.reset,
    files: files.map(({ blob, filename }) => ({ path: context.filePath(blob), name: filename })),
    store: uses ? storeUse(context, job, spec, username) : null,
  };
}

/** Asked only for jobs that use the library. */
const whoseStore = async (db: Db, { team_id, user_id }: JobRow, uses: boolean) =>
  uses
    ? { library_version: await libraryVersionOf(db, team_id), username: await usernameOf(db, user_id) }
    : { library_version: null, username: "" };

const storeUse = ({ teamStores }: DispatchContext, job: JobRow, spec: JobSpecFields, username: string): StoreUse => ({
  ...teamStores.use(job.team_id),
  home: homeOf(spec.home ?? username),
  createdAt: spec.created_at,
  workers: spec.workers,
  runGroupId: spec.run_group_id ?? job.id,
  rerunFromJobId: spec.rerun_from_job_id,
  // Whoever rebuilds datasets wants what is in the storage now.
  ...(job.pipeline_id === null ? {} : { listingsSince: spec.reuse_listings ? null : job.started_at }),
});

/** Credentials, then the job's own variables, then how it reaches us with a token of its own. */
async function environmentOf(
  { store, keys, publicUrl }: DispatchContext,
  { job, credentials }: Claimed,
  own: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const given = { ...credentials.variables, ...own };
  const url = publicUrl();
  const token = newJobToken(keys, { jobId: job.id, attempt: job.attempt });
  return {
    ...clientVariables(given, url, token, await teamNameOf(store.db, job.team_id)),
    ...given,
    MILLRACE_URL: url,
    MILLRACE_TOKEN: token,
  };
}

/** The job's own variables, and whether there are secrets among them. */
function ownEnvironment({ keys }: DispatchContext, { id, environment }: JobRow) {
  try {
    const text = environment === "" ? "" : decryptEnvironment(keys, id, environment);
    return { variables: parseEnvironment(text), secret: secretsOfEnvironment(text).length > 0 };
  } catch (error) {
    throw new CannotStart(`The job's environment cannot be read. ${(error as Error).message}`);
  }
}

/** So that the client works inside a job. One that is meant for another server is left alone: our token is not for that. */
function clientVariables(given: Readonly<Record<string, string>>, url: string, token: string, team: string) {
  if ("DATACHAIN_STUDIO_URL" in given || "DATACHAIN_STUDIO_TOKEN" in given) return {};
  return { DATACHAIN_STUDIO_URL: url, DATACHAIN_STUDIO_TOKEN: token, DATACHAIN_STUDIO_TEAM: team };
}
