/**
 * One control group per attempt, where the machine lets us make them: memory and processes are then limited by the
 * kernel, and what an attempt uses is read off. Version 1 of the interface has a tree per controller, version 2 one.
 */
import { createHash } from "node:crypto";
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { UsageSample } from "@millrace/contract";

export interface CgroupLimits {
  /** Bytes; 0: none. */
  readonly memory: number;
  readonly processes: number;
}

/** Of this moment. */
export type Usage = Omit<UsageSample, "at">;

const root = "/sys/fs/cgroup";

/** Where this data folder's attempts have their groups, per controller; version 2 has the same one for all. */
type Folders = Readonly<Record<"memory" | "pids" | "cpu", string>>;

export class Cgroups {
  readonly #folders: Folders;
  readonly #version: 1 | 2;

  /** Undefined where groups cannot be made: limits are then sampled. Groups of attempts that are over are removed. */
  static open(dataDir: string, isOver: (key: string) => boolean): Cgroups | undefined {
    const name = `millrace-${createHash("sha256").update(dataDir).digest("hex").slice(0, 12)}`;
    try {
      const groups = isVersion2() ? new Cgroups(2, openVersion2(name)) : new Cgroups(1, openVersion1(name));
      groups.#removeOld(isOver);
      return groups;
    } catch {
      return undefined;
    }
  }

  private constructor(version: 1 | 2, folders: Folders) {
    this.#version = version;
    this.#folders = folders;
  }

  /** Makes the groups of an attempt; what writes its pid into these files is in them, with all it starts. */
  make(key: string, { memory, processes }: CgroupLimits): string[] {
    const groups = this.#groups(key);
    for (const group of groups) mkdirSync(group, { recursive: true });
    const memoryFile = this.#version === 2 ? "memory.max" : "memory.limit_in_bytes";
    if (memory > 0) writeFileSync(join(this.#folders.memory, key, memoryFile), String(memory));
    if (memory > 0) this.#limitSwap(key, memory);
    if (processes > 0) writeFileSync(join(this.#folders.pids, key, "pids.max"), String(processes));
    return groups.map((group) => join(group, "cgroup.procs"));
  }

  /** Undefined where the attempt has no groups. */
  usage(key: string): Usage | undefined {
    try {
      return {
        cpu_seconds: this.#cpuSeconds(key),
        memory_bytes: this.#memoryBytes(key),
        processes: Number(this.#read("pids", key, "pids.current")),
      };
    } catch {
      return undefined;
    }
  }

  /** Whether nothing of the attempt lives, by the kernel's own list; undefined: it has no groups. */
  isEmpty(key: string): boolean | undefined {
    try {
      return this.#read("pids", key, "cgroup.procs") === "";
    } catch {
      return undefined;
    }
  }

  /** Whether the kernel has ended a process of this attempt for want of memory. */
  ranOutOfMemory(key: string): boolean {
    const file = this.#version === 2 ? "memory.events" : "memory.oom_control";
    try {
      return Number(/^oom_kill (\d+)/m.exec(this.#read("memory", key, file))?.[1] ?? 0) > 0;
    } catch {
      return false;
    }
  }

  remove(key: string): void {
    for (const group of this.#groups(key)) {
      try {
        rmdirSync(group);
      } catch {
        // Gone already, or a process is still dying in it: the next start removes it.
      }
    }
  }

  /** What goes to swap is memory too. A machine without such an account has no swap, or does not count it. */
  #limitSwap(key: string, memory: number): void {
    const [file, value] =
      this.#version === 2 ? ["memory.swap.max", "0"] : ["memory.memsw.limit_in_bytes", String(memory)];
    try {
      writeFileSync(join(this.#folders.memory, key, file), value);
    } catch {
      // Not counted here.
    }
  }

  #groups(key: string): string[] {
    return [...new Set(Object.values(this.#folders))].map((folder) => join(folder, key));
  }

  #read(controller: keyof Folders, key: string, file: string): string {
    return readFileSync(join(this.#folders[controller], key, file), "utf8");
  }

  #cpuSeconds(key: string): number {
    if (this.#version === 1) return Number(this.#read("cpu", key, "cpuacct.usage")) / 1e9;
    return Number(/^usage_usec (\d+)/m.exec(this.#read("cpu", key, "cpu.stat"))?.[1] ?? 0) / 1e6;
  }

  /** Without what the kernel would drop at once if it wanted the memory. */
  #memoryBytes(key: string): number {
    const used = Number(this.#read("memory", key, this.#version === 2 ? "memory.current" : "memory.usage_in_bytes"));
    const idle = /^(?:total_)?inactive_file (\d+)/m.exec(this.#read("memory", key, "memory.stat"))?.[1];
    return Math.max(0, used - Number(idle ?? 0));
  }

  #removeOld(isOver: (key: string) => boolean): void {
    for (const folder of new Set(Object.values(this.#folders))) {
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        if (entry.isDirectory() && isOver(entry.name)) this.remove(entry.name);
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
function openVersion1(name: string): Folders {
  const own = ownGroups();
  const folder = (controller: string) => {
    const path = join(root, controller, own.get(controller) ?? "/", name);
    mkdirSync(path, { recursive: true });
    accessSync(path, constants.W_OK);
    return path;
  };
  return { memory: folder("memory"), pids: folder("pids"), cpu: folder("cpuacct") };
}

/** A group that has groups with controllers below it may hold no process itself: the server moves into one of them. */
function openVersion2(name: string): Folders {
  const own = join(root, ownGroups().get("") ?? "/").replace(/\/millrace-server$/, "");
  mkdirSync(join(own, "millrace-server"), { recursive: true });
  writeFileSync(join(own, "millrace-server/cgroup.procs"), String(process.pid));
  writeFileSync(join(own, "cgroup.subtree_control"), "+memory +pids +cpu");
  const folder = join(own, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "cgroup.subtree_control"), "+memory +pids +cpu");
  return { memory: folder, pids: folder, cpu: folder };
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
