/**
 * Measures the dataset stores of teams. What a store grew by is shared out among the jobs that worked with it meanwhile,
 * so that the store is no way around a job's limit of disk; over the team's quota, the job with the largest share is ended.
 */
import { type DiskQuotas, diskQuota, overDatasets } from "../domain/quotas.ts";
import { attemptKey, type Engine } from "../engines/engine.ts";
import { type OpenAttempt, openAttempts } from "../store/attempts.ts";
import type { Store } from "../store/store.ts";
import { addStoreBytes, setDatasetBytes } from "../store/team-usage.ts";
import { quotasOf } from "../store/teams.ts";
import type { TeamStores } from "../team-stores/team-stores.ts";

export interface MeasureContext {
  readonly store: Store;
  readonly engine: Engine;
  readonly teamStores: TeamStores;
  readonly serverId: string;
  readonly quotas: DiskQuotas;
}

/** One that has not come so far has not touched it. */
export const worksWithStore = ({ steps }: OpenAttempt) => steps?.includes('"datasets"') ?? false;

export async function measureStore(context: MeasureContext, teamId: number): Promise<void> {
  const { store, engine, teamStores, serverId, quotas } = context;
  const bytes = await teamStores.bytes(teamId);
  const growth = await store.write(async (db) => {
    const growth = await setDatasetBytes(db, teamId, bytes);
    if (growth <= 0) return growth;
    const jobs = (await workingWith(db, serverId, teamId)).map(({ job_id }) => job_id);
    if (jobs.length > 0) await addStoreBytes(db, jobs, Math.ceil(growth / jobs.length));
    return growth;
  });
  const quota = diskQuota(await quotasOf(store.db, teamId), "datasets", quotas);
  if (growth <= 0 || quota === 0 || bytes <= quota) return;
  // Whoever made it grow has a share of all of it; others only of what it grew by while they ran.
  const most = (await workingWith(store.db, serverId, teamId)).reduce<OpenAttempt | undefined>(
    (found, one) => (found && found.store_bytes > one.store_bytes ? found : one),
    undefined,
  );
  if (most) await engine.end(attemptKey(most.job_id, most.attempt), overDatasets(quota));
}

const workingWith = async (db: Store["db"], serverId: string, teamId: number) =>
  (await openAttempts(db, serverId))
    .filter((attempt) => attempt.team_id === teamId && worksWithStore(attempt))
    .sort((a, b) => (a.created_at < b.created_at ? -1 : 1));

/** How long it takes grows with what is counted, so the pauses between do too. */
const measuringShare = 20;
const shortestPauseMs = 1000;

/** Measures each store as often as it is cheap to. */
export class StoreMeasures {
  readonly #context: MeasureContext;
  readonly #next = new Map<number, number>();

  constructor(context: MeasureContext) {
    this.#context = context;
  }

  async take(teamId: number): Promise<void> {
    const begun = performance.now();
    if (begun < (this.#next.get(teamId) ?? 0)) return;
    this.#next.set(teamId, Number.POSITIVE_INFINITY);
    try {
      await measureStore(this.#context, teamId);
    } finally {
      const took = performance.now() - begun;
      this.#next.set(teamId, performance.now() + Math.max(shortestPauseMs, measuringShare * took));
    }
  }
}
