/** Takes jobs off the queue in order, as long as slots and team quotas allow, and opens an attempt for each job. */
import { jobStates, localEngine } from "@millrace/contract";
import type { Blobs } from "../blobs/blobs.ts";
import { type DefaultQuotas, roomToRun } from "../domain/access/quotas.ts";
import { CredentialsUnavailable, type Gathered, gatherCredentials, namesIn } from "../domain/jobs/job-credentials.ts";
import { endJob } from "../domain/lifecycle/end-job.ts";
import { readSpec } from "../domain/lifecycle/job-documents.ts";
import { type Rules, teamAndRulesOf } from "../domain/lifecycle/retries.ts";
import { absentCreator } from "../domain/pipelines/pipeline-sources.ts";
import { decryptJobSecrets, encryptJobSecrets } from "../domain/secrets/encryption.ts";
import { iso } from "../domain/time/clock.ts";
import type { Db } from "../store/drivers/store.ts";
import { busySlots, countOpen, lockClaims, openAttempt } from "../store/queries/jobs/attempts.ts";
import { type ClusterRow, teamsOfCluster } from "../store/queries/jobs/clusters.ts";
import { waitForFiles } from "../store/queries/jobs/file-waits.ts";
import { moveJob } from "../store/queries/jobs/job-moves.ts";
import { getJob, type JobRow } from "../store/queries/jobs/jobs.ts";
import { countPassedOver, dequeue, enqueue, headOfQueue, headOfQueueWithout } from "../store/queries/jobs/queue.ts";
import { lockPipelinesOf } from "../store/queries/pipelines/pipelines.ts";
import type { ExecutionContext } from "./execution-context.ts";
import { areFilesHere } from "./job-files.ts";

export interface ClaimContext extends Pick<ExecutionContext, "clock" | "engines" | "keys" | "serverId" | "signals"> {
  readonly quotas: DefaultQuotas;
  readonly blobs: Blobs;
}

/** A claimed job, as it was read in the transaction that claimed it. */
export interface Claimed {
  readonly job: JobRow;
  readonly credentials: Gathered;
  readonly rules: Rules;
  /** Name of the job's team. */
  readonly team: string;
}

type QueueRow = Awaited<ReturnType<typeof headOfQueue>>[number];

/**
 * If a job needs more slots than are free, smaller jobs may start before it, but at most this many per slot of the
 * cluster. After that, the cluster starts no other job until enough slots are free.
 */
const overtakings = 4;
/** Number of extra queue entries that are read, to replace jobs that do not fit and are skipped. */
const lookAhead = 16;
/** Number of queue entries that are read if none of the first ones fits. */
const farReach = 1000;
/** The most jobs that one write claims: a cluster may have thousands of free slots, and other writes wait. */
const mostClaims = 100;

/** A queued job that cannot start. It stays in the queue until `failRefused` ends it. */
export interface RefusedJob {
  readonly id: string;
  readonly why: string;
}

/** Result of one pass over the queue. */
export interface Claims {
  readonly claimed: readonly Claimed[];
  readonly refused: readonly RefusedJob[];
  /** Whether jobs were skipped because their files are not on this machine. The next pass leaves these jobs out. */
  readonly lacksFiles: boolean;
  /** Whether the cluster takes no more jobs until one of its attempts ends. */
  readonly isFull: boolean;
}

/**
 * Claims as many queued jobs of a cluster as fit. Reads the queue inside the transaction, because an earlier read may
 * be stale. Jobs that cannot start are only returned (`refused`). To fail them here would lock their pipelines, and
 * pipelines must always be locked before jobs.
 */
