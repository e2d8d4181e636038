/** The baseline: a bare Node loop that spawns the same supervised process, without a server around it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Claims, runs the command in its own session with its output in a log, and records the exit code. */
const supervisor = `cd "$1" && set -C && : >claim && set +C && cd work && shift && setsid "$@" >../log 2>&1; echo $? >../exit`;

let counter = 0;

export async function runSupervised(root: string, script: string, command: readonly string[]): Promise<void> {
  const folder = join(root, String(++counter));
  await mkdir(join(folder, "work"), { recursive: true });
  await writeFile(join(folder, "work/script"), script);
  const child = spawn("/bin/sh", ["-c", supervisor, "sh", folder, ...command, "./script"], {
    stdio: "ignore",
    detached: true,
  });
  await once(child, "exit");
  if ((await readFile(join(folder, "exit"), "utf8")) !== "0\n") throw new Error("the bare process failed");
}

/** Runs this many, with a number in parallel. */
export async function inFlight(count: number, width: number, run: () => Promise<unknown>): Promise<void> {
  let left = count;
  const lane = async () => {
    while (left-- > 0) await run();
  };
  await Promise.all(Array.from({ length: width }, lane));
}
