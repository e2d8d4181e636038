/** A small file system in memory, for tests of full disks. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Returns why no file system can be mounted here, or false. Mounting needs root and a kernel that allows it. */
export function whyNoMount(): string | false {
  if (process.getuid?.() !== 0) return "needs root, to mount a small file system";
  try {
    execFileSync("unshare", ["--mount", "true"], { stdio: "ignore" });
    return false;
  } catch {
    return "this machine does not let us mount a file system";
  }
}

/** Mounts a file system of this many MiB at a new folder. Call `unmount` at the end. */
export async function mountSmallDisk(mebibytes: number): Promise<{ folder: string; unmount: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-disk-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "tmpfs", folder]);
  return {
    folder,
    async unmount() {
      execFileSync("umount", ["--lazy", folder]);
      await rmdir(folder);
    },
  };
}
