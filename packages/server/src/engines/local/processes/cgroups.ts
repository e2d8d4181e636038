/**
 * Gives every running attempt a control group, if the machine allows that. The kernel then limits the attempt's memory
 * and processes and counts what it uses. Creating a group costs as much as starting a process, so groups are reused.
 * The counters of a reused group do not start at 0, so their values at the start of the attempt are subtracted.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { UsageSample } from "@millrace/contract";
import type { EngineFolders } from "../engine-folders.ts";
import {
  type Folders,
  isVersion2,
  openVersion1,
  openVersion2,
  readRecord,
  removeFolder,
  removeUnused,
} from "./cgroup-folders.ts";

export interface CgroupLimits {
  /** Memory limit in bytes; 0 for no limit. */
  readonly memory: number;
  /** Maximum number of processes; 0 for no limit. */
  readonly processes: number;
}

/**
 * `root` is the data folder; its path determines the name of the parent folder of the groups. `cgroups` is the file
 * that lists such parent folders.
 */
type GroupFolders = Pick<EngineFolders, "root" | "cgroups">;

/** The control group of an attempt, with its counters at the time when the attempt got the group. */
export interface Group {
  readonly name: string;
  readonly oomKills: number;
  readonly cpuSeconds: number;
}

/** Current resource usage. */
export type Usage = Omit<UsageSample, "at">;

/**
 * How many bytes the kernel's memory counters may be off, because the kernel counts on each processor separately and
 * adds these counts up later.
 */
const forgotten = 1024 * 1024;

/** Largest number of free groups. There are more only if the machine does not reap exited processes. */
const mostFree = 128;
/** How many free groups are examined for an attempt: a machine that is slow to reap processes has many unusable ones. */
const mostLooks = 3;

export class Cgroups {
  readonly #folders: Folders;
  readonly #version: 1 | 2;
  readonly #limits: CgroupLimits;
  /** Names of groups that no attempt uses, the oldest first. */
  readonly #free: string[] = [];
  /** Names of groups that will not be reused. They are removed as soon as the kernel allows it. */
  readonly #retired = new Set<string>();
  #closed = false;

