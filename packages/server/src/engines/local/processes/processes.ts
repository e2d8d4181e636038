/** Finds and signals processes of this machine, using /proc. */
import { readdirSync, readFileSync, readlinkSync, statfsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { setImmediate as others } from "node:timers/promises";

/**
 * Environment variable with the attempt's key. It identifies a job's processes if the job has neither its own user id
 * nor a PID namespace.
 */
export const keyVariable = "MILLRACE_ATTEMPT";

export const readBootId = async () => (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();

/** Identifies a process within one boot. The start time is needed, because a process id can be reused. */
export interface Identity {
  readonly pid: number;
  /** Start time in clock ticks since boot, as in /proc. */
  readonly startTime: string;
}

interface Stat {
  readonly state: string;
  readonly flags: number;
  readonly startTime: string;
}

/**
 * Reads a process from /proc. Returns undefined if the process does not exist. Throws on any other error, because such
 * an error does not prove that the process has exited.
 */
function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0] ?? "", flags: Number(fields[6]), startTime: fields[19] ?? "" };
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

const isGone = (error: unknown) => ["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "");
const isDead = ({ state }: Stat) => state === "Z" || state === "X";

export const startTimeOf = (pid: number): string | undefined => statOf(pid)?.startTime;

/**
 * Returns the milliseconds since a process of this boot started, even if the process has exited. Clock changes do not
 * affect the result.
 */
export function ageOf({ startTime }: Pick<Identity, "startTime">): number {
  const before = (Number(startTimeOf(process.pid)) - Number(startTime)) / ticksPerSecond;
  return (before + process.uptime()) * 1000;
}

/** Whether a process is still running. A zombie counts as exited. */
export function isAlive({ pid, startTime }: Identity): boolean {
  const stat = statOf(pid);
  return stat !== undefined && stat.startTime === startTime && !isDead(stat);
}

/** If a process belongs to no job, it is not examined again for this many milliseconds. */
const strangerMs = 1000;
/** Smallest user id that a job can have. The setting MILLRACE_JOB_UIDS accepts no smaller id. */
const firstJobUser = 1000;
/** Maximum milliseconds that an `exec` takes. During an `exec`, a process shows no environment. */
const changingMs = 200;
/** Flag in /proc/PID/stat of a kernel thread, which has no environment. */
const kernelThread = 0x200000;

export interface Found {
  readonly pids: number[];
  /**
   * True if a process was in the middle of an `exec`, so that it is unknown to which attempt the process belongs. The
   * caller should search again.
   */
  readonly unclear: boolean;
}

/**
 * Result of examining a process. `ours`: it belongs to one of the attempts. `foreign`: it may belong to another job.
 * `stranger`: it belongs to no job. `unclear`: it is in the middle of an `exec`, so its job is not known yet.
 */
export type Belonging = "ours" | "foreign" | "stranger" | "unclear";

/** Number of processes that a search examines before other work runs: jobs decide how many processes there are. */
const slice = 256;

/** Searches all processes of the machine for those of certain attempts. */
export class ProcessSearch {
  #strangers = new Set<number>();
  #strangersSince = 0;
  /**
   * When each process was first found in the middle of an `exec`, in milliseconds of `performance.now()`, by process
   * id.
   */
  #unclear = new Map<number, number>();

  all(belongs: (pid: number) => Belonging): Promise<Found> {
    return this.#find(belongs, new Set());
  }

  /**
   * Finds processes of attempts whose main process has exited. This search runs after every job. To be fast, it skips
   * process ids that belonged to no job within the last second. The kernel does not reuse an id so soon. Only the main
   * process of an attempt can belong to no job at first and to a job later, and that process has exited.
   */
  left(belongs: (pid: number) => Belonging): Promise<Found> {
    if (performance.now() - this.#strangersSince > strangerMs) {
      this.#strangers.clear();
      this.#strangersSince = performance.now();
    }
    return this.#find(belongs, this.#strangers);
  }

  async #find(belongs: (pid: number) => Belonging, strangers: Set<number>): Promise<Found> {
    const pids: number[] = [];
    let unclear = false;
    let looked = 0;
    for (const name of readdirSync("/proc")) {
      const pid = Number(name);
      if (!Number.isInteger(pid) || strangers.has(pid)) continue;
      if (++looked % slice === 0) await others();
      const whose = this.#settle(pid, belongs(pid));
      if (whose === "ours") pids.push(pid);
      else if (whose === "unclear") unclear = true;
      // Do not remember processes of other jobs: the cleanup of those jobs must still find them.
      else if (whose === "stranger") strangers.add(pid);
    }
    return { pids, unclear };
  }

  /** Changes `unclear` to `stranger` if the process has shown no environment for longer than an `exec` takes. */
  #settle(pid: number, whose: Belonging): Belonging {
    if (whose !== "unclear") {
      this.#unclear.delete(pid);
      return whose;
    }
    const since = this.#unclear.get(pid) ?? performance.now();
    this.#unclear.set(pid, since);
    return performance.now() - since > changingMs ? "stranger" : "unclear";
  }
}

