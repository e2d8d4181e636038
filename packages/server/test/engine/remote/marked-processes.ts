/** Processes of an attempt on the fake remote machine: all have a mark in their environment. */
import { readdirSync, readFileSync } from "node:fs";

/** The variable that marks processes of an attempt. */
export const markVariable = "FAKE_REMOTE_RUN";

const kernelThread = 0x00200000;

const read = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
};

/** Returns state, flags and start time of a process from /proc; undefined if it has ended. */
function statOf(pid: number) {
  const text = read(`/proc/${pid}/stat`);
  const [state, , , , , , flags, ...rest] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return text === "" ? undefined : { state, flags: Number(flags), startTime: rest[12] ?? "" };
}

/** Returns a name of the process that is unique until the next boot; undefined if it has ended. */
export function identityOf(pid: number): string | undefined {
  const stat = statOf(pid);
  return stat && stat.state !== "Z" ? `${pid} ${stat.startTime}` : undefined;
}

/** `isUnclear`: a process was in the middle of exec, when its environment cannot be read. */
export function markedProcesses(
  key: string,
  variable = markVariable,
): { readonly pids: number[]; readonly isUnclear: boolean } {
  const pids: number[] = [];
  let isUnclear = false;
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    const environment = read(`/proc/${name}/environ`);
    if (environment.split("\0").includes(`${variable}=${key}`)) pids.push(Number(name));
    // A process with an empty environment still has a command line.
    const isBlank = environment === "" && read(`/proc/${name}/cmdline`) === "";
    const stat = isBlank ? statOf(Number(name)) : undefined;
    if (stat && stat.state !== "Z" && (stat.flags & kernelThread) === 0) isUnclear = true;
  }
  return { pids, isUnclear };
}