export async function claimJobs(db: Db, context: ClaimContext, cluster: ClusterRow): Promise<Claims> {
  await lockClaims(db);
  let free = cluster.max_workers - (await busySlots(db, cluster.id));
  let places = await freePlaces(db, context, cluster);
  if (free <= 0 || places <= 0) return { claimed: [], refused: [], lacksFiles: false, isFull: true };
  const room = await roomToRun(db, context.quotas);
  const isForTeam = await teamsFor(db, cluster);
  const claimed: Claimed[] = [];
  const refused: RefusedJob[] = [];
  const passed: string[] = [];
  let lacksFiles = false;
  for (const waiting of await readHead(db, cluster, free, room.full)) {
    if (free <= 0 || places <= 0 || claimed.length === mostClaims) break;
    if (waiting.slots > cluster.max_workers) {
      refused.push({ id: waiting.job_id, why: tooWide(cluster, waiting) });
      continue;
    }
    if (!isForTeam(waiting.team_id)) {
      refused.push({ id: waiting.job_id, why: notForTeam(cluster) });
      continue;
    }
    if (waiting.slots > free) {
      // Smaller jobs may overtake a job that needs many slots, so that slots do not idle, but only a limited number of times.
      if (hasWaitedEnough(cluster, waiting)) break;
      // The first ones decide when it is enough.
      if (passed.length < mostClaims) passed.push(waiting.job_id);
      continue;
    }
    if (!room.take(waiting.team_id)) continue;
    if (!(await areFilesHere(db, context.blobs, waiting.job_id))) {
      if (await waitForFiles(db, waiting.job_id, iso(context.clock.now()))) lacksFiles = true;
      continue;
    }
    const job = await claimJob(db, context, cluster, waiting);
    if (!job) continue;
    if ("why" in job) {
      refused.push(job);
      continue;
    }
    claimed.push(job);
    free -= waiting.slots;
    places -= 1;
  }
  if (claimed.length > 0 && passed.length > 0) await countPassedOver(db, passed);
  return { claimed, refused, lacksFiles, isFull: free <= 0 || places <= 0 };
}

const hasWaitedEnough = ({ max_workers }: ClusterRow, { passed_over }: QueueRow) =>
  passed_over >= overtakings * max_workers;

/**
 * Reads the head of the queue: enough to fill the free slots. If nothing there fits, reads further, so that many jobs
 * that need many slots do not hide the smaller ones behind them.
 */
async function readHead(db: Db, cluster: ClusterRow, free: number, full: readonly number[]): Promise<QueueRow[]> {
  const read = (limit: number) =>
    full.length === 0 ? headOfQueue(db, cluster.id, limit) : headOfQueueWithout(db, cluster.id, limit, full);
  const reach = 2 * Math.min(free, mostClaims) + lookAhead;
  const head = await read(reach);
  const isHidden = (row: QueueRow) =>
    row.slots > free && row.slots <= cluster.max_workers && !hasWaitedEnough(cluster, row);
  return head.length === reach && head.every(isHidden) ? read(farReach) : head;
}

/** Returns how many more attempts the engine of a cluster takes, whatever their slots. */
async function freePlaces(db: Db, { engines }: ClaimContext, cluster: ClusterRow): Promise<number> {
  const { inFlight } = engines.of(cluster.id);
  return inFlight === undefined ? Number.POSITIVE_INFINITY : inFlight - (await countOpen(db, cluster.id));
}

/**
 * Returns the error message for a job that needs more slots than its cluster has. That happens if an admin has shrunk
 * the cluster.
 */
const tooWide = ({ name, max_workers }: ClusterRow, { slots }: { readonly slots: number }) =>
  `The job needs ${slots} workers, and the cluster ${name} now has only ${max_workers}. Create the job again with fewer workers or on another cluster.`;

/**
 * Returns whether a team may use a cluster. It was allowed when the job was created, or when the task or pipeline that
 * created it was, and an administrator may have changed it since. Read in the transaction, because two teams must not
 * meet on a cluster that does not isolate jobs.
 */
async function teamsFor(db: Db, { id, engine, is_shared }: ClusterRow): Promise<(teamId: number) => boolean> {
  if (engine === localEngine && is_shared === 1) return () => true;
  const teams = await teamsOfCluster(db, id);
  return (teamId) => teams === "all" || teams.has(teamId);
}

