/** Starts jobs: claims them from the queue in order, as long as slots are free, and submits them to the engine. */

import { attemptKey } from "../engines/engine.ts";
import type { BundleContext } from "../execution/bundle.ts";
import {
  type ClaimContext,
  type Claimed,
  type Claims,
  claimJobs,
  failRefused,
  type RefusedJob,
} from "../execution/claim.ts";
import { startJob } from "../execution/start.ts";
import { busySlots } from "../store/queries/jobs/attempts.ts";
import { type ClusterRow, getCluster } from "../store/queries/jobs/clusters.ts";
import { moveFreeJobs } from "../store/queries/jobs/job-moves.ts";
import type { JobRow } from "../store/queries/jobs/jobs.ts";
import { headOfQueue, waitingSince } from "../store/queries/jobs/queue.ts";
import { Turns } from "../turns/turns.ts";
import type { Loop } from "./loop.ts";
import { type LoopCluster, loopName } from "./loop-of-cluster.ts";

/** Jobs of one cluster that are started at a time. A cluster may have thousands of free slots. */
const startsAtOnce = 16;

export type DispatchContext = ClaimContext & BundleContext;

/** Returns the loop for the jobs of one cluster. Each cluster has its own, so that a slow one delays no other. */
export function dispatchJobs(context: DispatchContext, { id, ...named }: LoopCluster): Loop {
  const announce = waitingAnnouncer(context);
  const hasRoom = diskWatcher(context);
  const mayStart = async ({ state }: ClusterRow) =>
    state === "ACTIVE" && context.engines.whyUnreachable(id) === undefined && (await hasRoom());
  return {
    name: loopName("dispatch-jobs", { id, ...named }),
    signal: context.signals.dispatch,
    interval: 250,
    async runOnce() {
      const cluster = await getCluster(context.store.db, id);
      if (!cluster) return;
      while ((await mayStart(cluster)) && (await dispatchCluster(context, cluster))) {
        // Continues while jobs were started or passed over: the queue may be longer than one batch.
      }
      await announce(cluster);
    },
  };
}

/**
 * Returns a function that tells whether enough disk space is free to start jobs. If less than the configured minimum is
 * free, no job starts, so that running jobs can use the remaining space. Each change is logged once.
 */
function diskWatcher({ disk, log }: DispatchContext) {
  let low = false;
  return async (): Promise<boolean> => {
    const now = await disk.isLow();
    if (now && !low)
      log.warn(
        { free: await disk.free() },
        "too little free disk space (see MILLRACE_DISK_FLOOR), so no job is started: free some space",
      );
    if (!now && low) log.info("enough disk space is free again: jobs are started");
    low = now;
    return !low;
  };
}

async function dispatchCluster(context: DispatchContext, cluster: ClusterRow): Promise<boolean> {
  const { store, signals } = context;
  if (signals.enqueuing === 0 && (await headOfQueue(store.db, cluster.id, 1)).length === 0) return false;
  if (signals.freeing === 0 && (await busySlots(store.db, cluster.id)) >= cluster.max_workers) return false;
  const { claimed, refused, lacksFiles, isFull } = await claimAll(context, cluster);
  if (lacksFiles) signals.files.wake();
  const starts = new Turns(startsAtOnce);
  const started = await Promise.all(claimed.map((job) => starts.run(() => begin(context, cluster, job))));
  for (const job of refused) await refuse(context, job);
  // An attempt that did not start gives its slots back.
  return started.includes(false) || (!isFull && (claimed.length > 0 || lacksFiles));
}

async function refuse({ store, signals, clock }: DispatchContext, job: RefusedJob): Promise<void> {
  if (await store.write((db) => failRefused(db, job, clock.now()))) signals.jobChanged(job.id);
}

/**
 * Claims jobs. Adds their attempts to `signals.starting` before other loops can read the new rows. Other loops must
 * ignore these attempts, because the engine does not know an attempt before it is submitted.
 */
async function claimAll(context: DispatchContext, cluster: ClusterRow): Promise<Claims> {
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

/** Starts a claimed job. Returns whether the engine accepted it. */
async function begin(context: DispatchContext, cluster: ClusterRow, claimed: Claimed): Promise<boolean> {
  const { job } = claimed;
  try {
    context.faults.pass("attempt-committed");
    context.signals.jobChanged(job.id);
    noteDispatch(context, cluster, job);
    const isStarted = await startJob(context, cluster, claimed);
    if (isStarted) context.log.info({ job: job.id, attempt: job.attempt }, "job started");
    context.faults.pass("attempt-submitted");
    return isStarted;
  } finally {
    context.signals.starting.delete(keyOf(job));
  }
}

/**
 * Records how long a job waited in the queue. Retries and runs of a pipeline are not recorded, because they also waited
 * for a retry delay or for other runs, not only for a slot.
 */
function noteDispatch({ metrics, clock }: DispatchContext, cluster: ClusterRow, job: JobRow): void {
  if (job.attempt > 1 || job.pipeline_id !== null) return;
  const waited = Math.max(0, clock.now() - Date.parse(job.created_at)) / 1000;
  metrics.dispatch.observe({ cluster: cluster.name }, waited);
}

/**
 * Returns a function that moves the waiting jobs of a cluster to the state QUEUED, at most five times a second. It
 * remembers the last job id of each cluster and reads only newer ids, so that a long queue is not read again.
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
