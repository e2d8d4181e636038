/** Watches attempts while they run: how old they are, what they use, and which limit they exceed. */
import type { IsolationLevel } from "../../engine.ts";
import { type JobLimits, overMemory } from "../../limit-words.ts";
import { appendSample, isDue } from "../../usage-file.ts";
import type { Cgroups, Usage } from "../processes/cgroups.ts";
import { ageOf, bytesInMemory, usageOf } from "../processes/processes.ts";
import { Ages } from "./ages.ts";
import type { AttemptFolder } from "./attempt-folder.ts";
import type { AttemptProcesses } from "./attempt-processes.ts";
import { DiskWatch, overLimit, overLog } from "./limits.ts";
import type { LogMarks } from "./log-marks.ts";

/** Age in milliseconds from which the resource usage of an attempt is sampled. */
const youngMs = 500;

export interface AttemptWatchOptions {
  readonly bootId: string;
  readonly level: IsolationLevel;
  readonly limits: JobLimits;
  /** Undefined if control groups are not used. */
  readonly cgroups: Cgroups | undefined;
  readonly processes: AttemptProcesses;
  readonly logs: LogMarks;
}

export class AttemptWatch {
  readonly #options: AttemptWatchOptions;
  readonly #ages = new Ages();
  readonly #disk = new DiskWatch();
  /** Time of the last usage sample in milliseconds since the Unix epoch, by attempt key. */
  readonly #sampled = new Map<string, number>();

  constructor(options: AttemptWatchOptions) {
    this.#options = options;
  }

  /**
   * Samples the usage of a running attempt if that is due, and checks its log. Returns the error message if the attempt
   * exceeds a limit; undefined otherwise. `elsewhere` is the number of bytes that the attempt has written outside its
   * folders.
   */
  async look(folder: AttemptFolder, elsewhere: number): Promise<string | undefined> {
    const begun = folder.begunAt();
    if (begun === undefined) return undefined;
    const now = begun + this.#ageOf(folder, begun);
    // Skip young attempts: most jobs end before a sample is worth its cost.
    if (now - begun < youngMs || folder.exit()) return undefined;
    const { logs, limits, cgroups } = this.#options;
    logs.check(folder);
    const used = isDue(this.#sampled.get(folder.key), begun, now) ? await this.#sample(folder, now) : undefined;
    const tooMuch = !cgroups && limits.memory > 0 && (used?.memory_bytes ?? 0) > limits.memory;
    return (
      overLimit(folder, limits, now) ??
      (tooMuch ? overMemory(limits) : undefined) ??
      (await this.#disk.over(folder, limits, elsewhere))
    );
  }

  /** Returns how long a running attempt has run, in milliseconds; undefined if it does not run. */
  age(folder: AttemptFolder): number | undefined {
    const begun = folder.begunAt();
    // No attempt of an earlier boot is still running.
    const isOver = folder.exit() !== undefined || folder.supervisor()?.bootId !== this.#options.bootId;
    return begun === undefined || isOver ? undefined : this.#ageOf(folder, begun);
  }

  #ageOf(folder: AttemptFolder, begun: number): number {
    return this.#ages.of(folder.key, () => this.#age(folder, begun));
  }

  /**
   * Returns the milliseconds since the attempt's supervisor started. If the machine was rebooted since then, uses the
   * wall clock.
   */
  #age(folder: AttemptFolder, begun: number): number {
    const supervisor = folder.supervisor();
    return supervisor?.bootId === this.#options.bootId ? ageOf({ startTime: supervisor.began }) : Date.now() - begun;
  }

  async #sample(folder: AttemptFolder, now: number): Promise<Usage> {
    const group = folder.group();
    const counted = group && this.#options.cgroups?.usage(group);
    const found = counted?.memory_bytes === undefined ? await this.#processUsage(folder) : {};
    const used = { ...found, ...counted } as Usage;
    appendSample(folder.file("usage"), { at: new Date(now).toISOString(), ...used });
    this.#sampled.set(folder.key, now);
    return used;
  }

  async #processUsage(folder: AttemptFolder): Promise<Usage> {
    const pids = await this.#options.processes.of(folder);
    const used = usageOf(pids);
    const files = this.#options.level === "bwrap" ? bytesInMemory(pids) : 0;
    return { ...used, memory_bytes: used.memory_bytes + files };
  }

  /** Returns the limit that an ended attempt has exceeded, in words for the job's owner; null if there is none. */
  whyEnded(folder: AttemptFolder, code: number): string | null {
    const { logs, limits, cgroups } = this.#options;
    const limit = folder.limit();
    logs.check(folder);
    if (limit !== "") return limit;
    const tooLong = overLog(folder, limits);
    if (tooLong !== undefined) {
      // The log may have grown far beyond its limit just before the end, so it is truncated.
      logs.forget(folder.key);
      folder.cutLog(limits.log);
      folder.write("limit", tooLong);
      return tooLong;
    }
    const group = code === 0 ? undefined : folder.group();
    return group && cgroups?.ranOutOfMemory(group) ? overMemory(limits) : null;
  }

  forget(key: string): void {
    this.#sampled.delete(key);
    this.#ages.forget(key);
    this.#disk.forget(key);
  }
}
