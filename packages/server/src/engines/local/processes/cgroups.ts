/**
 * A control group for every running attempt, where the machine lets us make them: memory and processes are then limited
 * by the kernel, and what an attempt uses is read off. Making a group costs as much as starting a process, so groups are
 * used again, and what they have counted is taken off. Version 1 of the interface has a tree per controller, version 2
 * one for all.
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
  /** Bytes; 0: none. */
  readonly memory: number;
  readonly processes: number;
}

/** The data folder gives the groups their name; the record lists them. */
type GroupFolders = Pick<EngineFolders, "root" | "cgroups">;

/** A group while an attempt has it, with what it had counted before. */
export interface Group {
  readonly name: string;
  readonly oomKills: number;
  readonly cpuSeconds: number;
}

/** Of this moment. */
export type Usage = Omit<UsageSample, "at">;

/** The kernel's own figures are off by so much: it counts processor by processor, and adds up later. */
const forgotten = 1024 * 1024;

export class Cgroups {
  readonly #folders: Folders;
  readonly #version: 1 | 2;
  readonly #limits: CgroupLimits;
  readonly #free: string[] = [];
  /** Not to be used again; removed as soon as the kernel lets go of them. */
  readonly #retired = new Set<string>();
  #closed = false;

  /**
   * Undefined where groups cannot be made, and limits are then sampled; or where there is nothing to limit: to be in a
   * group makes a process slower. Groups that nobody needs are removed, also where an earlier life of this server had
   * others above them.
   */
  static open(
    { root, cgroups: record }: GroupFolders,
    limits: CgroupLimits,
    inUse: ReadonlySet<string>,
  ): Cgroups | undefined {
    const before = removeUnused(readRecord(record), inUse);
    const groups = limits.memory === 0 && limits.processes === 0 ? undefined : Cgroups.#open(root, limits);
    const folders = [...new Set([...before, ...(groups ? Object.values(groups.#folders) : [])])];
    // Written down before the first group is made: whoever comes after us finds what a kill left here.
    writeFileSync(record, folders.map((folder) => `${folder}\n`).join(""), { mode: 0o600 });
    if (groups) removeUnused(Object.values(groups.#folders), inUse, false);
    return groups;
  }

  /** Where this server makes none: those of earlier ones, once their attempts are over. */
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

  /** A group that nobody has, and nothing is in. */
  take(): Group {
    const name = this.#reuse() ?? this.#make();
    return { name, oomKills: this.#folders.memory ? this.#oomKills(name) : 0, cpuSeconds: this.#cpuSeconds(name) };
  }

  /** One that is still there: whoever else looks after this data folder may have removed it. */
  #reuse(): string | undefined {
    for (let name = this.#free.pop(); name !== undefined; name = this.#free.pop()) {
      if (this.isEmpty({ name })) return name;
    }
    return undefined;
  }

  /** What writes a 0 into these files is in the group, with all that it starts. */
  entries({ name }: Group): string[] {
    return this.#paths(name).map((path) => join(path, "cgroup.procs"));
  }

  /**
   * Its attempt is over. One that a process is still dying in, or that memory is still charged to, is not used again:
   * the next to have it would be held to a limit that somebody else has used up.
   */
  give({ name }: Pick<Group, "name">): void {
    for (const old of this.#retired) this.#remove(old);
    if (this.#free.includes(name)) return;
    if (!this.#closed && this.isEmpty({ name }) && !this.#countsProcesses(name) && !this.#holdsMemory(name))
      this.#free.push(name);
    else this.#remove(name);
    if (this.#closed) this.close();
  }

  /** Removes what nobody uses; jobs that go on keep theirs. */
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

  /** Undefined where the group is gone. */
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

  /** Whether nothing in it lives, by the kernel's own list; undefined: the group is gone. */
  isEmpty({ name }: Pick<Group, "name">): boolean | undefined {
    try {
      return this.#read("pids", name, "cgroup.procs") === "";
    } catch {
      return undefined;
    }
  }

  /** What lives in it. */
  pids({ name }: Pick<Group, "name">): number[] {
    try {
      return this.#read("pids", name, "cgroup.procs").split("\n").filter(Boolean).map(Number);
    } catch {
      return [];
    }
  }

  /** Whether the kernel has ended a process of this attempt for want of memory. */
  ranOutOfMemory({ name, oomKills }: Group): boolean {
    try {
      return this.#oomKills(name) > oomKills;
    } catch {
      return false;
    }
  }

  /** Also those that have ended and that nobody has asked about yet: they are in no list. */
  #countsProcesses(name: string): boolean {
    return Number(this.#read("pids", name, "pids.current")) > 0;
  }

  #oomKills(name: string): number {
    const file = this.#version === 2 ? "memory.events" : "memory.oom_control";
    return Number(/^oom_kill (\d+)/m.exec(this.#read("memory", name, file))?.[1] ?? 0);
  }

  /** Memory that the kernel cannot take back: a file in a memory file system, a segment. Caches go when they are wanted. */
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

  /** A folder with a dying process in it stays, and is tried again. */
  #remove(name: string): void {
    const gone = this.#paths(name).map(removeFolder).every(Boolean);
    if (gone) this.#retired.delete(name);
    else this.#retired.add(name);
  }

  /** What goes to swap is memory too. A machine without such an account has no swap, or does not count it. */
  #limitSwap(path: string, memory: number): void {
    const [file, value] =
      this.#version === 2 ? ["memory.swap.max", "0"] : ["memory.memsw.limit_in_bytes", String(memory)];
    try {
      writeFileSync(join(path, file), value);
    } catch {
      // Not counted here.
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

  /** Without what the kernel would drop at once if it wanted the memory. */
  #memoryBytes(name: string): number {
    const used = Number(this.#read("memory", name, this.#version === 2 ? "memory.current" : "memory.usage_in_bytes"));
    const idle = /^(?:total_)?inactive_file (\d+)/m.exec(this.#read("memory", name, "memory.stat"))?.[1];
    return Math.max(0, used - Number(idle ?? 0));
  }
}
