/** What folders take on disk, in bytes, whoever wrote there. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** By a program that follows no link and takes any depth; files that vanish meanwhile are no fault. */
export async function diskUsage(folders: readonly string[]): Promise<number> {
  const { stdout } = await promisify(execFile)("du", ["-s", "-x", "-c", "--block-size=1", "--", ...folders], {
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
  }).catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? "" }));
  return Number(/^(\d+)\ttotal$/m.exec(stdout)?.[1] ?? 0);
}
