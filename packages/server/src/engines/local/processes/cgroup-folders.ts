/** Creates the parent folders of control groups, and removes control groups that are no longer needed. */
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = "/sys/fs/cgroup";

/**
 * Parent folder of the attempts' control groups, for each controller. In cgroup version 2, all controllers have the
 * same one.
 */
export type Folders = Readonly<Record<"pids" | "cpu", string>> & {
  /** Folder of the memory controller; absent if memory is not limited. */
  readonly memory?: string;
};

/** Removes a folder. Returns false if the folder still exists, for example because it contains processes. */
export function removeFolder(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

/**
 * Removes the control groups that no attempt uses. If `withFolder` is true, also removes their parent folders. Returns
 * the parent folders that still exist.
 */
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

/**
 * Reads the file in which servers recorded the parent folders of their control groups. Skips lines that no server can
 * have written.
 */
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

/**
 * Creates the parent folders of the jobs' control groups (cgroup version 1). They are inside the server's own control
 * groups, so that limits on the server include its jobs.
 */
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

/**
 * Creates the parent folder of the jobs' control groups (cgroup version 2). In version 2, a group that has child groups
 * may contain no process, so the server moves itself into a child group.
 */
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

/** Returns the control groups of this process by controller. The key for version 2 is "". */
function ownGroups(): Map<string, string> {
  const groups = new Map<string, string>();
  for (const line of readFileSync("/proc/self/cgroup", "utf8").trim().split("\n")) {
    const [, controllers = "", path = "/"] = line.split(":");
    for (const controller of controllers.split(",")) groups.set(controller, path);
  }
  return groups;
}
