/** Processes of this machine, by what /proc says of them. */
import { readdirSync, readFileSync, readlinkSync, statfsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";

/** The variable by which a job's processes are known where nothing stronger holds them together. */
export const keyVariable = "MILLRACE_ATTEMPT";

export const readBootId = async () => (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();

/** Pids are used again; a pid and when it began are not, within one boot. */
export interface Identity {
  readonly pid: number;
  /** In clock ticks since boot, as in /proc. */
  readonly startTime: string;
}

interface Stat {
  readonly state: string;
  readonly flags: number;
  readonly startTime: string;
}

/** Undefined where there is no such process. Any other trouble is an error: not to be taken for an end. */
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

/** Milliseconds since a process of this boot began, whether it lives or not: counted in ticks, which nobody sets. */
export function ageOf({ startTime }: Identity): number {
  const before = (Number(startTimeOf(process.pid)) - Number(startTime)) / ticksPerSecond;
  return (before + process.uptime()) * 1000;
}

/** A zombie is dead. */
export function isAlive({ pid, startTime }: Identity): boolean {
  const stat = statOf(pid);
  return stat !== undefined && stat.startTime === startTime && !isDead(stat);
}

/** How long a process that was seen to be a stranger is not looked at again. */
const strangerMs = 1000;
/** Below this no user is a job's: configuration/parse.ts takes no smaller ones. */
const firstJobUser = 1000;
/** How long a process may take from one program to the next. */
const changingMs = 200;
/** Of /proc/PID/stat: a thread of the kernel, which has no environment. */
const kernelThread = 0x200000;

export interface Found {
  readonly pids: number[];
  /** Somebody is between two programs just now and does not show whose it is: look again. */
  readonly unclear: boolean;
}

/** Whose a process is. `foreign`: a job's, but of none of these. */
export type Belonging = "ours" | "foreign" | "stranger" | "unclear";

/** Looks through all processes for some that belong together. */
export class ProcessSearch {
  #strangers = new Set<number>();
  #strangersSince = 0;
  /** Since when a process has not shown whose it is. */
  #unclear = new Map<number, number>();

  all(belongs: (pid: number) => Belonging): Found {
    return this.#find(belongs, new Set());
  }

  /**
   * The same for attempts whose scripts have ended, at a fraction of the cost: it runs after every job. A pid seen as a
   * stranger within the last second is not asked again. Numbers are given out in turn, so within a second none comes
   * round again; and only a script's first process, which is gone by now, ever was a stranger before it was the job's.
   */
  left(belongs: (pid: number) => Belonging): Found {
    if (performance.now() - this.#strangersSince > strangerMs) {
      this.#strangers.clear();
      this.#strangersSince = performance.now();
    }
    return this.#find(belongs, this.#strangers);
  }

  #find(belongs: (pid: number) => Belonging, strangers: Set<number>): Found {
    const pids: number[] = [];
    let unclear = false;
    for (const name of readdirSync("/proc")) {
      const pid = Number(name);
      if (!Number.isInteger(pid) || strangers.has(pid)) continue;
      const whose = this.#settle(pid, belongs(pid));
      if (whose === "ours") pids.push(pid);
      else if (whose === "unclear") unclear = true;
      // A process of another job is no stranger: its own end is still to come.
      else if (whose === "stranger") strangers.add(pid);
    }
    return { pids, unclear };
  }

  /** A process is between two programs for a moment only; one that stays as it is was started like that. */
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

/** By the mark in the environment that it was started with. A process that gives its children none of it escapes this. */
export function byMark(keys: readonly string[]): (pid: number) => Belonging {
  const marks = keys.map((key) => Buffer.from(`${keyVariable}=${key}\0`));
  return (pid) => {
    const environment = environmentOf(pid);
    if (environment?.length === 0 && isChanging(pid)) return "unclear";
    if (environment && marks.some((mark) => environment.includes(mark))) return "ours";
    return environment?.includes(keyVariable) ? "foreign" : "stranger";
  };
}

/** While one program takes the place of another, a process shows no environment, though it will have one. */
function isChanging(pid: number): boolean {
  const stat = statOf(pid);
  return stat !== undefined && !isDead(stat) && (stat.flags & kernelThread) === 0;
}

/** Undefined where the process is gone or is not ours to read. */
function environmentOf(pid: number): Buffer | undefined {
  try {
    return readFileSync(`/proc/${pid}/environ`);
  } catch {
    return undefined;
  }
}

/** By the user that it runs as, which no job can change. A dead one that nobody has fetched yet is gone. */
export function byUser(users: ReadonlySet<number>): (pid: number) => Belonging {
  return (pid) => {
    const status = statusOf(pid);
    if (!status) return "stranger";
    if (users.has(status.uid)) return status.dead ? "foreign" : "ours";
    // Only root's processes and those of the machine's own accounts stay what they are.
    return status.uid < firstJobUser ? "stranger" : "foreign";
  };
}

/** From its status: the owner of its folder in /proc is root when it hides. */
export function statusOf(pid: number): { uid: number; dead: boolean } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/status`, "latin1");
    const uid = /^Uid:\t(\d+)/m.exec(text)?.[1];
    return uid === undefined ? undefined : { uid: Number(uid), dead: /^State:\t[ZX]/m.test(text) };
  } catch {
    return undefined;
  }
}

/** By the namespace of process ids that it lives in, as the kernel numbers them. */
export function byNamespace(inodes: ReadonlySet<string>): (pid: number) => Belonging {
  return (pid) => {
    const inode = namespaceOf(pid);
    return inode !== undefined && inodes.has(inode) ? "ours" : "foreign";
  };
}

/** Of a process that lives: one that is dead and not yet fetched has none any more. */
export function namespaceOf(pid: number): string | undefined {
  try {
    const stat = statOf(pid);
    if (!stat || isDead(stat)) return undefined;
    return /^pid:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/ns/pid`))?.[1];
  } catch {
    return undefined;
  }
}

/** By the folder that it works in. */
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

export function signalAll(pids: readonly number[], signal: "SIGTERM" | "SIGKILL"): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended by itself meanwhile.
    }
  }
}

const ticksPerSecond = 100;
const pageSize = 4096;

/** What these processes use together. Those that have ended are not counted any more. */
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
      // It ended meanwhile.
    }
  }
  return { cpu_seconds: ticks / ticksPerSecond, memory_bytes: pages * pageSize, processes: pids.length };
}

/** What statfs calls a file system in memory. */
const tmpfs = 0x01021994;

/** Bytes of files in the memory of the sandbox that these processes are in: they belong to no process. */
export function bytesInMemory(pids: readonly number[]): number {
  const places = ["/dev/shm", "/tmp", "/var/tmp"];
  // Some of the processes are outside, and see those of the machine.
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

/** Undefined where it is gone, or not ours to see. */
function deviceOf(path: string): number | undefined {
  try {
    return statSync(path).dev;
  } catch {
    return undefined;
  }
}