const notForTeam = ({ name }: ClusterRow) =>
  `The team of the job may no longer use the cluster ${name}. Create the job again on another cluster.`;

/**
 * Fails a queued job that cannot start. The caller runs this in a separate transaction. Returns false if the job has
 * left the queue.
 */
export async function failRefused(db: Db, { id, why }: RefusedJob, now: number): Promise<boolean> {
  await lockPipelinesOf(db, [id]);
  if (!(await dequeue(db, id))) return false;
  const changes = { error_message: why, finished_at: iso(now) };
  return endJob(db, { id, from: jobStates.waiting, to: "FAILED", changes }, now);
}

/**
 * Takes a job off the queue and opens its attempt. Returns undefined if another caller took the job. If the job cannot
 * start, returns a refusal with the reason: its credentials are missing, or it is a pipeline run whose creator has left
 * since the run was requested.
 */
async function claimJob(
  db: Db,
  context: ClaimContext,
  cluster: ClusterRow,
  waiting: QueueRow,
): Promise<Claimed | RefusedJob | undefined> {
  const { job_id: id, slots } = waiting;
  if (!(await dequeue(db, id))) return undefined;
  const job = await getJob(db, id);
  if (!job) return undefined;
  const now = iso(context.clock.now());
  const refuse = async (why: string) => {
    await enqueue(db, waiting);
    return { id, why };
  };
  const absent = job.pipeline_id === null ? undefined : await absentCreator(db, [job]);
  if (absent !== undefined) return refuse(`The job could not start: ${absent}`);
  const credentials = await credentialsOf(db, context, job);
  if (credentials instanceof CredentialsUnavailable) return refuse(credentials.message);
  const secrets = await encryptSecrets(db, context, id, [...secretsBefore(context, job), ...credentials.secrets]);
  const changes = { attempt: job.attempt + 1, started_at: now, secrets };
  // Another cluster may have a queue of its own, in which the job waits before anything of it runs.
  const to = cluster.engine === localEngine ? "INIT" : "PROVISIONING";
  const moved = await moveJob(db, {
    id,
    from: jobStates.waiting,
    to,
    fence: job.attempt,
    changes,
  });
  if (!moved) return undefined;
  const { team, rules } = await teamAndRulesOf(db, job);
  await openAttempt(db, {
    job_id: id,
    team_id: job.team_id,
    attempt: changes.attempt,
    cluster_id: job.cluster_id,
    slots,
    server_id: context.serverId,
    boot_id: context.engines.of(cluster.id).epoch ?? "",
    created_at: now,
    signalled_at: null,
    timeout: rules.timeout || null,
  });
  return { job: { ...job, ...changes, status: to }, credentials, rules, team };
}

/**
 * Reads the job's credentials. If they cannot be read, returns the error CredentialsUnavailable instead of throwing it,
 * so that other jobs still start.
 */
async function credentialsOf(db: Db, { keys }: ClaimContext, job: JobRow) {
  try {
    return await gatherCredentials(db, keys, job, namesIn(readSpec(job)));
  } catch (error) {
    if (error instanceof CredentialsUnavailable) return error;
    throw error;
  }
}

/**
 * Returns the secrets of the job's earlier attempts. The logs of these attempts are part of the job's log, so the
 * secrets must stay masked.
 */
const secretsBefore = ({ keys }: ClaimContext, { id, retried, secrets }: JobRow): string[] =>
  retried === 0 || secrets === "" ? [] : (JSON.parse(decryptJobSecrets(keys, id, secrets)) as string[]);

/**
 * Encrypts a job's secrets to store them in its row. With the stored secrets, the log can be masked even after the
 * credentials were changed or deleted.
 */
const encryptSecrets = async (db: Db, { keys }: ClaimContext, id: string, values: readonly string[]) =>
  encryptJobSecrets(db, keys, id, values.length === 0 ? "" : JSON.stringify([...new Set(values)]));
