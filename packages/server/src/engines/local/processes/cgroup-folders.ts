/** Where control groups are made, and how those that nobody needs any more are removed. */
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = "/sys/fs/cgroup";

/** Where this data folder's attempts have their groups, per controller; version 2 has the same one for all. */
export type Folders = Readonly<Record<"pids" | "cpu", string>> & {
  /** Absent where memory has no limit. */
  readonly memory?: string;
};

/** False: it is there still. */
export function removeFolder(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

/** Removes groups in these folders that no attempt has, and the folders with them. Returns folders that are still there. */
export function removeUnused(folders: readonly string[], inUse: ReadonlySet<string>, withFolder = true): string[] {
  return [...new Set(folders)].filter((folder) => {
    for (const name of namesIn(folder)) if (!inUse.has(name)) removeFolder(join(folder, name));
    return !withFolder || !removeFolder(folder);
  });
}

function namesIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    return [];
  }
}

/** Only what we could have written: a folder of that name below the place where groups are made. */
export function readRecord(file: string): string[] {
  try {
    const lines = readFileSync(file, "utf8").split("\n");
    return lines.filter((line) => /^\/sys\/fs\/cgroup\/.*\/millrace-[0-9a-f]{12}$/.test(line));
  } catch {
    return [];
  }
}

export function isVersion2(): boolean {
  try {
    return readFileSync(join(root, "cgroup.controllers"), "utf8").includes("memory");
  } catch {
    return false;
  }
}

/** Below the server's own group: what holds for the server holds for its jobs together. */
export function openVersion1(name: string, withMemory: boolean): Folders {
  const own = ownGroups();
  const folder = (controller: string) => {
    const path = join(root, controller, own.get(controller) ?? "/", name);
    mkdirSync(path, { recursive: true });
    accessSync(path, constants.W_OK);
    return path;
  };
  return { pids: folder("pids"), cpu: folder("cpuacct"), ...(withMemory ? { memory: folder("memory") } : {}) };
}

/** A group that has groups with controllers below it may hold no process itself: the server moves into one of them. */
export function openVersion2(name: string, withMemory: boolean): Folders {
  const own = join(root, ownGroups().get("") ?? "/").replace(/\/millrace-server$/, "");
  mkdirSync(join(own, "millrace-server"), { recursive: true });
  writeFileSync(join(own, "millrace-server/cgroup.procs"), String(process.pid));
  writeFileSync(join(own, "cgroup.subtree_control"), "+memory +pids +cpu");
  const folder = join(own, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "cgroup.subtree_control"), "+memory +pids +cpu");
  return { pids: folder, cpu: folder, ...(withMemory ? { memory: folder } : {}) };
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
