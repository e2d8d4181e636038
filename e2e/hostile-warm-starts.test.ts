/**
 * Jobs of the same team and of another one that try to reach, read or delay an interpreter that waits for a job. The
 * same script, run outside a sandbox, reaches it in every way: this shows that each of them really tests something.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type Client, routes } from "@millrace/contract";
import { createJob, python, readLog, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain, withReachableLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { until } from "@millrace/testing/until.ts";
import { WarmServer } from "./support/warm-server.ts";

const skip = await whyNoDatachain();
const reaching = join(import.meta.dirname, "support/reach-waiting.py");
const ways = 11;

/** Signals everything that the job can signal, again and again. It runs until it is canceled. */
const harming = [
  "import os, signal, time",
  "print('harming', flush=True)",
  "while True:",
  "    for one in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):",
  "        try:",
  "            os.kill(-1, one)",
  "        except OSError:",
  "            pass",
  "    time.sleep(0.01)",
  "",
].join("\n");

/** Starts such a job, and waits until it harms. Returns a function that ends it, and fails if it had ended before. */
async function harmer(client: Client): Promise<() => Promise<unknown>> {
  const { id } = await createJob(client, python(harming, { query_name: "harm.py" }));
  while (!(await readLog(client, id)).includes("harming")) await sleep(20);
  return async () => {
    await waitForStatus(client, id, ["RUNNING"]);
    await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
    await waitForStatus(client, id, ["CANCELED"]);
  };
}

describe("a hostile job beside a waiting interpreter", { skip }, () => {
  const victim = python("import datachain\nprint('ran')\n", { query_name: "victim.py" });
  let warm: WarmServer;
  before(async () => {
    warm = await WarmServer.start({ MILLRACE_MAX_WORKERS: "4" });
    await warm.client.call(routes.createTeam, { body: { name: "second" } });
    await warm.run(victim);
  });
  after(() => warm.dispose());

  async function reachedFrom(run: (env: Record<string, string>) => Promise<string>): Promise<string> {
    const [waiting] = await warm.waitReady("victim.py");
    assert.ok(waiting);
    const { folder, interpreter } = waiting;
    const env = { WAITING_PID: String(interpreter), WAITING_FOLDER: folder, WAITING_SCRIPT: "victim.py" };
    return /REACHED (\[.*\])/.exec(await run(env))?.[1] ?? "the script did not end";
  }

  it("could reach it in each of these ways without a sandbox", async () => {
    const reached = await reachedFrom(async (env) => {
      const { stdout } = await promisify(execFile)("python3", [reaching], { env: { ...process.env, ...env } });
      return stdout;
    });
    assert.equal(reached.split("', '").length, ways, reached);
  });

  for (const team of ["main", "second"]) {
    it(`cannot reach it from the team ${team}`, async () => {
      const script = await readFile(reaching, "utf8");
      const reached = await reachedFrom(async (env) => {
        const environment = Object.entries(env)
          .map(([name, value]) => `${name}=${value}\n`)
          .join("");
        return (await warm.run(python(script, { query_name: "reach.py", environment }), warm.clientOf(team))).log;
      });
      assert.equal(reached, "[]");
    });
  }

  it("does not get the interpreter of another team", async () => {
    await warm.waitReady("victim.py");
    const run = await warm.run(victim, warm.clientOf("second"));
    assert.deepEqual([run.job.status, run.warm], ["COMPLETE", false], run.log);
  });

  it("cannot end or delay it, even while the interpreter takes its job", async () => {
    const harmers = await Promise.all(["main", "second"].map((team) => harmer(warm.clientOf(team))));
    const job = { ...victim, query_name: "delayed.py" };
    try {
      await warm.run(job);
      for (let round = 0; round < 3; round++) {
        await warm.waitReady("delayed.py");
        const run = await warm.run(job);
        assert.deepEqual([run.job.status, run.log, run.warm], ["COMPLETE", "ran\n", true]);
      }
    } finally {
      for (const end of harmers) await end();
    }
  });
});

/** Runs in every interpreter of the environment. In one that waits, it does harm, once the script of that name is next. */
const harmful = (witness: string) => `import os, sys
name = sys.orig_argv[-1].split("/")[-1]
if os.environ.get("MILLRACE_JOB_ID") == "" and name in ("crowds.py", "fills.py", "holds.py", "locks.py"):
    if name == "holds.py":
        sys.held = [os.open("/dev/null", os.O_RDONLY) for _ in range(300)]
        open("${witness}/" + name, "w").close()
    elif name == "crowds.py":
        import time
        for _ in range(20):
            if os.fork() == 0:
                time.sleep(600)
        open("${witness}/" + name, "w").close()
    elif name == "fills.py":
        # It may be ended before it has written everything, so the witness comes first.
        open("${witness}/" + name, "w").close()
        with open("filling", "wb") as file:
            file.write(bytes(100_000_000))
    else:
        import fcntl
        held = open(os.environ["DATACHAIN_WAREHOUSE_ARG_DB_FILE"], "r+b")
        fcntl.lockf(held, fcntl.LOCK_EX)
        sys.held = held
        open("${witness}/" + name, "w").close()
`;

describe("a hostile package in a waiting interpreter", { skip }, () => {
  let warm: WarmServer;
  let witness: string;
  let library: string;
  before(async () => {
    witness = await mkdtemp("/run/millrace-witness-");
    await chmod(witness, 0o777);
    const { env, folder } = await withReachableLibrary();
    library = folder;
    const [line = ""] = await readdir(join(folder, "lib"));
    const packages = join(folder, "lib", line, "site-packages");
    await writeFile(join(packages, "harmful.py"), harmful(witness));
    await writeFile(join(packages, "harmful.pth"), "import harmful\n");
    warm = await WarmServer.start({ ...env, MILLRACE_JOB_PATHS: `${witness}:rw` });
  });
  after(async () => {
    await warm.dispose();
    for (const folder of [witness, library]) await rm(folder, { recursive: true, force: true });
  });

  for (const [name, what] of [
    ["locks.py", "cannot keep a lock of the warehouse"],
    ["holds.py", "cannot make the server look at many descriptors"],
    ["crowds.py", "cannot make the server look at many processes"],
    // The last one: afterwards no interpreter waits for this team for a while.
    ["fills.py", "cannot fill the disk"],
  ] as const) {
    it(`${what}: the interpreter is ended, and jobs go on`, async () => {
      const script = "import datachain as dc\ndc.read_values(n=[1]).save('one')\nprint('ran')\n";
      await warm.run(python(script, { query_name: name }));
      await until("the package has done its harm", async () => (await readdir(witness)).includes(name));
      await until("no interpreter waits", async () => {
        const folders = await readdir(join(warm.server.dataDir, "waiting"));
        return folders.length === 0;
      });
      const { job, log } = await warm.run(python(script, { query_name: name }));
      assert.equal(job.status, "COMPLETE", log);
    });
  }
});
