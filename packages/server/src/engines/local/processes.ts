/** Processes of this machine, by what /proc says of them. */
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Supervisor } from "./attempt-folder.ts";

/** The variable by which a job's processes are known, whatever they fork and whatever session they make. */
export const keyVariable = "MILLRACE_ATTEMPT";

export const readBootId = async () => (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();

/** Pids are used again, so the start time must agree too; a zombie is dead. */
export function isAlive({ pid, startTime }: Supervisor): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return fields[19] === startTime && fields[0] !== "Z" && fields[0] !== "X";
  } catch {
    return false;
  }
}

/** Pids of every process whose environment carries one of these keys. */
export function processesOf(keys: readonly string[]): number[] {
  const marks = keys.map((key) => Buffer.from(`${keyVariable}=${key}\0`));
  const found: number[] = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const environment = environmentOf(pid);
    if (environment && marks.some((mark) => environment.includes(mark))) found.push(pid);
  }
  return found;
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
