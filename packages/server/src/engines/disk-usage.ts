/** Measures the disk space of folders in bytes, including files of other users. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const options = { env: { PATH: "/usr/bin:/bin", LC_ALL: "C" }, maxBuffer: 64 * 1024 * 1024 };
/** Timeout in milliseconds for restoring access to folders that a job has made unreadable. */
const openingTime = 20_000;

/**
 * Returns the disk space that the folders occupy, in bytes, as counted by `du`. Follows no links and ignores files that
 * disappear during the count. Throws if counting fails, because a result of 0 would mean that the folders are empty.
 */
export async function diskUsage(folders: readonly string[]): Promise<number> {
  const first = await count(folders);
  if (!first.isDenied) return first.bytes;
  // A server that is not root shares its user with the jobs, and a job may have removed the user's access to a folder.
  await openFolders(folders);
  return (await count(folders)).bytes;
}

async function count(folders: readonly string[]): Promise<{ bytes: number; isDenied: boolean }> {
  const words = ["-s", "-x", "-c", "--block-size=1", "--", ...folders];
  const { stdout, stderr } = await run("du", words, options).catch((error: Error & Partial<Said>) => {
    if (!error.stdout) throw error;
    return { stdout: error.stdout, stderr: error.stderr ?? "" };
  });
  const total = /^(\d+)\ttotal$/m.exec(stdout)?.[1];
  if (total === undefined) throw new Error("the program du ended without a result, so the disk usage is unknown");
  return { bytes: Number(total), isDenied: /Permission denied/.test(stderr) };
}

interface Said {
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Gives the server's user access to folders that it owns but that a job has made unreadable. `find` changes the
 * permissions of each folder before it enters the folder.
 */
async function openFolders(folders: readonly string[]): Promise<void> {
  const closed = ["-xdev", "-type", "d", "-user", String(process.getuid?.()), "!", "-perm", "-u=rwx"];
  const words = [...folders, ...closed, "-exec", "chmod", "u+rwx", "{}", ";"];
  await run("find", words, { ...options, timeout: openingTime }).catch(() => {});
}
