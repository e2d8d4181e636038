/** Processes of this machine, by what /proc says of them. */
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Supervisor } from "./attempt-folder.ts";

/** The variable by which a job's processes are known, whatever they fork and whatever session they make. */
export const keyVariable = "MILLRACE_ATTEMPT";

export const readBootId = async () => (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();

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

/** Pids are used again, so the start time must agree too; a zombie is dead. */
export function isAlive({ pid, startTime }: Supervisor): boolean {
  const stat = statOf(pid);
  return stat !== undefined && stat.startTime === startTime && !isDead(stat);
}

/** How long a process that was seen to be a stranger is not looked at again. */
const strangerMs = 1000;
/** Of /proc/PID/stat: a thread of the kernel, which has no environment. */
const kernelThread = 0x200000;

interface Found {
  readonly pids: number[];
  /** Somebody is between two programs just now and shows no environment: look again. */
  readonly unclear: boolean;
}

/** Who of all processes belongs to an attempt. */
export class Processes {
  #strangers = new Set<number>();
  #strangersSince = 0;

  /** Every process whose environment carries one of these keys. */
  of(keys: readonly string[]): Found {
    return this.#find(keys, new Set());
  }

  /**
   * The same for attempts whose scripts have ended, at a fraction of the cost: it runs after every job. A pid seen as a
   * stranger within the last second is not asked again. Numbers are given out in turn, so within a second none comes
   * round again; and only a script's first process, which is gone by now, ever was a stranger before it had the key.
   */
  left(keys: readonly string[]): Found {
    if (performance.now() - this.#strangersSince > strangerMs) {
      this.#strangers.clear();
      this.#strangersSince = performance.now();
    }
    return this.#find(keys, this.#strangers);
  }

  #find(keys: readonly string[], strangers: Set<number>): Found {
    const marks = keys.map((key) => Buffer.from(`${keyVariable}=${key}\0`));
    const pids: number[] = [];
    let unclear = false;
    for (const name of readdirSync("/proc")) {
      const pid = Number(name);
      if (!Number.isInteger(pid) || strangers.has(pid)) continue;
      const environment = environmentOf(pid);
      if (environment?.length === 0 && isChanging(pid)) unclear = true;
      else if (environment && marks.some((mark) => environment.includes(mark))) pids.push(pid);
      // A process of another job is no stranger: its own end is still to come.
      else if (!environment?.includes(keyVariable)) strangers.add(pid);
    }
    return { pids, unclear };
  }
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

export function signalAll(pids: readonly number[], signal: "SIGTERM" | "SIGKILL"): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended by itself meanwhile.
    }
  }
}
