/**
 * Downloads the files of queued jobs to this machine. Until the files of a job are here, the job takes no slot and the
 * dispatch loop skips it. A failed download is retried with back-off; the job stays queued, and this does not count as
 * a failed attempt. The state is in the store, so the next server process continues after a crash.
 */
import { BlobMissing, type Blobs } from "../blobs/blobs.ts";
import { iso } from "../domain/time/clock.ts";
import { failRefused } from "../execution/claim.ts";
import type { ExecutionContext } from "../execution/execution-context.ts";
import { fetchJobFiles, fileGone, neededBytes } from "../execution/job-files.ts";
import { isDiskFull } from "../machine/disk.ts";
import { isPassing } from "../machine/passing.ts";
import { isUnavailable } from "../store/drivers/unavailable.ts";
import { busySlots } from "../store/queries/jobs/attempts.ts";
import { activeClusters } from "../store/queries/jobs/clusters.ts";
import {
  endFileWait,
  notRunningYet,
  type Postponed,
  postponedFiles,
  postponeFiles,
  tryFilesAgain,
  waitingForFiles,
} from "../store/queries/jobs/file-waits.ts";
import { BackOff } from "./back-off.ts";
import { CopyRoom } from "./copy-room.ts";
import type { Loop } from "./loop.ts";
import { TeamPool } from "./team-pool.ts";
import { Waits } from "./waits.ts";

export interface FetchContext extends Pick<ExecutionContext, "store" | "signals" | "clock" | "log" | "disk"> {
  readonly blobs: Blobs;
}

/** Maximum number of jobs whose files are downloaded in parallel: in total, and for one team. */
const bounds = { atOnce: 8, perTeam: 4 } as const;
/** Delays in milliseconds between two tries for the same job. The delay grows from `first` to `longest`. */
const ofJob = { first: 1000, longest: 15_000 } as const;
/**
 * After a failed download, no download for any job starts for this many milliseconds. The delay grows from `first` to
 * `longest`.
 */
const ofAll = { first: 250, longest: 4000 } as const;
/** Maximum number of waiting jobs that one run reads and releases for their next try. */
const page = 500;

interface Fetching extends FetchContext {
  readonly pool: TeamPool;
  readonly storage: BackOff;
  readonly waits: Waits;
  readonly room: CopyRoom;
  /** Number of consecutive failures, by job id. */
  readonly tries: Map<string, number>;
}

export function fetchFiles(given: FetchContext): Loop {
  const { signals, clock, disk } = given;
  const context: Fetching = {
    ...given,
    pool: new TeamPool(bounds, () => signals.files.wake()),
    storage: new BackOff(clock, ofAll),
    waits: new Waits(clock, ofJob.longest),
    room: new CopyRoom(given),
    tries: new Map(),
  };
  return {
    name: "fetch-files",
    signal: signals.files,
    interval: 250,
    async runOnce() {
      await releaseStarted(context);
      await tryAgain(context);
      if (await disk.isLow()) await context.room.keepMinimum();
      if (!context.storage.isOver) return;
      const refused = new Map<number, number>();
      for (const cluster of await activeClusters(context.store.db)) {
        // If all slots are busy no job can start, and its files would only use disk space.
        if (cluster.max_workers > (await busySlots(context.store.db, cluster.id)))
          await beginAll(context, cluster.id, refused);
      }
    },
    settled: () => context.pool.settled(),
  };
}

/**
 * Releases the disk space that is reserved for the working folders of jobs, once their scripts run or the jobs have
 * ended: their files are copied by then.
 */
async function releaseStarted({ store, room, pool }: Fetching): Promise<void> {
  const held = room.holders().filter((id) => !pool.has(id));
  if (held.length === 0) return;
  const waiting = new Set(await notRunningYet(store.db, held));
  for (const id of held) if (!waiting.has(id)) room.release(id);
}

async function tryAgain({ store, waits, clock }: Fetching): Promise<void> {
  const due = waits.over(await postponedFiles(store.db, page));
  if (due.length === 0) return;
  await store.write(async (db) => {
    for (const { job_id } of due) await tryFilesAgain(db, job_id, iso(clock.now()));
  });
}

