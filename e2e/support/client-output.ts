/** Parses the output of `datachain job run` and `job logs`: the statuses, and the log to the last byte. */
import assert from "node:assert/strict";
import { type JobStatus, jobStatuses, jobTransitions } from "@millrace/contract";
import type { Result } from "./datachain.ts";

const statusLine = /\n>>>> Job is now in ([A-Z_]+) status\.\n/g;
const header = /^Job (\S+) created\nOpen the job in Studio at (\S+)\n={40}\n/;
const closing =
  /\n\n(?:No dataset versions created during the job\.\n|\n>>>> Dataset versions created during the job:\n(?: {4}- .*\n)+)$/;
/** Shown until the socket is back, then overwritten with blanks. */
const reconnecting = /\r>>>> WebSocket closed, reconnecting in \d+s\.\.\.(\r +\r)?/g;

export function jobIdOf({ stdout, stderr }: { stdout: string; stderr: string }): string {
  const id = /^Job (\S+) (?:created|is scheduled as a task in Studio\.)$/m.exec(stdout)?.[1];
  assert.ok(id, `no job was created:\n${stdout}\n${stderr}`);
  return id;
}

export const statusesOf = (stdout: string) => [...stdout.matchAll(statusLine)].map(([, status]) => status as JobStatus);

/** The rest is the log itself. */
export function logOf(stdout: string): string {
  assert.match(stdout, closing, "the client says at the end which dataset versions were made");
  return stdout.replace(closing, "").replace(header, "").replaceAll(reconnecting, "").replaceAll(statusLine, "");
}

/** Each status occurs at most once, is reachable from the previous one, and the last is as given. */
export function assertStatuses(stdout: string, last: JobStatus): void {
  const shown = statusesOf(stdout);
  assert.equal(shown.at(-1), last, stdout.slice(-2000));
  assert.deepEqual([...new Set(shown)], shown, "no status is printed twice");
  for (const [index, status] of shown.entries()) {
    const before = shown[index - 1];
    if (before) assert.ok(reachable(before).has(status), `${status} cannot come after ${before}`);
  }
}

function reachable(from: JobStatus): Set<JobStatus> {
  const found = new Set<JobStatus>();
  const todo: JobStatus[] = [from];
  for (let status = todo.pop(); status; status = todo.pop()) {
    for (const next of jobTransitions[status]) {
      if (!found.has(next)) todo.push(next);
      found.add(next);
    }
  }
  return found;
}

/** Asserts that a followed job succeeded: exit code, statuses, log. */
export function assertFollowed(result: Result, last: JobStatus, log: string): void {
  assert.ok(jobStatuses.includes(last));
  assert.equal(result.code, last === "FAILED" ? 1 : last === "CANCELED" ? 2 : 0, result.stderr);
  assert.equal(result.stderr, "");
  assertStatuses(result.stdout, last);
  assert.equal(logOf(result.stdout), log);
}
