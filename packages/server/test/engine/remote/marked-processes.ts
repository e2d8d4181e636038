/** Processes of an attempt on the fake remote machine: all carry a mark in their environment. */
import { readdirSync, readFileSync } from "node:fs";

/** The variable that marks them. */
export const markVariable = "FAKE_REMOTE_RUN";

const kernelThread = 0x00200000;

const read = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
};

/** State, flags and start time of a process, in the words of /proc; undefined: it is gone. */
function statOf(pid: number) {
  const text = read(`/proc/${pid}/stat`);
  const [state, , , , , , flags, ...rest] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return text === "" ? undefined : { state, flags: Number(flags), startTime: rest[12] ?? "" };
}

/** Names a process for as long as the machine is up; undefined: it is gone. */
export function identityOf(pid: number): string | undefined {
  const stat = statOf(pid);
  return stat && stat.state !== "Z" ? `${pid} ${stat.startTime}` : undefined;
}

/** `isUnclear`: one was between two programs, when nobody can read its environment. */
export function markedProcesses(key: string): { readonly pids: number[]; readonly isUnclear: boolean } {
  const pids: number[] = [];
  let isUnclear = false;
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    const environment = read(`/proc/${name}/environ`);
    if (environment.split("\0").includes(`${markVariable}=${key}`)) pids.push(Number(name));
    // One that has an empty environment of its own has words all the same.
    const isBlank = environment === "" && read(`/proc/${name}/cmdline`) === "";
    const stat = isBlank ? statOf(Number(name)) : undefined;
    if (stat && stat.state !== "Z" && (stat.flags & kernelThread) === 0) isUnclear = true;
  }
  return { pids, isUnclear };
}
