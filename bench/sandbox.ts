/**
 * The baseline for isolated jobs: a bare loop that starts processes in the same sandbox, without a server around it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../packages/server/src/configuration/config.ts";
import { limitsHere } from "../packages/server/src/configuration/groups/limits.ts";
import { AttemptFolder } from "../packages/server/src/engines/local/attempt/attempt-folder.ts";
import { Interpreters } from "../packages/server/src/engines/local/environments/interpreters.ts";
import type { Isolation } from "../packages/server/src/engines/local/isolation/isolation.ts";
import { openIsolation } from "../packages/server/src/engines/local/isolation/open-isolation.ts";
import { findPrograms } from "../packages/server/src/engines/local/isolation/programs.ts";
import { quote } from "../packages/server/src/engines/local/processes/shell.ts";
import { DataFolder } from "../packages/server/src/machine/data-folder.ts";

export interface Sandbox {
  readonly level: Isolation["level"];
  shell(script: string): Promise<void>;
  python(script: string): Promise<void>;
  close(): Promise<void>;
}

/** Uses the strongest level that works here, as a server does. */
export async function openSandbox(): Promise<Sandbox> {
  const root = await mkdtemp(join(tmpdir(), "millrace-bench-"));
  const engineFolders = new DataFolder(root).engine;
  await mkdir(engineFolders.jobs);
  const { localEngine, limits, jobEnvironment } = readConfig();
  const options = {
    folders: engineFolders,
    wanted: "auto" as const,
    users: localEngine.users,
    jobPaths: localEngine.jobPaths,
    hidden: [],
    limits: limitsHere(limits),
    jobEnvironment,
    countsMemory: true,
  };
  const { isolation } = await openIsolation(options, await findPrograms(jobEnvironment));
  const interpreters = new Interpreters(jobEnvironment["PATH"] ?? "", isolation.asJob);
  const { path, folders } = await interpreters.resolve(null);
  return {
    level: isolation.level,
    shell: (script) => runInside(isolation, root, { script, command: "/bin/sh ./script", readable: folders }),
    python: (script) => runInside(isolation, root, { script, command: `${quote(path)} ./script`, readable: folders }),
    async close() {
      isolation.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** A job that no server runs. */
interface BareJob {
  readonly script: string;
  /** The shell command that runs the script. */
  readonly command: string;
  /** Folders that the job may read. */
  readonly readable: readonly string[];
}

let counter = 0;

/**
 * Claims, runs the command inside with its output in a log, and records the exit code: a job without a server around
 * it.
 */
async function runInside(isolation: Isolation, root: string, { script, command, readable }: BareJob): Promise<void> {
  const folder = new AttemptFolder(join(root, "jobs"), `bare.${++counter}`);
  const uid = await isolation.takeUser(folder);
  folder.make();
  folder.makeInside(uid, true);
  folder.writeInput("env", "", uid);
  folder.writeScript("script", script, uid);
  const lines = isolation.enter({ folder, readable, command });
  const supervisor = `cd "$1" && set -C && : >claim && set +C && MILLRACE_VENV= && (\n${lines}\n) >log 2>&1; echo $? >exit`;
  const child = spawn("/bin/sh", ["-c", supervisor, "sh", folder.path], { stdio: "ignore", detached: true });
  await once(child, "exit");
  if ((await readFile(folder.file("exit"), "utf8")) !== "0\n") throw new Error("the bare process failed");
  await folder.remove();
  if (uid !== undefined) isolation.freeUser(uid, folder);
}
