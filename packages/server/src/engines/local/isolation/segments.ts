/** Lists and removes System V IPC objects of this machine: shared memory, semaphores and message queues. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

interface Segment {
  readonly flag: string;
  readonly id: string;
  /** User ids of the object's owner and creator. */
  readonly users: readonly number[];
}

const kinds = { shm: "-m", sem: "-s", msg: "-q" };
/**
 * Maximum number of objects that one `ipcrm` command removes. A user can have more objects than fit on a command line.
 */
const atOnce = 5000;

async function segments(): Promise<Segment[]> {
  const found: Segment[] = [];
  for (const [kind, flag] of Object.entries(kinds)) {
    const [header = [], ...rows] = await table(`/proc/sysvipc/${kind}`);
    const columns = ["uid", "cuid"].map((name) => header.indexOf(name));
    for (const row of rows) {
      found.push({ flag, id: row[1] ?? "", users: columns.map((column) => Number(row[column])) });
    }
  }
  return found;
}

/** Returns the ids of users that own or created IPC objects. */
export async function segmentUsers(): Promise<Set<number>> {
  return new Set((await segments()).flatMap(({ users }) => users));
}

/**
 * Removes the IPC objects of these users. Runs a separate command as each user, which cannot remove objects of other
 * users.
 */
export async function removeSegments(
  users: readonly number[],
  ipcrm: string,
  become: (uid: number) => readonly string[],
): Promise<void> {
  const all = await segments();
  for (const user of users) {
    const own = all.filter((segment) => segment.users.includes(user));
    for (let from = 0; from < own.length; from += atOnce) {
      const named = own.slice(from, from + atOnce).flatMap(({ flag, id }) => [flag, id]);
      const [program = "", ...rest] = [...become(user), ipcrm, ...named];
      await promisify(execFile)(program, rest, { env: { PATH: "/usr/bin:/bin" } });
    }
  }
}

async function table(file: string): Promise<string[][]> {
  const text = await readFile(file, "latin1").catch((error: NodeJS.ErrnoException) => {
    // The kernel has no System V IPC.
    if (error.code === "ENOENT") return "";
    throw error;
  });
  return text
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
}
