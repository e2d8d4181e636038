/**
 * A control group for every running attempt, where the machine lets us make them: memory and processes are then limited
 * by the kernel, and what an attempt uses is read off. Making a group costs as much as starting a process, so groups are
 * used again, and what they have counted is taken off. Version 1 of the interface has a tree per controller, version 2
 * one for all.
 */
import { createHash, randomUUID } from "node:crypto";
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { UsageSample } from "@millrace/contract";

export interface CgroupLimits {
  /** Bytes; 0: none. */
  readonly memory: number;
  readonly processes: number;
}

/** A group while an attempt has it, with what it had counted before. */
export interface Group {
  readonly name: string;
  readonly oomKills: number;
  readonly cpuSeconds: number;
}

/** Of this moment. */
export type Usage = Omit<UsageSample, "at">;

const root = "/sys/fs/cgroup";

/** Where this data folder's attempts have their groups, per controller; version 2 has the same one for all. */
type Folders = Readonly<Record<"pids" | "cpu", string>> & {
  /** Absent where memory has no limit. */
  readonly memory?: string;
};

export class Cgroups {
  readonly #folders: Folders;
  readonly #version: 1 | 2;
  readonly #limits: CgroupLimits;
  readonly #free: string[] = [];

  /**
   * Undefined where groups cannot be made, and limits are then sampled; or where there is nothing to limit: to be in a
   * group makes a process slower. Groups that nobody needs are removed.
   */
  static open(dataDir: string, limits: CgroupLimits, inUse: ReadonlySet<string>): Cgroups | undefined {
    if (limits.memory === 0 && limits.processes === 0) return undefined;
    const name = `millrace-${createHash("sha256").update(dataDir).digest("hex").slice(0, 12)}`;
    try {
      const groups = isVersion2()
        ? new Cgroups(2, openVersion2(name, limits), limits)
        : new Cgroups(1, openVersion1(name, limits), limits);
      groups.#removeOld(inUse);
      return groups;
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
    const name = this.#free.pop() ?? this.#make();
    return { name, oomKills: this.#folders.memory ? this.#oomKills(name) : 0, cpuSeconds: this.#cpuSeconds(name) };
  }

  /** What writes a 0 into these files is in the group, with all that it starts. */
  entries({ name }: Group): string[] {
    return this.#paths(name).map((path) => join(path, "cgroup.procs"));
  }

  /** Its attempt is over. One that still has something in it is removed by the next start. */
  give({ name }: Group): void {
    if (this.isEmpty({ name }) && !this.#free.includes(name)) this.#free.push(name);
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

  /** Whether the kernel has ended a process of this attempt for want of memory. */
  ranOutOfMemory({ name, oomKills }: Group): boolean {
    try {
      return this.#oomKills(name) > oomKills;
    } catch {
      return false;
    }
  }

  #oomKills(name: string): number {
    const file = this.#version === 2 ? "memory.events" : "memory.oom_control";
    return Number(/^oom_kill (\d+)/m.exec(this.#read("memory", name, file))?.[1] ?? 0);
  }

  #remove(name: string): void {
    for (const path of this.#paths(name)) {
      try {
        rmdirSync(path);
      } catch {
        // A process is still dying in it: the next start removes it.
      }
    }
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

  #removeOld(inUse: ReadonlySet<string>): void {
    for (const folder of new Set(Object.values(this.#folders))) {
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        if (entry.isDirectory() && !inUse.has(entry.name)) this.#remove(entry.name);
      }
    }
  }
}

function isVersion2(): boolean {
  try {
    return readFileSync(join(root, "cgroup.controllers"), "utf8").includes("memory");
  } catch {
    return false;
  }
}

/** Below the server's own group: what holds for the server holds for its jobs together. */
function openVersion1(name: string, { memory }: CgroupLimits): Folders {
  const own = ownGroups();
  const folder = (controller: string) => {
    const path = join(root, controller, own.get(controller) ?? "/", name);
    mkdirSync(path, { recursive: true });
    accessSync(path, constants.W_OK);
    return path;
  };
  return { pids: folder("pids"), cpu: folder("cpuacct"), ...(memory > 0 ? { memory: folder("memory") } : {}) };
}

/** A group that has groups with controllers below it may hold no process itself: the server moves into one of them. */
function openVersion2(name: string, { memory }: CgroupLimits): Folders {
  const own = join(root, ownGroups().get("") ?? "/").replace(/\/millrace-server$/, "");
  mkdirSync(join(own, "millrace-server"), { recursive: true });
  writeFileSync(join(own, "millrace-server/cgroup.procs"), String(process.pid));
  writeFileSync(join(own, "cgroup.subtree_control"), "+memory +pids +cpu");
  const folder = join(own, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "cgroup.subtree_control"), "+memory +pids +cpu");
  return { pids: folder, cpu: folder, ...(memory > 0 ? { memory: folder } : {}) };
}

/** The groups of this process by controller; version 2 has the empty name. */
function ownGroups(): Map<string, string> {
  const groups = new Map<string, string>();
  for (const line of readFileSync("/proc/self/cgroup", "utf8").trim().split("\n")) {
    const [, controllers = "", path = "/"] = line.split(":");
    for (const controller of controllers.split(",")) groups.set(controller, path);
  }
  return groups;
}
