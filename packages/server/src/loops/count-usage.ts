/**
 * Counts the disk usage of teams: the warehouses, and the logs of ended jobs. Each log is counted once. If the logs of
 * a team exceed its quota, the oldest are deleted, but the newest log is kept, whatever its size.
 */
import { BlobsUnavailable } from "../blobs/blobs.ts";
import { type DiskQuotas, diskQuota } from "../domain/access/quotas.ts";
import { iso } from "../domain/time/clock.ts";
import { attemptKey } from "../engines/engine.ts";
import type { WarehouseMeasures } from "../execution/measure-warehouses.ts";
import { allWarehouses } from "../store/queries/datasets/warehouses.ts";
import { countLog, jobsWithUncountedLogs, markLogsRemoved, oldestLogs } from "../store/queries/jobs/jobs.ts";
import { allUsage } from "../store/queries/people/team-usage.ts";
import { allQuotas } from "../store/queries/people/teams.ts";
import { Signal } from "../turns/signals.ts";
import type { Loop } from "./loop.ts";
import { type RetentionContext, removeLogs } from "./retention.ts";

export interface CountContext extends RetentionContext {
  readonly quotas: DiskQuotas;
  readonly measures: WarehouseMeasures;
}

const batch = 500;
const warehousesEvery = 300_000;

export function countUsage(context: CountContext): Loop {
  let measured = Number.NEGATIVE_INFINITY;
  return {
    name: "count-usage",
    signal: new Signal(),
    interval: 5000,
    async runOnce() {
      await countLogs(context);
      await removeLogsOverQuota(context);
      const now = context.clock.monotonic();
      if (now - measured < warehousesEvery) return;
      // Garbage collection, a restore or a manual change may have altered the size. Growth during a job is measured
      // while the job runs.
      for (const { team_id } of await allWarehouses(context.store.db)) await context.measures.measure(team_id);
      measured = now;
    },
  };
}

async function countLogs(context: CountContext): Promise<void> {
  const { store } = context;
  for (;;) {
    const jobs = await jobsWithUncountedLogs(store.db, batch);
    if (jobs.length === 0) return;
    const sizes = await Promise.all(jobs.map((job) => sizeOfLogs(context, job).catch(unknownWhileAway)));
    await store.write(async (db) => {
      for (const [index, { id }] of jobs.entries()) {
        const size = sizes[index];
        if (size !== undefined) await countLog(db, id, size);
      }
    });
    // The logs at a storage that is unreachable are counted later.
    if (sizes.includes(undefined)) return;
  }
}

function unknownWhileAway(error: unknown): undefined {
  if (!(error instanceof BlobsUnavailable)) throw error;
}

/**
 * Returns the bytes of the logs of all attempts of a job. If logs are moved to a blob storage, a log counts by its
 * length. Otherwise it counts by the disk space that it occupies, which is less for a sparse file.
 */
async function sizeOfLogs(
  { engines, archive }: CountContext,
  job: { id: string; attempt: number; cluster_id: number },
): Promise<number> {
  const engine = engines.of(job.cluster_id);
  let bytes = 0;
  for (let number = 1; number <= job.attempt; number++) {
    const key = attemptKey(job.id, number);
    bytes += (await archive?.size(key)) ?? (await engine.logBytes?.(key)) ?? 0;
  }
  return bytes;
}

async function removeLogsOverQuota(context: CountContext): Promise<void> {
  const { store, quotas } = context;
  const usage = new Map((await allUsage(store.db)).map((row) => [row.team_id, row.logs]));
  for (const team of await allQuotas(store.db)) {
    const quota = diskQuota(team, "logs", quotas);
    const over = (usage.get(team.id) ?? 0) - quota;
    if (quota > 0 && over > 0) await removeOldest(context, team.id, over);
  }
}

async function removeOldest(context: CountContext, teamId: number, over: number): Promise<void> {
  const { store, clock, log } = context;
  const oldest = (await oldestLogs(store.db, teamId, batch + 1)).slice(0, -1);
  const removed: string[] = [];
  let left = over;
  for (const job of oldest) {
    if (left <= 0) break;
    if (!(await removeLogs(context, job))) continue;
    removed.push(job.id);
    left -= job.log_bytes;
  }
  if (removed.length === 0) return;
  await store.write((db) => markLogsRemoved(db, removed, iso(clock.now())));
  log.info({ team: teamId, logs: removed.length }, "removed the oldest logs of a team that was over its quota");
}
