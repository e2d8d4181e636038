/** What isolation costs: jobs at the strongest level beside a bare loop that starts the same sandbox, and beside none. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { type JobInput, routes } from "@millrace/contract";
import { python, runJob, shell } from "../e2e/support/jobs.ts";
import { TestServer } from "../e2e/support/server.ts";
import { readConfig } from "../packages/server/src/config.ts";
import { AttemptFolder } from "../packages/server/src/engines/local/attempt-folder.ts";
import { Interpreters } from "../packages/server/src/engines/local/interpreters.ts";
import type { Isolation } from "../packages/server/src/engines/local/isolation.ts";
import { openIsolation } from "../packages/server/src/engines/local/open-isolation.ts";
import { findPrograms } from "../packages/server/src/engines/local/programs.ts";
import { quote } from "../packages/server/src/engines/local/shell.ts";
import { inFlight } from "./bare.ts";
import { runMany } from "./jobs.ts";
import { compare, inTurns, type Measurement, timed } from "./measure.ts";

const slots = availableParallelism();

export async function measureIsolation(): Promise<Measurement[]> {
  const root = await mkdtemp(join(tmpdir(), "millrace-bench-"));
  await mkdir(join(root, "jobs"));
  const env = { MILLRACE_LOG_LEVEL: "warn" };
  const strong = await TestServer.start({ env });
  const weak = await TestServer.start({ env: { ...env, MILLRACE_ISOLATION: "none" } });
  const config = readConfig();
  const options = { ...config, dataDir: root, wanted: "auto" as const, users: config.jobUsers, hidden: [] };
  const { isolation } = await openIsolation(options, await findPrograms(config.jobEnvironment));
  try {
    const client = await strong.client();
    const weakClient = await weak.client();
    const [cluster] = await client.call(routes.listClusters, { query: {} });
    if (cluster?.isolation !== isolation.level) throw new Error("the two sides do not use the same sandbox");
    const { path, folders } = await new Interpreters(config.jobEnvironment["PATH"] ?? "", isolation.asJob).resolve(
      null,
    );
    for (const each of [client, weakClient]) await runJob(each, python("print(1)"));
    const rate = (on: typeof client, count: number, input: JobInput) => async () =>
      (count / (await timed(() => runMany(on, count, input)))) * 1000;
    const bare = (count: number, script: string, command: string) => async () =>
      (count /
        (await timed(() => inFlight(count, slots, () => runInside(isolation, root, script, command, folders))))) *
      1000;
    const shells = await inTurns(5, rate(client, 200, shell(":")), bare(200, ":", "/bin/sh ./script"));
    const pythons = await inTurns(
      5,
      rate(client, 80, python("print(1)")),
      bare(80, "print(1)", `${quote(path)} ./script`),
    );
    const levels = await inTurns(5, rate(weakClient, 200, shell(":")), rate(client, 200, shell(":")));
    const sides = ([ours, other]: readonly [number, number], otherIs: string) => ({
      ours,
      other,
      unit: "jobs/s",
      otherIs,
    });
    return [
      compare(`no-op SHELL jobs at ${isolation.level}`, ">= 0.7", sides(shells, "bare loop, same sandbox")),
      compare(`PYTHON print(1) jobs at ${isolation.level}`, ">= 0.7", sides(pythons, "bare loop, same sandbox")),
      compare(`no-op SHELL jobs at none`, ">= 1", sides(levels, `at ${isolation.level}`)),
    ];
  } finally {
    isolation.close();
    await strong.dispose();
    await weak.dispose();
    await rm(root, { recursive: true, force: true });
  }
}

let counter = 0;

/** Claims, runs the command inside with its output in a log, records the exit: a job without a service around it. */
async function runInside(
  isolation: Isolation,
  root: string,
  script: string,
  command: string,
  readable: readonly string[],
): Promise<void> {
  const folder = new AttemptFolder(join(root, "jobs"), `bare.${++counter}`);
  const uid = isolation.takeUser(folder);
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
