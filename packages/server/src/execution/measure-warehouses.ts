/**
 * Measures the teams' warehouses. If a warehouse has grown since the last measurement, the growth is divided among the
 * jobs that used it in that time, and counts toward their disk limits. If the team's quota is exceeded, the job with
 * the largest share of the growth is ended.
 */
import { type DiskQuotas, diskQuota, overDatasets } from "../domain/access/quotas.ts";
import type { Engines } from "../engines/registry.ts";
import type { Store } from "../store/drivers/store.ts";
import { type OpenAttempt, openAttempts, shareGrowth } from "../store/queries/jobs/attempts.ts";
import { setDatasetBytes } from "../store/queries/people/team-usage.ts";
import { quotasOf } from "../store/queries/people/teams.ts";
import type { Warehouses } from "../warehouses/warehouses.ts";
import { attemptOf } from "./attempt-of.ts";

export interface MeasureContext {
  readonly store: Store;
  readonly engines: Engines;
  readonly warehouses: Warehouses;
  readonly serverId: string;
  readonly quotas: DiskQuotas;
}

/** Whether an attempt has reached its `datasets` phase. Before that phase, it has not written to the warehouse. */
export const worksWithWarehouse = ({ steps }: OpenAttempt) => steps?.includes('"datasets"') ?? false;

async function measureWarehouse(context: MeasureContext, teamId: number): Promise<void> {
  const { store, engines, warehouses, serverId, quotas } = context;
  const bytes = await warehouses.bytes(teamId);
  const hasGrown = await store.write(async (db) => {
    const from = await setDatasetBytes(db, teamId, bytes);
    const jobs = (await workingWith(db, serverId, teamId)).map(({ job_id }) => job_id);
    return jobs.length > 0 && (await shareGrowth(db, jobs, { from, to: bytes }));
  });
  const quota = diskQuota(await quotasOf(store.db, teamId), "datasets", quotas);
  if (!hasGrown || quota === 0 || bytes <= quota) return;
  // End the job with the largest share: the job that caused the growth has a share in all of it, other jobs only for the
  // time in which they ran.
  const most = (await workingWith(store.db, serverId, teamId)).reduce<OpenAttempt | undefined>(
    (found, one) => (found && found.store_bytes > one.store_bytes ? found : one),
    undefined,
  );
  if (most) await engines.of(most.cluster_id).end(attemptOf(most), overDatasets(quota));
}

const workingWith = async (db: Store["db"], serverId: string, teamId: number) =>
  (await openAttempts(db, serverId))
    .filter((attempt) => attempt.team_id === teamId && worksWithWarehouse(attempt))
    .sort((a, b) => (a.created_at < b.created_at ? -1 : 1));

/**
 * The pause after a measurement is this many times as long as the measurement took, so that large warehouses are
 * measured less often. The pause is at least `shortestPauseMs`.
 */
const measuringShare = 20;
const shortestPauseMs = 1000;

/** Runs the measurements of each warehouse one after another, so that an older size never overwrites a newer one. */
export class WarehouseMeasures {
  readonly #context: MeasureContext;
  readonly #underWay = new Map<number, Promise<void>>();
  readonly #next = new Map<number, number>();

  constructor(context: MeasureContext) {
    this.#context = context;
  }

  /** Measures a warehouse now. A measurement in progress is not reused, because it may have read an older size. */
  async measure(teamId: number): Promise<void> {
    const before = this.#underWay.get(teamId) ?? Promise.resolve();
    const measuring = before.catch(() => {}).then(() => this.#measure(teamId));
    this.#underWay.set(teamId, measuring);
    try {
      await measuring;
    } finally {
      if (this.#underWay.get(teamId) === measuring) this.#underWay.delete(teamId);
    }
  }

  /** Measures a warehouse if the pause after its last measurement is over. */
  async measureIfDue(teamId: number): Promise<void> {
    const isDue = performance.now() >= (this.#next.get(teamId) ?? 0);
    if (isDue && !this.#underWay.has(teamId)) await this.measure(teamId);
  }

  async #measure(teamId: number): Promise<void> {
    const begun = performance.now();
    try {
      await measureWarehouse(this.#context, teamId);
    } finally {
      const took = performance.now() - begun;
      this.#next.set(teamId, performance.now() + Math.max(shortestPauseMs, measuringShare * took));
    }
  }
}
