/**
 * Checks a job's environment variables against the kernel's limit. Above that limit, the job would fail with exit code
 * 126 and no message.
 */
import { readFileSync } from "node:fs";
import { environmentBytes, processLimits, variableBytes } from "@millrace/contract";

/** Bytes reserved for Millrace's own variables. */
const forOurs = 64 * 1024;
/** Bytes reserved for command line arguments, such as file names and requirements. */
const forArguments = 512 * 1024;
/**
 * Smallest value, in bytes, of the kernel's limit on arguments and variables together. That limit is a quarter of the
 * stack limit of the process.
 */
const least = 128 * 1024;
/** Largest value of the kernel's limit on arguments and variables together, in bytes. */
const most = 6 * 1024 * 1024;

/**
 * Returns how many bytes the environment variables of a job may have together. This depends on the stack limit, which
 * jobs inherit from the server.
 */
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

/**
 * Returns an error message for the job's owner if these variables are too large for a process; undefined if they fit.
 */
export function whyNotGiven(values: Readonly<Record<string, string>>, room = variablesRoom()): string | undefined {
  const sizes = Object.entries(values).map(([name, value]) => ({ name, bytes: variableBytes(name, value) }));
  const large = sizes.find(({ bytes }) => bytes > processLimits.variable);
  if (large)
    return `The job could not start: its environment variable ${large.name} has ${large.bytes} bytes (name and value), and the limit is ${processLimits.variable}. Attach long values as files.`;
  const total = environmentBytes(values);
  if (total <= room) return undefined;
  const largest = sizes.sort((a, b) => b.bytes - a.bytes).slice(0, 3);
  const names = largest.map(({ name, bytes }) => `${name} (${bytes})`).join(", ");
  return `The job could not start: its environment variables, with those of its credentials, have ${total} bytes together, and the limit is ${room}. The largest are ${names}, in bytes. Attach long values as files, or use fewer credentials.`;
}
