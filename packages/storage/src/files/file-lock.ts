/**
 * A lock between processes: a file that only one process can create. The lock of a dead process is broken, so nothing
 * stays locked after a crash. If two processes break the same lock at the same moment, both continue. So use the lock
 * to save work, not to protect data.
 */
import { mkdir, open, readFile, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const shortestPause = 5;
const longestPause = 200;

export async function withFileLock<T>(
  path: string,
  signal: AbortSignal | undefined,
  run: () => Promise<T>,
): Promise<T> {
  await mkdir(dirname(path), { recursive: true });
  for (let wait = shortestPause; !(await take(path)); wait = Math.min(longestPause, wait * 2)) {
    signal?.throwIfAborted();
    if (await isAbandoned(path)) await rm(path, { force: true });
    else await pause(wait * (0.5 + Math.random()));
  }
  try {
    return await run();
  } finally {
    await rm(path, { force: true });
  }
}

async function take(path: string): Promise<boolean> {
  try {
    const file = await open(path, "wx");
    await file.writeFile(`${hostname()} ${process.pid}`);
    await file.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Milliseconds after which the lock of a process on another machine expires, because this machine cannot see whether
 * that process is alive.
 */
const longestHold = 3600_000;
/**
 * Milliseconds after which a lock file without an owner name expires. Its creator most likely died before writing the
 * name.
 */
const longestNameless = 10_000;

async function isAbandoned(path: string): Promise<boolean> {
  const [host, pid] = (await readFile(path, "utf8").catch(() => "")).split(" ");
  if (host === hostname() && pid) return !isAlive(Number(pid));
  const held = await stat(path).catch(() => undefined);
  return held !== undefined && Date.now() - held.mtimeMs > (host ? longestHold : longestNameless);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
