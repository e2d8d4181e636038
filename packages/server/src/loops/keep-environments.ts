/**
 * Keeps the virtualenvs of each team within its quota by deleting the least recently used ones. If the disk is nearly
 * full, also deletes virtualenvs of teams that are within their quota. Virtualenvs of running jobs are kept. If a later
 * job needs a deleted virtualenv, it builds the virtualenv again.
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

/**
 * If a job took a virtualenv less than this many milliseconds ago, the virtualenv is not deleted to meet a quota,
 * because the job may not have recorded its use yet.
 */
const settling = 60_000;
/**
 * If a job took a virtualenv less than this many milliseconds ago, the virtualenv is kept even if the disk is nearly
 * full.
 */
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

/** Enforces the quotas and the minimum of free disk space for the virtualenvs of one engine. */
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

/**
 * Deletes virtualenvs of a team until the team is within its quota. Returns the team's virtualenvs that no running job
 * uses.
 */
async function keepWithinQuota(
  { store, clock, quotas }: KeepEnvironmentsContext,
  keeper: EnvironmentKeeper,
  team: number,
  inUse: ReadonlySet<string>,
): Promise<KeptEnvironment[]> {
  const own = await quotasOf(store.db, team);
  const quota = diskQuota(own, "environments", quotas);
  let bytes = await keeper.bytes(team);
  // A job may be about to use a virtualenv that was taken just now.
  const before = clock.now() - settling;
  const unused = (await keeper.list(team)).filter(({ id }) => !inUse.has(id));
  const idle = unused.filter(({ used }) => used < before).sort(longestUnused);
  while (quota > 0 && bytes > quota) {
    const oldest = idle.shift();
    if (!oldest) break;
    // The size of the deleted virtualenv does not tell how much space was freed, because other virtualenvs or the cache
    // may share some of its files.
    if (await removeUnused(keeper, oldest)) bytes = await keeper.bytes(team);
  }
  // The cache may hold packages of failed builds.
  if (quota > 0 && bytes > quota) {
    await keeper.removeCache(team);
    bytes = await keeper.bytes(team);
  }
  const known = (await usageOf(store.db, team)).environments;
  if (own && bytes !== known) await store.write((db) => setUsage(db, team, "environments", bytes));
  return unused;
}

/** Deletes first package caches and then unused virtualenvs, until the disk has its minimum of free space. */
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

/** Deletes a virtualenv, unless a job has taken it since the list was read. */
const removeUnused = (keeper: EnvironmentKeeper, environment: KeptEnvironment) =>
  keeper.remove(environment, environment.used + 1000);
