/**
 * Removes virtualenvs. Each use sets the time of the mark beside it, `<name>.ready`; `<name>.size` has its bytes on disk. The
 * cache that a team's share goes with the first of them: files of both would stay on disk for it.
 */
import { execFile } from "node:child_process";
import { readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Logger } from "pino";
import { type Clock, day } from "../domain/time/clock.ts";
import type { Store } from "../store/drivers/store.ts";
import { oldestAttempt } from "../store/queries/jobs/attempts.ts";

export interface EnvironmentsContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly envsDir: string;
  /** Days; 0 keeps for ever. */
  readonly envDays: number;
}

export interface KeptEnvironment {
  readonly path: string;
  readonly bytes: number;
  /** When a job last took it, in milliseconds since the epoch. */
  readonly used: number;
}

const trash = ".trash";
const mark = ".ready";

/**
 * Under the lock that jobs take to build and to use it, the time is looked at again and the folder gets another name: a
 * job that comes then builds a new one. Where the lock is held, the environment is in use. Arguments: the environment,
 * seconds since the epoch.
 */
const putAway = `
[ "$(stat -c %Y "$1${mark}")" -lt "$2" ] && rm -f "$1${mark}" "$1.size" "$1.compile" && mv -T "$1" "$1${trash}"
`;

/** Teams that have some. */
export const teamsWithEnvironments = async (envsDir: string): Promise<number[]> =>
  (await readdir(envsDir).catch(() => [])).filter((name) => /^\d{1,10}$/.test(name)).map(Number);

/** Of one folder. */
export async function keptEnvironments(folder: string): Promise<KeptEnvironment[]> {
  const names = (await readdir(folder).catch(() => [])).filter((entry) => entry.endsWith(mark));
  const found = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name.slice(0, -mark.length));
      const used = (await stat(path + mark).catch(() => undefined))?.mtimeMs;
      const bytes = Number(await readFile(`${path}.size`, "utf8").catch(() => "0"));
      return used === undefined ? [] : [{ path, bytes: Number.isSafeInteger(bytes) ? bytes : 0, used }];
    }),
  );
  return found.flat();
}

export async function removeOldEnvironments(context: EnvironmentsContext): Promise<void> {
  const { store, clock, envsDir, envDays } = context;
  const teams = (await teamsWithEnvironments(envsDir)).map((team) => join(envsDir, String(team)));
  // Earlier versions had all of them in one folder.
  const folders = [envsDir, ...teams];
  for (const folder of folders) await dropTrash(context, folder);
  if (envDays === 0) return;
  // A job that runs may be using whatever was used since it began.
  const oldest = await oldestAttempt(store.db);
  const cutoff = Math.min(clock.now() - envDays * day, oldest ? Date.parse(oldest) : Number.POSITIVE_INFINITY);
  for (const folder of folders)
    for (const { path, used } of await keptEnvironments(folder))
      if (used < cutoff) await removeEnvironment(context, path, cutoff);
}

/** Unless a job has taken it since this time, or is about to. Returns whether it is gone. */
export async function removeEnvironment(
  context: Pick<EnvironmentsContext, "log">,
  path: string,
  cutoff: number,
): Promise<boolean> {
  const words = ["-n", `${path}.lock`, "/bin/sh", "-c", putAway, "sh", path, String(Math.floor(cutoff / 1000))];
  const taken = await promisify(execFile)("flock", words).then(
    () => true,
    () => false,
  );
  if (!taken) return false;
  await drop(context, `${path}${trash}`);
  await removeCache(context, dirname(path));
  return true;
}

/** Unless an environment is being built from it. */
async function removeCache(context: Pick<EnvironmentsContext, "log">, folder: string): Promise<void> {
  const cache = join(folder, "cache");
  const words = ["-n", `${cache}.lock`, "mv", "-T", cache, `${cache}${trash}`];
  const taken = await promisify(execFile)("flock", words).then(
    () => true,
    () => false,
  );
  if (taken) await drop(context, `${cache}${trash}`);
}

/**
 * Also while environments are being built from it: a build may take for ever, and others wait for the room. Such a build
 * finds its cache gone, and goes on without one.
 */
export async function takeCacheAway(context: Pick<EnvironmentsContext, "log">, folder: string): Promise<void> {
  const away = join(folder, `cache.away${trash}`);
  // What an earlier look could not remove.
  await drop(context, away);
  const taken = await rename(join(folder, "cache"), away).then(
    () => true,
    () => false,
  );
  if (taken) await drop(context, away);
}

async function dropTrash(context: EnvironmentsContext, folder: string): Promise<void> {
  const names = (await readdir(folder).catch(() => [])).filter((entry) => entry.endsWith(trash));
  for (const name of names) await drop(context, join(folder, name));
}

async function drop({ log }: Pick<EnvironmentsContext, "log">, path: string): Promise<void> {
  const environment = path.slice(path.lastIndexOf("/") + 1).replace(trash, "");
  try {
    await rm(path, { recursive: true, force: true });
    log.info({ environment }, "a virtualenv was removed");
  } catch (error) {
    log.warn({ err: error, environment }, "an old virtualenv could not be removed; it is tried again later");
  }
}
