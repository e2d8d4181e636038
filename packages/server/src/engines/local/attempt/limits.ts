/** Checks the resource limits of an attempt. */
import { dirname, join } from "node:path";
import { diskUsage } from "../../disk-usage.ts";
import { type JobLimits, overDisk, overLogSize, overSeconds } from "../../limit-words.ts";
import type { AttemptFolder } from "./attempt-folder.ts";

/**
 * Returns the error message if the time limit or the log limit is exceeded; undefined otherwise. `DiskWatch` checks the
 * disk limit separately, because that takes longer.
 */
export function overLimit(folder: AttemptFolder, limits: JobLimits, now: number): string | undefined {
  const begun = folder.begunAt() ?? now;
  if (limits.seconds > 0 && now - begun > limits.seconds * 1000) {
    return overSeconds(limits);
  }
  return overLog(folder, limits);
}

export const overLog = (folder: AttemptFolder, limits: JobLimits): string | undefined =>
  limits.log > 0 && folder.logSize() > limits.log ? overLogSize(limits) : undefined;

/**
 * Returns the path of the package cache from which a virtualenv is built; undefined if the build does not use the
 * team's cache.
 */
const cacheOf = (building: ReturnType<AttemptFolder["building"]>) =>
  building?.cacheBytes === undefined ? undefined : join(dirname(building.environment), "cache");

/**
 * The pause after a measurement of disk usage is this many times as long as the measurement took, so that large folders
 * are measured less often.
 */
const countingShare = 20;
/** Minimum pause between two measurements of disk usage, in milliseconds. */
const shortestPauseMs = 2000;

/** Measures the disk usage of attempts. At most one measurement per attempt runs at a time. */
export class DiskWatch {
  readonly #next = new Map<string, number>();
  readonly #counting = new Set<string>();
  /**
   * Keys of the attempts that are building a virtualenv, by the package cache that they use. The growth of a cache is
   * divided equally among its attempts, because the files do not show which attempt added them.
   */
  readonly #builders = new Map<string, Set<string>>();

  /**
   * Measures the disk usage of an attempt, if a measurement is due. Returns the error message if the attempt exceeds
   * its disk limit; undefined otherwise. `elsewhere` is the number of bytes that the attempt has written outside its
   * folders.
   */
  async over(folder: AttemptFolder, limits: JobLimits, elsewhere: number): Promise<string | undefined> {
    const now = performance.now();
    if (limits.disk === 0 || this.#counting.has(folder.key) || now < (this.#next.get(folder.key) ?? 0)) return;
    this.#counting.add(folder.key);
    try {
      // Read this only once: the build may end while its files are counted.
      const building = folder.building();
      // A failed count is taken as 0; the next measurement counts again.
      const own = ["work", "tmp", "build", "own-env"].map((name) => folder.file(name));
      const used = await diskUsage(building ? [...own, building.environment] : own).catch(() => 0);
      const share = await this.#share(folder.key, building);
      const took = performance.now() - now;
      this.#next.set(folder.key, performance.now() + Math.max(shortestPauseMs, countingShare * took));
      if (used + share + elsewhere <= limits.disk) return undefined;
      return overDisk(limits, elsewhere > 0 ? "its folders and its team's warehouse" : "its folders");
    } finally {
      this.#counting.delete(folder.key);
    }
  }

  async #share(key: string, building: ReturnType<AttemptFolder["building"]>): Promise<number> {
    const cache = cacheOf(building);
    if (cache === undefined || building?.cacheBytes === undefined) {
      this.#stopBuilding(key);
      return 0;
    }
    const builders = this.#builders.get(cache) ?? new Set();
    this.#builders.set(cache, builders.add(key));
    const bytes = await diskUsage([cache]).catch(() => 0);
    return Math.max(0, bytes - building.cacheBytes) / builders.size;
  }

  forget(key: string): void {
    this.#next.delete(key);
    this.#stopBuilding(key);
  }

  #stopBuilding(key: string): void {
    for (const [cache, keys] of this.#builders) if (keys.delete(key) && keys.size === 0) this.#builders.delete(cache);
  }
}
