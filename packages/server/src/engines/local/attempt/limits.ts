/** What an attempt may use, and how it is told that it used more. */
import { dirname, join } from "node:path";
import { diskUsage } from "../../disk-usage.ts";
import type { AttemptFolder } from "./attempt-folder.ts";

/** 0: no limit. */
export interface JobLimits {
  readonly seconds: number;
  readonly memory: number;
  readonly processes: number;
  readonly openFiles: number;
  readonly log: number;
  readonly disk: number;
}

const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
/** In the words of the setting. */
function size(bytes: number): string {
  let power = 0;
  for (; power < units.length - 1 && bytes >= 1024 ** (power + 1); power++);
  return `${Number((bytes / 1024 ** power).toFixed(1))} ${units[power]}`;
}

const over = (what: string, setting: string) =>
  `The job was ended: it went over its limit of ${what} (${setting} of the server).`;

export const overMemory = (limits: JobLimits) => over(`${size(limits.memory)} of memory`, "MILLRACE_JOB_MEMORY");

export const overDisk = ({ disk }: Pick<JobLimits, "disk">, where = "its folders") =>
  over(`${size(disk)} in ${where}`, "MILLRACE_JOB_DISK");

/** What can be told at once; the disk takes longer. */
export function overLimit(folder: AttemptFolder, limits: JobLimits, now: number): string | undefined {
  const begun = folder.begunAt() ?? now;
  if (limits.seconds > 0 && now - begun > limits.seconds * 1000) {
    return over(`${limits.seconds} seconds`, "MILLRACE_JOB_SECONDS");
  }
  return overLog(folder, limits);
}

export const overLog = (folder: AttemptFolder, limits: JobLimits): string | undefined =>
  limits.log > 0 && folder.logSize() > limits.log ? over(`${size(limits.log)} of log`, "MILLRACE_JOB_LOG") : undefined;

/** Where what an environment is built of lies first; undefined: in its own folder. */
const cacheOf = (building: ReturnType<AttemptFolder["building"]>) =>
  building?.cacheBytes === undefined ? undefined : join(dirname(building.environment), "cache");

/** How long it takes to count grows with what is counted, so the pauses between do too. */
const countingShare = 20;
const shortestPauseMs = 2000;

/** Counts what attempts have put into their folders, one after another. */
export class DiskWatch {
  readonly #next = new Map<string, number>();
  readonly #counting = new Set<string>();
  /** Those who build from each cache: what it grows by is shared out among them, since nothing tells whose it is. */
  readonly #builders = new Map<string, Set<string>>();

  /** With what the attempt has put elsewhere. Undefined: not counted this time, or not over. */
  async over(folder: AttemptFolder, limits: JobLimits, elsewhere: number): Promise<string | undefined> {
    const now = performance.now();
    if (limits.disk === 0 || this.#counting.has(folder.key) || now < (this.#next.get(folder.key) ?? 0)) return;
    this.#counting.add(folder.key);
    try {
      // Looked at once: while its files are counted, the build may end.
      const building = folder.building();
      // What cannot be counted now is counted next time.
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
