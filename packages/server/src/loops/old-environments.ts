/** Removes virtualenvs that no job has used for a long time. Each use sets the time of the mark beside it, `<name>.ready`. */
import { execFile } from "node:child_process";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Logger } from "pino";
import { type Clock, day } from "../domain/clock.ts";
import { oldestAttempt } from "../store/attempts.ts";
import type { Store } from "../store/store.ts";

export interface EnvironmentsContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly envsDir: string;
  /** Days; 0 keeps for ever. */
  readonly envDays: number;
}

const trash = ".trash";
const mark = ".ready";

/**
 * Under the lock that jobs take to build and to use it, the time is looked at again and the folder gets another name: a
 * job that comes then builds a new one. Where the lock is held, the environment is in use. Arguments: the environment,
 * seconds since the epoch.
 */
const putAway = `
[ "$(stat -c %Y "$1${mark}")" -lt "$2" ] && rm "$1${mark}" && mv -T "$1" "$1${trash}"
`;

export async function removeOldEnvironments(context: EnvironmentsContext): Promise<void> {
  const { store, clock, envsDir, envDays } = context;
  const names = await readdir(envsDir).catch(() => []);
  for (const name of names.filter((entry) => entry.endsWith(trash))) await drop(context, name);
  if (envDays === 0) return;
  // A job that runs may be using whatever was used since it began.
  const oldest = await oldestAttempt(store.db);
  const cutoff = Math.min(clock.now() - envDays * day, oldest ? Date.parse(oldest) : Number.POSITIVE_INFINITY);
  for (const name of names.filter((entry) => entry.endsWith(mark)).map((entry) => entry.slice(0, -mark.length))) {
    const used = await stat(join(envsDir, name + mark)).catch(() => undefined);
    if (used && used.mtimeMs < cutoff) await remove(context, name, cutoff);
  }
}

async function remove(context: EnvironmentsContext, name: string, cutoff: number): Promise<void> {
  const path = join(context.envsDir, name);
  const words = ["-n", `${path}.lock`, "/bin/sh", "-c", putAway, "sh", path, String(Math.floor(cutoff / 1000))];
  const taken = await promisify(execFile)("flock", words).then(
    () => true,
    () => false,
  );
  if (taken) await drop(context, `${name}${trash}`);
}

async function drop({ envsDir, log }: EnvironmentsContext, name: string): Promise<void> {
  try {
    await rm(join(envsDir, name), { recursive: true, force: true });
    log.info({ environment: name.replace(trash, "") }, "a virtualenv that no job used was removed");
  } catch (error) {
    log.warn({ err: error, environment: name }, "an old virtualenv could not be removed; it is tried again later");
  }
}
