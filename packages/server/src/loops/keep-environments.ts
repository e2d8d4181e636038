/**
 * Keeps the environments of each team within its quota: beyond it those go that no job has used for longest, and when the
 * disk is nearly full, whosever they are. What a running job uses stays. A job that needs one again builds it again.
 */
import { type DiskQuotas, diskQuota } from "../domain/access/quotas.ts";
import { attemptKey, type EnvironmentKeeper, type KeptEnvironment } from "../engines/engine.ts";
import type { Disk } from "../machine/disk.ts";
import { openAttempts } from "../store/queries/jobs/attempts.ts";
import { setUsage, usageOf } from "../store/queries/people/team-usage.ts";
import { quotasOf } from "../store/queries/people/teams.ts";
import { Signal } from "../turns/signals.ts";
import type { Loop } from "./loop.ts";
import type { EnvironmentsContext } from "./old-environments.ts";

export interface KeepEnvironmentsContext extends Omit<EnvironmentsContext, "envDays"> {
  readonly disk: Disk;
  readonly quotas: DiskQuotas;
  readonly serverId: string;
}

/** So long after it was taken, the job that took it says so in its folder. */
const settling = 60_000;
/** The same on a full disk, where nobody can wait. */
const aboutToBegin = 5000;

export function keepEnvironments(context: KeepEnvironmentsContext): Loop {
  return {
    name: "keep-environments",
    signal: new Signal(),
    interval: 15_000,
    async runOnce() {
      for (const { environments } of context.engines.all()) if (environments) await keepAll(context, environments);
    },
  };
}

/** Those that one engine keeps. */
async function keepAll(context: KeepEnvironmentsContext, keeper: EnvironmentKeeper): Promise<void> {
  const { store, serverId } = context;
  const teams = await keeper.teams();
  const open = await openAttempts(store.db, serverId);
  const inUse = await keeper.usedBy(open.map(({ job_id, attempt }) => attemptKey(job_id, attempt)));
  const idle: KeptEnvironment[] = [];
  for (const team of teams) idle.push(...(await keepWithinQuota(context, keeper, team, inUse)));
  await makeRoom(context, keeper, idle);
}

const longestUnused = (a: KeptEnvironment, b: KeptEnvironment) => a.used - b.used;

/** Returns those that stay and nobody uses. */
async function keepWithinQuota(
  { store, clock, quotas }: KeepEnvironmentsContext,
  keeper: EnvironmentKeeper,
  team: number,
  inUse: ReadonlySet<string>,
): Promise<KeptEnvironment[]> {
  const own = await quotasOf(store.db, team);
  const quota = diskQuota(own, "environments", quotas);
  let bytes = await keeper.bytes(team);
  // One that was taken just now may be about to be used.
  const before = clock.now() - settling;
  const unused = (await keeper.list(team)).filter(({ id }) => !inUse.has(id));
  const idle = unused.filter(({ used }) => used < before).sort(longestUnused);
  while (quota > 0 && bytes > quota) {
    const oldest = idle.shift();
    if (!oldest) break;
    // What is shared with others, or with the cache, which goes too, is not told by its size.
    if (await removeUnused(keeper, oldest)) bytes = await keeper.bytes(team);
  }
  // Packages of builds that failed lie there, too.
  if (quota > 0 && bytes > quota) {
    await keeper.removeCache(team);
    bytes = await keeper.bytes(team);
  }
  const known = (await usageOf(store.db, team)).environments;
  if (own && bytes !== known) await store.write((db) => setUsage(db, team, "environments", bytes));
  return unused;
}

/** While the disk is below its floor, as long as there is something to give: first what only saves time. */
async function makeRoom(
  { clock, disk }: KeepEnvironmentsContext,
  keeper: EnvironmentKeeper,
  idle: readonly KeptEnvironment[],
): Promise<void> {
  for (const team of await keeper.teams()) if (await disk.isLow()) await keeper.removeCache(team);
  let freed = 0;
  const before = clock.now() - aboutToBegin;
  for (const oldest of idle.filter(({ used }) => used < before).sort(longestUnused)) {
    if (!(await disk.isLow(-freed))) return;
    if (await removeUnused(keeper, oldest)) freed += oldest.bytes;
  }
}

/** Whoever has taken it since it was looked at keeps it. */
const removeUnused = (keeper: EnvironmentKeeper, environment: KeptEnvironment) =>
  keeper.remove(environment, environment.used + 1000);
