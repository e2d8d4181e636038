/**
 * Keeps the environments of each team within its quota: beyond it those go that no job has used for longest, and when the
 * disk is nearly full, whosever they are. What a running job uses stays. A job that needs one again builds it again.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Disk } from "../disk.ts";
import { type DiskQuotas, diskQuota } from "../domain/quotas.ts";
import { Signal } from "../domain/signals.ts";
import { attemptKey } from "../engines/engine.ts";
import { openAttempts } from "../store/attempts.ts";
import { setUsage } from "../store/team-usage.ts";
import { quotasOf } from "../store/teams.ts";
import type { Loop } from "./loop.ts";
import {
  type EnvironmentsContext,
  type KeptEnvironment,
  keptEnvironments,
  removeEnvironment,
  teamsWithEnvironments,
} from "./old-environments.ts";

export interface KeepEnvironmentsContext extends EnvironmentsContext {
  readonly disk: Disk;
  readonly quotas: DiskQuotas;
  readonly jobsDir: string;
  readonly serverId: string;
}

const settling = 60_000;

export function keepEnvironments(context: KeepEnvironmentsContext): Loop {
  return {
    name: "keep-environments",
    signal: new Signal(),
    interval: 15_000,
    async runOnce() {
      const teams = await teamsWithEnvironments(context.envsDir);
      const inUse = await usedNow(context);
      const idle: KeptEnvironment[] = [];
      for (const team of teams) idle.push(...(await keepWithinQuota(context, team, inUse)));
      await makeRoom(context, idle);
    },
  };
}

/** Environments of running jobs, as their folders tell. */
async function usedNow({ store, serverId, jobsDir }: KeepEnvironmentsContext): Promise<Set<string>> {
  const open = await openAttempts(store.db, serverId);
  const folders = open.map(({ job_id, attempt }) => join(jobsDir, attemptKey(job_id, attempt)));
  const paths = await Promise.all(folders.map((folder) => readFile(join(folder, "venv"), "utf8").catch(() => "")));
  return new Set(paths.map((path) => path.trim()));
}

const longestUnused = (a: KeptEnvironment, b: KeptEnvironment) => a.used - b.used;

/** Returns those that stay and nobody uses. */
async function keepWithinQuota(
  context: KeepEnvironmentsContext,
  team: number,
  inUse: ReadonlySet<string>,
): Promise<KeptEnvironment[]> {
  const { store, clock, envsDir, quotas } = context;
  const kept = await keptEnvironments(join(envsDir, String(team)));
  const own = await quotasOf(store.db, team);
  const quota = diskQuota(own, "environments", quotas);
  let bytes = kept.reduce((sum, environment) => sum + environment.bytes, 0);
  // One that was taken just now may be about to be used.
  const before = clock.now() - settling;
  const idle = kept.filter(({ path, used }) => !inUse.has(path) && used < before).sort(longestUnused);
  while (quota > 0 && bytes > quota) {
    const oldest = idle.shift();
    if (!oldest) break;
    if (await removeUnused(context, oldest)) bytes -= oldest.bytes;
  }
  if (own) await store.write((db) => setUsage(db, team, "environments", bytes));
  return idle;
}

/** While the disk is below its floor, as long as there is something to give. */
async function makeRoom(context: KeepEnvironmentsContext, idle: readonly KeptEnvironment[]): Promise<void> {
  let freed = 0;
  for (const oldest of [...idle].sort(longestUnused)) {
    if (!(await context.disk.isLow(-freed))) return;
    if (await removeUnused(context, oldest)) freed += oldest.bytes;
  }
}

/** Whoever has taken it since it was looked at keeps it. */
const removeUnused = (context: KeepEnvironmentsContext, { path, used }: KeptEnvironment) =>
  removeEnvironment(context, path, used + 1000);
