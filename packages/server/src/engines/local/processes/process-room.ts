/** Whether the kernel will hand a job's variables to a process: otherwise the job would end with exit code 126 and no reason. */
import { readFileSync } from "node:fs";
import { environmentBytes, processLimits, variableBytes } from "@millrace/contract";

/** For variables of our own, and for arguments: names of files, lines of requirements. */
const forOurs = 64 * 1024;
const forArguments = 512 * 1024;
/** What the kernel allows whatever the stack's limit is, at least and at most. */
const least = 128 * 1024;
const most = 6 * 1024 * 1024;

/** Bytes for all variables of a process, by this machine's limit of the stack, which jobs inherit. */
export function variablesRoom(limits = readLimits()): number {
  const stack = /^Max stack size\s+(\d+)/m.exec(limits)?.[1];
  const together = stack === undefined ? most : Math.min(most, Math.max(least, Math.floor(Number(stack) / 4)));
  return Math.max(least / 2, Math.min(processLimits.variables + forOurs, together - forArguments));
}

function readLimits(): string {
  try {
    return readFileSync("/proc/self/limits", "latin1");
  } catch {
    return "";
  }
}

/** Why a process cannot be given these variables, for the job's owner; undefined: it can. */
export function whyNotGiven(values: Readonly<Record<string, string>>, room = variablesRoom()): string | undefined {
  const sizes = Object.entries(values).map(([name, value]) => ({ name, bytes: variableBytes(name, value) }));
  const large = sizes.find(({ bytes }) => bytes > processLimits.variable);
  if (large)
    return `The job could not begin: its variable ${large.name} has ${large.bytes} bytes with its name, and a process can be given ${processLimits.variable}. Attach what is long as a file.`;
  const total = environmentBytes(values);
  if (total <= room) return undefined;
  const largest = sizes.sort((a, b) => b.bytes - a.bytes).slice(0, 3);
  const names = largest.map(({ name, bytes }) => `${name} (${bytes})`).join(", ");
  return `The job could not begin: its variables, with those of its credentials, have ${total} bytes together, and a process can be given ${room}. The largest are ${names}. Attach what is long as a file, or name fewer credentials.`;
}
