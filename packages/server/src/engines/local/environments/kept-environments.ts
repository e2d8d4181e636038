/**
 * Virtualenvs that the local engine keeps. Each use sets the time of the mark beside one, `<name>.ready`; `<name>.size` has
 * its bytes on disk. The cache that a team's environments share goes with the first of them: files of both would stay on disk
 * for it.
 */
import { execFile } from "node:child_process";
import { readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { diskUsage } from "../../disk-usage.ts";
import type { EnvironmentKeeper, KeptEnvironment } from "../../engine.ts";

export interface KeptEnvironmentsOptions {
  readonly envsDir: string;
  /** The environment that an attempt runs in; empty: none, or not yet. */
  readonly environmentOf: (key: string) => string;
  /** One is gone, or, with an error, could not be removed. */
  readonly onRemoved: (environment: string, error?: unknown) => void;
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

/** Runs a command while it holds a lock that nobody else holds. Returns whether it went well. */
const withLock = (lock: string, ...command: string[]): Promise<boolean> =>
  promisify(execFile)("flock", ["-n", lock, ...command]).then(
    () => true,
    () => false,
  );

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

export class KeptEnvironments implements EnvironmentKeeper {
  readonly #options: KeptEnvironmentsOptions;
  /** What each folder took when it was counted last, and what it looked like then. */
  readonly #counted = new Map<string, { readonly signs: string; readonly bytes: number }>();

  constructor(options: KeptEnvironmentsOptions) {
    this.#options = options;
  }

  #folder(team: number): string {
    return join(this.#options.envsDir, String(team));
  }

  async teams(): Promise<number[]> {
    return (await namesIn(this.#options.envsDir)).filter((name) => /^\d{1,10}$/.test(name)).map(Number);
  }

  list(team: number): Promise<KeptEnvironment[]> {
    return keptIn(this.#folder(team));
  }

  async usedBy(keys: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(keys.map((key) => this.#options.environmentOf(key)));
  }

  /** Counting takes a while: it is done again when something was built, removed or tried. */
  async bytes(team: number): Promise<number> {
    const folder = this.#folder(team);
    const signs = await signsOf(folder);
    const before = this.#counted.get(folder);
    if (before?.signs === signs) return before.bytes;
    const bytes = await diskUsage([folder]).catch(() => before?.bytes ?? 0);
    this.#counted.set(folder, { signs, bytes });
    return bytes;
  }

  async remove({ id: path }: KeptEnvironment, unusedSince: number): Promise<boolean> {
    const words = ["/bin/sh", "-c", putAway, "sh", path, String(Math.floor(unusedSince / 1000))];
    if (!(await withLock(`${path}.lock`, ...words))) return false;
    await this.#drop(`${path}${trash}`);
    await this.#removeCache(dirname(path));
    return true;
  }

  async removeUnused(since: number): Promise<void> {
    for (const folder of await this.#folders())
      for (const one of await keptIn(folder)) if (one.used < since) await this.remove(one, since);
  }

  async removeRest(): Promise<void> {
    for (const folder of await this.#folders()) {
      const names = (await namesIn(folder)).filter((entry) => entry.endsWith(trash));
      for (const name of names) await this.#drop(join(folder, name));
    }
  }

  /** Such a build finds its cache gone, and goes on without one: it may take for ever, and others wait for the room. */
  async removeCache(team: number): Promise<void> {
    const folder = this.#folder(team);
    const away = join(folder, `cache.away${trash}`);
    // What an earlier look could not remove.
    await this.#drop(away);
    const taken = await rename(join(folder, "cache"), away).then(
      () => true,
      () => false,
    );
    if (taken) await this.#drop(away);
  }

  /** Earlier versions had all of them in one folder. */
  async #folders(): Promise<string[]> {
    return [this.#options.envsDir, ...(await this.teams()).map((team) => this.#folder(team))];
  }

  /** Unless an environment is being built from it. */
  async #removeCache(folder: string): Promise<void> {
    const cache = join(folder, "cache");
    if (await withLock(`${cache}.lock`, "mv", "-T", cache, `${cache}${trash}`)) await this.#drop(`${cache}${trash}`);
  }

  async #drop(path: string): Promise<void> {
    const environment = path.slice(path.lastIndexOf("/") + 1).replace(trash, "");
    await rm(path, { recursive: true, force: true }).then(
      () => this.#options.onRemoved(environment),
      (error: unknown) => this.#options.onRemoved(environment, error),
    );
  }
}

async function keptIn(folder: string): Promise<KeptEnvironment[]> {
  const names = (await namesIn(folder)).filter((entry) => entry.endsWith(mark));
  const found = await Promise.all(
    names.map(async (name) => {
      const id = join(folder, name.slice(0, -mark.length));
      const used = (await stat(id + mark).catch(() => undefined))?.mtimeMs;
      const bytes = Number(await readFile(`${id}.size`, "utf8").catch(() => "0"));
      return used === undefined ? [] : [{ id, bytes: Number.isSafeInteger(bytes) ? bytes : 0, used }];
    }),
  );
  return found.flat();
}

/** What changes when something is built, removed or tried. */
async function signsOf(folder: string): Promise<string> {
  const names = (await namesIn(folder)).filter((name) => /\.size$|^cache(\.lock)?$/.test(name)).sort();
  const times = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        ({ mtimeMs }) => `${name} ${mtimeMs}`,
        () => "",
      ),
    ),
  );
  return times.join();
}