/**
 * Returns a function that recognizes processes of attempts by an environment variable that they were started with. It
 * does not recognize a process that was started without that variable.
 */
export function byMark(keys: readonly string[]): (pid: number) => Belonging {
  const marks = keys.map((key) => Buffer.from(`${keyVariable}=${key}\0`));
  return (pid) => {
    const environment = environmentOf(pid);
    if (environment?.length === 0 && isChanging(pid)) return "unclear";
    if (environment && marks.some((mark) => environment.includes(mark))) return "ours";
    return environment?.includes(keyVariable) ? "foreign" : "stranger";
  };
}

/**
 * Whether a process that shows no environment may be in the middle of an `exec`. False for exited processes and kernel
 * threads.
 */
function isChanging(pid: number): boolean {
  const stat = statOf(pid);
  return stat !== undefined && !isDead(stat) && (stat.flags & kernelThread) === 0;
}

/** Returns the environment of a process; undefined if the process has exited or its environment may not be read. */
function environmentOf(pid: number): Buffer | undefined {
  try {
    return readFileSync(`/proc/${pid}/environ`);
  } catch {
    return undefined;
  }
}

/** Returns a function that recognizes processes by their user id, which a job cannot change. Zombies are not `ours`. */
export function byUser(users: ReadonlySet<number>): (pid: number) => Belonging {
  return (pid) => {
    const status = statusOf(pid);
    if (!status) return "stranger";
    if (users.has(status.uid)) return status.dead ? "foreign" : "ours";
    // Only processes of root and of system accounts certainly belong to no job. Any other user id may be another job's.
    return status.uid < firstJobUser ? "stranger" : "foreign";
  };
}

/**
 * Reads the user id from /proc/PID/status. The owner of /proc/PID is not reliable: it is root for undumpable processes.
 */
export function statusOf(pid: number): { uid: number; dead: boolean } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/status`, "latin1");
    const uid = /^Uid:\t(\d+)/m.exec(text)?.[1];
    return uid === undefined ? undefined : { uid: Number(uid), dead: /^State:\t[ZX]/m.test(text) };
  } catch {
    return undefined;
  }
}

/** Returns a function that recognizes processes by the inode number of their PID namespace. */
export function byNamespace(inodes: ReadonlySet<string>): (pid: number) => Belonging {
  return (pid) => {
    const inode = namespaceOf(pid);
    return inode !== undefined && inodes.has(inode) ? "ours" : "foreign";
  };
}

/** Returns the inode number of a process's PID namespace; undefined if the process has exited or is a zombie. */
export function namespaceOf(pid: number): string | undefined {
  try {
    const stat = statOf(pid);
    if (!stat || isDead(stat)) return undefined;
    return /^pid:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/ns/pid`))?.[1];
  } catch {
    return undefined;
  }
}

/** Returns a function that recognizes processes by their working directory. */
export function byFolder(folders: readonly string[]): (pid: number) => Belonging {
  return (pid) => {
    const path = workingFolderOf(pid);
    return folders.some((folder) => path === folder || path?.startsWith(`${folder}/`)) ? "ours" : "foreign";
  };
}

function workingFolderOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

export function signalAll(pids: readonly number[], signal: "SIGTERM" | "SIGKILL" | "SIGSTOP" | "SIGCONT"): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // The process has exited meanwhile.
    }
  }
}

const ticksPerSecond = 100;
const pageSize = 4096;

/** Returns the total usage of these processes. It does not include processes that have exited. */
export function usageOf(pids: readonly number[]): { cpu_seconds: number; memory_bytes: number; processes: number } {
  let ticks = 0;
  let pages = 0;
  for (const pid of pids) {
    try {
      const text = readFileSync(`/proc/${pid}/stat`, "utf8");
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
      ticks += Number(fields[11]) + Number(fields[12]);
      pages += Number(fields[21]);
    } catch {
      // This process has exited meanwhile.
    }
  }
  return { cpu_seconds: ticks / ticksPerSecond, memory_bytes: pages * pageSize, processes: pids.length };
}

/** The type number that statfs returns for tmpfs. */
const tmpfs = 0x01021994;

/**
 * Returns the bytes of tmpfs files in the sandbox of these processes. The memory usage of the processes does not
 * include these bytes.
 */
export function bytesInMemory(pids: readonly number[]): number {
  const places = ["/dev/shm", "/tmp", "/var/tmp"];
  // Skip the machine's own file systems, which processes outside the sandbox see.
  const seen = new Set(places.map(deviceOf));
  let bytes = 0;
  for (const path of pids.flatMap((pid) => places.map((place) => `/proc/${pid}/root${place}`))) {
    const device = deviceOf(path);
    if (seen.has(device)) continue;
    seen.add(device);
    const { type, blocks, bfree, bsize } = statfsSync(path);
    if (type === tmpfs) bytes += (blocks - bfree) * bsize;
  }
  return bytes;
}

/** Returns the device number of a path; undefined if the path is gone or may not be accessed. */
function deviceOf(path: string): number | undefined {
  try {
    return statSync(path).dev;
  } catch {
    return undefined;
  }
}