/**
 * Starts downloads up to the limits. The query skips teams that have reached the limit per team. It also skips teams
 * with as many jobs in `refused`, for which there was no disk space in this run: such a job costs a look at each of its
 * files, so a long queue of them would delay the jobs of other teams.
 */
async function beginAll(context: Fetching, clusterId: number, refused: Map<number, number>): Promise<void> {
  const { pool, store } = context;
  while (!pool.isFull) {
    const outOfSpace = [...refused].filter(([, jobs]) => jobs >= bounds.perTeam).map(([team]) => team);
    const full = [...pool.fullTeams(), ...outOfSpace];
    // The list includes jobs whose download is in progress; these are at most half of it.
    const waiting = await waitingForFiles(store.db, clusterId, full, 2 * bounds.atOnce);
    const next = waiting.find(({ job_id }) => !pool.has(job_id));
    if (!next) return;
    if (!(await reserve(context, next.job_id))) {
      refused.set(next.team_id, (refused.get(next.team_id) ?? 0) + 1);
      continue;
    }
    pool.begin(next.job_id, next.team_id, () => fetchOne(context, next.job_id));
  }
}

/** Reserves disk space for the files of a job. If there is not enough space, postpones the job and returns false. */
async function reserve(context: Fetching, jobId: string): Promise<boolean> {
  const { store, blobs, room, log } = context;
  if (await room.reserve(jobId, await neededBytes(store.db, blobs, jobId))) return true;
  log.debug({ job: jobId }, "the disk has no space for the files of a job");
  await postpone(context, jobId, "disk");
  return false;
}

/**
 * Downloads the files of one job. Never rejects. If the store cannot be written, the job does not change and is tried
 * again.
 */
async function fetchOne(context: Fetching, jobId: string): Promise<void> {
  const { store, blobs, log, signals } = context;
  try {
    const failure = await fetchJobFiles(store.db, blobs, jobId).then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    if (failure) {
      context.room.release(jobId);
      return await settleFailure(context, jobId, failure.error);
    }
    // The copies in the working folder still need space.
    context.room.hold(jobId, await neededBytes(store.db, blobs, jobId));
    context.tries.delete(jobId);
    if (context.storage.succeed()) log.info("files of jobs can be downloaded from the blob storage again");
    if (await store.write((db) => endFileWait(db, jobId))) signals.dispatch.wake();
  } catch (error) {
    context.room.release(jobId);
    context.storage.fail();
    log[isPassing(error) ? "debug" : "error"]({ err: error, job: jobId }, "could not download the files of a job");
  }
}

async function settleFailure(context: Fetching, jobId: string, error: unknown): Promise<void> {
  if (isUnavailable(error)) throw error;
  if (error instanceof BlobMissing) return failWithoutFile(context, jobId);
  if (isDiskFull(error)) return postpone(context, jobId, "disk");
  const { log, storage } = context;
  if (storage.fail()) log.warn({ err: error, job: jobId }, "could not download the files of a job; trying again");
  await postpone(context, jobId, "storage");
}

/** Plans the next try for a job, with a delay that grows with each failure. */
async function postpone({ store, clock, tries }: Fetching, jobId: string, why: Postponed): Promise<void> {
  const before = tries.get(jobId) ?? 0;
  const pause = Math.min(ofJob.first * 2 ** before, ofJob.longest);
  // A job that was canceled meanwhile has left the queue.
  if (await store.write((db) => postponeFiles(db, jobId, why, iso(clock.now() + pause)))) tries.set(jobId, before + 1);
  else tries.delete(jobId);
}

async function failWithoutFile({ store, signals, clock, tries }: Fetching, jobId: string): Promise<void> {
  tries.delete(jobId);
  const refused = { id: jobId, why: fileGone };
  if (await store.write((db) => failRefused(db, refused, clock.now()))) signals.jobChanged(jobId);
}