  /**
   * Opens the control groups, and removes unused groups of earlier server processes. Returns undefined if no groups can
   * be created; memory limits are then enforced by sampling. If no limit is set, creates no groups and returns
   * undefined, because a group slows its processes down.
   */
  static open(
    { root, cgroups: record }: GroupFolders,
    limits: CgroupLimits,
    inUse: ReadonlySet<string>,
  ): Cgroups | undefined {
    const before = removeUnused(readRecord(record), inUse);
    const groups = limits.memory === 0 && limits.processes === 0 ? undefined : Cgroups.#open(root, limits);
    const folders = [...new Set([...before, ...(groups ? Object.values(groups.#folders) : [])])];
    // Record the folders before the first group is created, so that the next server can remove them after a kill.
    writeFileSync(record, folders.map((folder) => `${folder}\n`).join(""), { mode: 0o600 });
    if (groups) removeUnused(Object.values(groups.#folders), inUse, false);
    return groups;
  }

  /**
   * Removes control groups that earlier server processes left, if no attempt uses them. Called if this server uses no
   * control groups itself.
   */
  static removeLeft({ cgroups: record }: GroupFolders, inUse: ReadonlySet<string>): void {
    removeUnused(readRecord(record), inUse);
  }

  static #open(root: string, limits: CgroupLimits): Cgroups | undefined {
    const name = `millrace-${createHash("sha256").update(root).digest("hex").slice(0, 12)}`;
    try {
      return isVersion2()
        ? new Cgroups(2, openVersion2(name, limits.memory > 0), limits)
        : new Cgroups(1, openVersion1(name, limits.memory > 0), limits);
    } catch {
      return undefined;
    }
  }

  private constructor(version: 1 | 2, folders: Folders, limits: CgroupLimits) {
    this.#version = version;
    this.#folders = folders;
    this.#limits = limits;
  }

  /** Returns a control group that is unused and contains no process. */
  take(): Group {
    const name = this.#reuse() ?? this.#make();
    return { name, oomKills: this.#folders.memory ? this.#oomKills(name) : 0, cpuSeconds: this.#cpuSeconds(name) };
  }

  /**
   * Takes one of the oldest free groups that can be used again; undefined if there is none. If a group still has exiting
   * processes or charged memory, both would count against the limits of the next attempt. Processes disappear soon, so
   * such a group stays free. A group that no longer exists was removed by another process with the same data folder.
   */
  #reuse(): string | undefined {
    for (let looks = Math.min(mostLooks, this.#free.length); looks > 0; looks--) {
      const name = this.#free.shift() as string;
      const isEmpty = this.isEmpty({ name });
      if (isEmpty && this.#countsProcesses(name)) this.#free.push(name);
      else if (isEmpty && !this.#holdsMemory(name)) return name;
      else this.#remove(name);
    }
    return undefined;
  }

  /**
   * Returns the `cgroup.procs` files of a group. A process that writes 0 to each of them joins the group, and so do all
   * processes that it starts from then on.
   */
  entries({ name }: Group): string[] {
    return this.#paths(name).map((path) => join(path, "cgroup.procs"));
  }

  /**
   * Releases a control group after its attempt has ended. Whether it can be used again is decided when the next attempt
   * needs one: right after the end of a sandbox, its first process is still exiting.
   */
  give({ name }: Pick<Group, "name">): void {
    for (const old of this.#retired) this.#remove(old);
    if (this.#free.includes(name)) return;
    this.#free.push(name);
    if (this.#closed) this.close();
    else if (this.#free.length > mostFree) this.#remove(this.#free.shift() as string);
  }

  /** Removes unused groups. Jobs that are still running keep theirs. */
  close(): void {
    this.#closed = true;
    for (const name of [...this.#free.splice(0), ...this.#retired]) this.#remove(name);
    for (const folder of new Set(Object.values(this.#folders))) removeFolder(folder);
  }

  #make(): string {
    const name = randomUUID();
    const { memory, processes } = this.#limits;
    for (const path of this.#paths(name)) mkdirSync(path, { recursive: true });
    const memoryFile = this.#version === 2 ? "memory.max" : "memory.limit_in_bytes";
    if (this.#folders.memory) {
      writeFileSync(join(this.#folders.memory, name, memoryFile), String(memory));
      this.#limitSwap(join(this.#folders.memory, name), memory);
    }
    if (processes > 0) writeFileSync(join(this.#folders.pids, name, "pids.max"), String(processes));
    return name;
  }

  /** Returns what the attempt has used so far; undefined if the group no longer exists. */
  usage({ name, cpuSeconds }: Group): (Omit<Usage, "memory_bytes"> & { memory_bytes?: number }) | undefined {
    try {
      return {
        cpu_seconds: Math.max(0, this.#cpuSeconds(name) - cpuSeconds),
        processes: Number(this.#read("pids", name, "pids.current")),
        ...(this.#folders.memory ? { memory_bytes: this.#memoryBytes(name) } : {}),
      };
    } catch {
      return undefined;
    }
  }

  /** Whether the group contains no processes except zombies; undefined if the group no longer exists. */
  isEmpty({ name }: Pick<Group, "name">): boolean | undefined {
    try {
      return this.#read("pids", name, "cgroup.procs") === "";
    } catch {
      return undefined;
    }
  }

  /** Returns the ids of the processes in the group. */
  pids({ name }: Pick<Group, "name">): number[] {
    try {
      return this.#read("pids", name, "cgroup.procs").split("\n").filter(Boolean).map(Number);
    } catch {
      return [];
    }
  }

  /** Whether the kernel's OOM killer has killed a process of this attempt. */
  ranOutOfMemory({ name, oomKills }: Group): boolean {
    try {
      return this.#oomKills(name) > oomKills;
    } catch {
      return false;
    }
  }

  /** Whether the group has processes, including zombies, which `cgroup.procs` does not list. */
  #countsProcesses(name: string): boolean {
    return Number(this.#read("pids", name, "pids.current")) > 0;
  }

  #oomKills(name: string): number {
    const file = this.#version === 2 ? "memory.events" : "memory.oom_control";
    return Number(/^oom_kill (\d+)/m.exec(this.#read("memory", name, file))?.[1] ?? 0);
  }

  /**
   * Whether the group holds memory that the kernel cannot reclaim, such as tmpfs files and shared memory. Caches do not
   * count.
   */
  #holdsMemory(name: string): boolean {
    if (!this.#folders.memory) return false;
    try {
      const stat = this.#read("memory", name, "memory.stat");
      const bytes = (entry: string) => Number(new RegExp(`^(?:total_)?${entry} (\\d+)`, "m").exec(stat)?.[1] ?? 0);
      const held = bytes("shmem") + bytes(this.#version === 2 ? "anon" : "rss") + bytes("unevictable");
      return held > Math.max(forgotten, this.#limits.memory / 64);
    } catch {
      return true;
    }
  }

  /** Removes a group. If a process in it is still exiting, the removal is tried again later. */
  #remove(name: string): void {
    const gone = this.#paths(name).map(removeFolder).every(Boolean);
    if (gone) this.#retired.delete(name);
    else this.#retired.add(name);
  }

  /** Prevents a job from using swap space beyond its memory limit. Does nothing on a kernel without swap accounting. */
  #limitSwap(path: string, memory: number): void {
    const [file, value] =
      this.#version === 2 ? ["memory.swap.max", "0"] : ["memory.memsw.limit_in_bytes", String(memory)];
    try {
      writeFileSync(join(path, file), value);
    } catch {
      // This kernel does not count swap.
    }
  }

  #paths(name: string): string[] {
    return [...new Set(Object.values(this.#folders))].map((folder) => join(folder, name));
  }

  #read(controller: keyof Folders, name: string, file: string): string {
    return readFileSync(join(this.#folders[controller] ?? "", name, file), "utf8");
  }

  #cpuSeconds(name: string): number {
    if (this.#version === 1) return Number(this.#read("cpu", name, "cpuacct.usage")) / 1e9;
    return Number(/^usage_usec (\d+)/m.exec(this.#read("cpu", name, "cpu.stat"))?.[1] ?? 0) / 1e6;
  }

  /** Returns the memory in use, without file caches that the kernel can drop at any time. */
  #memoryBytes(name: string): number {
    const used = Number(this.#read("memory", name, this.#version === 2 ? "memory.current" : "memory.usage_in_bytes"));
    const idle = /^(?:total_)?inactive_file (\d+)/m.exec(this.#read("memory", name, "memory.stat"))?.[1];
    return Math.max(0, used - Number(idle ?? 0));
  }
}
