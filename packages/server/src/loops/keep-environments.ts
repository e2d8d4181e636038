/**
 * Keeps the environments of each team within its quota: beyond it those go that no job has used for longest, and when the
 * disk is nearly full, whosever they are. What a running job uses stays. A job that needs one again builds it again.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { type DiskQuotas, diskQuota } from "../domain/access/quotas.ts";
import { diskUsage } from "../engines/disk-usage.ts";
import { attemptKey } from "../engines/engine.ts";
import type { Disk } from "../machine/disk.ts";
import { openAttempts } from "../store/queries/jobs/attempts.ts";
import { setUsage, usageOf } from "../store/queries/people/team-usage.ts";
import { quotasOf } from "../store/queries/people/teams.ts";
import { Signal } from "../turns/signals.ts";
import type { Loop } from "./loop.ts";
import {
  type EnvironmentsContext,
  type KeptEnvironment,
  keptEnvironments,
  removeEnvironment,
  takeCacheAway,
  teamsWithEnvironments,
} from "./old-environments.ts";

export interface KeepEnvironmentsContext extends EnvironmentsContext {
  readonly disk: Disk;
  readonly quotas: DiskQuotas;
  readonly jobsDir: string;
  readonly serverId: string;
}

/** So long after it was taken, the job that took it says so in its folder. */
const settling = 60_000;
/** The same on a full disk, where nobody can wait. */
const aboutToBegin = 5000;

export function keepEnvironments(context: KeepEnvironmentsContext): Loop {
  const measure = measuring();
  return {
    name: "keep-environments",
    signal: new Signal(),
    interval: 15_000,
    async runOnce() {
      const teams = await teamsWithEnvironments(context.envsDir);
      const inUse = await usedNow(context);
      const idle: KeptEnvironment[] = [];
      for (const team of teams) idle.push(...(await keepWithinQuota(context, team, inUse, measure)));
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

/** Counting takes a while: it is done again when something was built, removed or tried. */
function measuring(): (folder: string) => Promise<number> {
  const known = new Map<string, { readonly signs: string; readonly bytes: number }>();
  return async (folder) => {
    const names = (await readdir(folder).catch(() => []))
      .filter((name) => /\.size$|^cache(\.lock)?$/.test(name))
      .sort();
    const times = await Promise.all(
      names.map((name) =>
        stat(join(folder, name)).then(
          ({ mtimeMs }) => `${name} ${mtimeMs}`,
          () => "",
        ),
      ),
    );
    const signs = times.join();
    const before = known.get(folder);
    if (before?.signs === signs) return before.bytes;
    const bytes = await diskUsage([folder]).catch(() => before?.bytes ?? 0);
    known.set(folder, { signs, bytes });
    return bytes;
  };
}

const longestUnused = (a: KeptEnvironment, b: KeptEnvironment) => a.used - b.used;

/** Returns those that stay and nobody uses. */
async function keepWithinQuota(
  context: KeepEnvironmentsContext,
  team: number,
  inUse: ReadonlySet<string>,
  measure: (folder: string) => Promise<number>,
): Promise<KeptEnvironment[]> {
  const { store, clock, envsDir, quotas } = context;
  const folder = join(envsDir, String(team));
  const kept = await keptEnvironments(folder);
  const own = await quotasOf(store.db, team);
  const quota = diskQuota(own, "environments", quotas);
  let bytes = await measure(folder);
  // One that was taken just now may be about to be used.
  const before = clock.now() - settling;
  const unused = kept.filter(({ path }) => !inUse.has(path));
  const idle = unused.filter(({ used }) => used < before).sort(longestUnused);
  while (quota > 0 && bytes > quota) {
    const oldest = idle.shift();
    if (!oldest) break;
    // What is shared with others, or with the cache, which goes too, is not told by its size.
    if (await removeUnused(context, oldest)) bytes = await diskUsage([folder]).catch(() => bytes);
  }
  // Packages of builds that failed lie there, too.
  if (quota > 0 && bytes > quota) {
    await takeCacheAway(context, folder);
    bytes = await diskUsage([folder]).catch(() => bytes);
  }
  const known = (await usageOf(store.db, team)).environments;
  if (own && bytes !== known) await store.write((db) => setUsage(db, team, "environments", bytes));
  return unused;
}

/** While the disk is below its floor, as long as there is something to give: first what only saves time. */
async function makeRoom(context: KeepEnvironmentsContext, idle: readonly KeptEnvironment[]): Promise<void> {
  for (const team of await teamsWithEnvironments(context.envsDir))
    if (await context.disk.isLow()) await takeCacheAway(context, join(context.envsDir, String(team)));
  let freed = 0;
  const before = context.clock.now() - aboutToBegin;
  for (const oldest of idle.filter(({ used }) => used < before).sort(longestUnused)) {
    if (!(await context.disk.isLow(-freed))) return;
    if (await removeUnused(context, oldest)) freed += oldest.bytes;
  }
}

/** Whoever has taken it since it was looked at keeps it. */
const removeUnused = (context: KeepEnvironmentsContext, { path, used }: KeptEnvironment) =>
  removeEnvironment(context, path, used + 1000);
