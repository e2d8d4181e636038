/** Starts jobs: claims them from the queue in order, as long as slots are free, and submits them to the engine. */

import { readSpec } from "../domain/lifecycle/job-documents.ts";
import { attemptKey } from "../engines/engine.ts";
import { localKind } from "../engines/registry.ts";
import type { BundleContext } from "../execution/bundle.ts";
import { type ClaimContext, type Claimed, claimJobs, failRefused, type RefusedJob } from "../execution/claim.ts";
import { startJob } from "../execution/start.ts";
import { activeClusters, type ClusterRow } from "../store/queries/jobs/clusters.ts";
import { moveFreeJobs } from "../store/queries/jobs/job-moves.ts";
import type { JobRow } from "../store/queries/jobs/jobs.ts";
import { headOfQueue, waitingSince } from "../store/queries/jobs/queue.ts";
import { type Loop, loopName } from "./loop.ts";

export type DispatchContext = ClaimContext & BundleContext;

interface Dispatching extends DispatchContext {
  readonly fetching: Fetching;
}

interface DispatchLoop extends Loop {
  /** Resolves when no job is being started. */
  settled(): Promise<void>;
}

/**
 * Returns the loop for the clusters of one kind of engine. Each kind has its own loop, so that a slow engine delays no
 * other.
 */
export function dispatchJobs(given: DispatchContext, kind = localKind): DispatchLoop {
  const context: Dispatching = { ...given, fetching: new Fetching(given) };
  const announce = waitingAnnouncer(context);
  const hasRoom = diskWatcher(context);
  return {
    name: loopName("dispatch-jobs", kind),
    signal: context.signals.dispatch,
    interval: 250,
    async runOnce() {
      const clusters = (await activeClusters(context.store.db)).filter(({ engine }) => engine === kind);
      for (const cluster of clusters) {
        while ((await hasRoom()) && !context.engines.isPaused(cluster) && (await dispatchCluster(context, cluster))) {
          // Continues while jobs were started: the queue may be longer than one batch.
        }
        await announce(cluster);
      }
    },
    settled: () => context.fetching.settled(),
  };
}

/**
 * Tracks starts of jobs whose files come from a remote blob storage, so that other jobs do not wait for that storage.
 */
class Fetching {
  readonly #context: DispatchContext;
  readonly #underWay = new Set<Promise<void>>();

  constructor(context: DispatchContext) {
    this.#context = context;
  }

  async waitForOthers(claimed: readonly Claimed[], starting: readonly Promise<void>[]): Promise<void> {
    const fetches = (index: number) => !this.#context.blobs.isLocal && takesFiles(claimed[index]);
    for (const start of starting.filter((_, index) => fetches(index))) this.#follow(start);
    await Promise.all(starting.filter((_, index) => !fetches(index)));
  }

  /**
   * Logs a failed start. Its attempt stays open without a claim; the loop `follow-attempts` withdraws it, and the job
   * is queued again.
   */
  #follow(start: Promise<void>): void {
    const followed = start
      .catch((error) => this.#context.log.error({ err: error }, "a job could not be started; it is tried again"))
      .finally(() => this.#underWay.delete(followed));
    this.#underWay.add(followed);
  }

  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }
}

const takesFiles = (claimed: Claimed | undefined) => claimed !== undefined && readSpec(claimed.job).files.length > 0;

/**
 * Returns a function that tells whether enough disk space is free to start jobs. Below the configured minimum, the rest
 * is reserved for running jobs. Each change is logged once.
 */
function diskWatcher({ disk, log }: DispatchContext) {
  let low = false;
  return async (): Promise<boolean> => {
    const now = await disk.isLow();
    if (now && !low)
      log.warn({ free: await disk.free() }, "too little free disk space (see MILLRACE_DISK_FLOOR): no job is started");
    if (!now && low) log.info("enough disk space is free again: jobs are started");
    low = now;
    return !low;
  };
}

async function dispatchCluster(context: Dispatching, cluster: ClusterRow): Promise<boolean> {
  const { store, signals } = context;
  if (signals.enqueuing === 0 && (await headOfQueue(store.db, cluster.id, 1)).length === 0) return false;
  const { claimed: started, refused } = await claimAll(context, cluster);
  const starting = started.map((claimed) => begin(context, cluster, claimed));
  await context.fetching.waitForOthers(started, starting);
  for (const job of refused) await refuse(context, job);
  return started.length > 0;
}

async function refuse({ store, signals, clock }: DispatchContext, job: RefusedJob): Promise<void> {
  if (await store.write((db) => failRefused(db, job, clock.now()))) signals.jobChanged(job.id);
}

/**
 * Claims jobs and records their attempts in `signals.starting` before other loops can read the rows. Until an attempt
 * is submitted, its engine does not know it.
 */
async function claimAll(context: DispatchContext, cluster: ClusterRow) {
  const { store, signals } = context;
  const keys = new Set<string>();
  try {
    return await store.write(async (db) => {
      const claims = await claimJobs(db, context, cluster);
      for (const { job } of claims.claimed) {
        keys.add(keyOf(job));
        signals.starting.add(keyOf(job));
      }
      return claims;
    });
  } catch (error) {
    for (const key of keys) signals.starting.delete(key);
    throw error;
  }
}

const keyOf = ({ id, attempt }: JobRow) => attemptKey(id, attempt);

async function begin(context: DispatchContext, cluster: ClusterRow, claimed: Claimed): Promise<void> {
  const { job } = claimed;
  try {
    context.faults.pass("attempt-committed");
    context.signals.jobChanged(job.id);
    noteDispatch(context, cluster, job);
    if (await startJob(context, cluster, claimed))
      context.log.info({ job: job.id, attempt: job.attempt }, "job started");
    context.faults.pass("attempt-submitted");
  } finally {
    context.signals.starting.delete(keyOf(job));
  }
}

/**
 * Records how long a job waited in the queue. Retries and runs of a pipeline are left out, because they waited for
 * other things than a slot.
 */
function noteDispatch({ metrics, clock }: DispatchContext, cluster: ClusterRow, job: JobRow): void {
  if (job.attempt > 1 || job.pipeline_id !== null) return;
  const waited = Math.max(0, clock.now() - Date.parse(job.created_at)) / 1000;
  metrics.dispatch.observe({ cluster: cluster.name }, waited);
}

/**
 * Returns a function that moves waiting jobs to the state QUEUED, at most five times a second. It remembers the last id
 * for each cluster and reads only newer ids, so that a long queue costs nothing.
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
    const changed = await store.write((db) =>
      moveFreeJobs(db, { ids: waiting, from: ["CREATED", "SCHEDULED"], to: "QUEUED" }),
    );
    announced.set(cluster.id, newest);
    for (const id of changed) signals.jobChanged(id);
  };
}
