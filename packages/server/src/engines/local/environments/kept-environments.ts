/**
 * Manages the virtualenvs that the local engine keeps. The modification time of the file `<name>.ready` is the time of
 * the last use. The file `<name>.size` contains the size on disk in bytes. Removing a virtualenv also removes the
 * team's package cache: the two share files by hard links, so disk space is freed only when both are gone.
 */
import { execFile } from "node:child_process";
import { readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { diskUsage } from "../../disk-usage.ts";
import type { EnvironmentKeeper, KeptEnvironment } from "../../engine.ts";

export interface KeptEnvironmentsOptions {
  readonly envsDir: string;
  /** Returns the path of an attempt's virtualenv; empty if the attempt has none, or none yet. */
  readonly environmentOf: (key: string) => string;
  /** Called after the removal of a virtualenv. `error` is set if the removal failed. */
  readonly onRemoved: (environment: string, error?: unknown) => void;
}

const trash = ".trash";
const mark = ".ready";

/**
 * Shell script that renames a virtualenv unless a job has used it since a given time. Its arguments are the path of the
 * virtualenv and the time in seconds since the Unix epoch. It runs under the lock that jobs hold while they build or
 * look up the virtualenv. Jobs that come after the rename build a new one.
 */
const putAway = `
[ "$(stat -c %Y "$1${mark}")" -lt "$2" ] && rm -f "$1${mark}" "$1.size" "$1.compile" && mv -T "$1" "$1${trash}"
`;

/** Runs a command under an exclusive lock. Returns false if the lock is taken or the command fails. */
const withLock = (lock: string, ...command: string[]): Promise<boolean> =>
  promisify(execFile)("flock", ["-n", lock, ...command]).then(
    () => true,
    () => false,
  );

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

export class KeptEnvironments implements EnvironmentKeeper {
  readonly #options: KeptEnvironmentsOptions;
  /**
   * Bytes on disk at the last count, by folder. `signs` are file times at that count; if they differ now, the folder
   * has changed.
   */
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

  /**
   * Returns the bytes on disk of a team's virtualenvs and package cache. Counting is slow, so it is repeated only after
   * a build or a removal.
   */
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

  /**
   * Removes a team's package cache without waiting for a running build, which could take forever. The build continues
   * without the cache.
   */
  async removeCache(team: number): Promise<void> {
    const folder = this.#folder(team);
    const away = join(folder, `cache.away${trash}`);
    // Delete what an earlier removal left behind.
    await this.#drop(away);
    const taken = await rename(join(folder, "cache"), away).then(
      () => true,
      () => false,
    );
    if (taken) await this.#drop(away);
  }

  /**
   * Returns all folders that contain virtualenvs. Besides the teams' folders, this is `envsDir` itself, which earlier
   * versions of Millrace used.
   */
  async #folders(): Promise<string[]> {
    return [this.#options.envsDir, ...(await this.teams()).map((team) => this.#folder(team))];
  }

  /** Removes a package cache unless a virtualenv is being built from it. */
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

/** Returns file times as a text. The text changes whenever a virtualenv is built or removed, or a build fails. */
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
