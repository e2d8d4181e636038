/** Warm starts: a script runs in an interpreter that has waited for it, and cannot tell. */
import assert from "node:assert/strict";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { routes } from "@millrace/contract";
import { createJob, python, shell, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain, withReachableLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { serveWheel } from "@millrace/testing/programs/wheels.ts";
import { WarmServer } from "./support/warm-server.ts";

const skip = await whyNoDatachain();
const probe = await readFile(join(import.meta.dirname, "support/probe.py"), "utf8");

/** Whether a process runs. Not every machine reaps exited processes at once. */
async function isRunning(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "State:\tX");
  return !/^State:\t[ZX]/m.test(status);
}

/** What differs between any two jobs. */
const anonymous = (log: string) =>
  log
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(\.\d+)?/g, "ID")
    // Before the user ids: an address may contain the digits of one.
    .replaceAll(/0x[0-9a-f]+/g, "ADDRESS")
    .replaceAll(/61\d{3}/g, "UID")
    .replaceAll(/(DATACHAIN_STUDIO_TOKEN(", "|=))[^"]*/g, "$1TOKEN");

/** Installs a module that hangs or dies in a waiting interpreter, after it got its job. The name of the script decides. */
async function plantHarm(virtualenv: string): Promise<void> {
  const library = join(virtualenv, "lib");
  const [line = ""] = await readdir(library);
  const packages = join(library, line, "site-packages");
  const harm = [
    "import os, signal, sys",
    "listdir, write = os.listdir, os.write",
    "def list_or_hang(path='.'):",
    "    if sys.argv == ['hangs.py'] and sys._getframe(1).f_code.co_name == 'check_folder':",
    "        signal.pause()",
    "    return listdir(path)",
    "def write_or_die(file, data):",
    "    if sys.argv == ['dies.py'] and data == b'begun\\n':",
    "        os.kill(os.getpid(), signal.SIGKILL)",
    "    return write(file, data)",
    "os.listdir, os.write = list_or_hang, write_or_die",
    "",
  ].join("\n");
  await writeFile(join(packages, "harm.py"), harm);
  await writeFile(join(packages, "harm.pth"), "import harm\n");
}

describe("a warm start", { skip }, () => {
  let warm: WarmServer;
  before(async () => {
    warm = await WarmServer.start();
    // Creates the warehouse.
    await warm.run(python("import datachain as dc\ndc.read_values(n=[1]).save('one')\n", { query_name: "first.py" }));
  });
  after(() => warm.dispose());

  test("a script sees the same as after a cold start", async () => {
    const runs = await warm.coldAndWarm(python(probe, { query_name: "probe.py", environment: "GIVEN='a b'\n" }));
    assert.equal(runs.cold.job.status, "COMPLETE", runs.cold.log);
    assert.equal(runs.warm.job.status, "COMPLETE", runs.warm.log);
    assert.deepEqual([runs.cold.warm, runs.warm.warm], [false, true]);
    const [cold, hot] = [runs.cold, runs.warm].map(
      ({ log }) => JSON.parse(anonymous(log).split("PROBE ")[1] ?? "{}") as Record<string, unknown>,
    );
    assert.deepEqual(Object.keys(hot ?? {}), Object.keys(cold ?? {}));
    const differing = Object.keys(cold ?? {}).filter((name) => !isDeepStrictEqual(hot?.[name], cold?.[name]));
    const only = (seen: Record<string, unknown> = {}) =>
      Object.fromEntries(differing.map((name) => [name, seen[name]]));
    assert.deepEqual(only(hot), only(cold));
  });

  test("a script ends the same: exit code, traceback, output at its end, a signal, child processes", async () => {
    const ways = {
      exit: "import datachain, sys\nprint('out', end='')\nsys.exit(3)\n",
      traceback: "import datachain\n\ndef deeper():\n    raise ValueError('why')\n\ndeeper()\n",
      signal: "import datachain, os, signal\nprint('before')\nos.kill(os.getpid(), signal.SIGTERM)\nprint('after')\n",
      children: [
        "import datachain, multiprocessing, atexit",
        "def double(n):\n    return 2 * n",
        "if __name__ == '__main__':",
        "    atexit.register(print, 'at exit')",
        "    for way in ('fork', 'spawn', 'forkserver'):",
        "        with multiprocessing.get_context(way).Pool(1) as pool:",
        "            print(way, pool.map(double, [1, 2]))",
        "",
      ].join("\n"),
    };
    for (const [name, script] of Object.entries(ways)) {
      const { cold, warm: hot } = await warm.coldAndWarm(python(script, { query_name: `ends_${name}.py` }));
      assert.deepEqual([cold.warm, hot.warm], [false, true], name);
      const end = ({ job, log }: typeof cold) => [job.status, job.exit_code, job.error_message, anonymous(log)];
      assert.deepEqual(end(hot), end(cold), name);
    }
  });

  test("a dataset with parallel workers is made in the waiting interpreter", async () => {
    const script =
      "import datachain as dc\ndc.read_values(n=[1, 2, 3]).settings(parallel=2).map(m=lambda n: n * 2, output=int).save('doubled')\nprint(sorted(dc.read_dataset('doubled').to_values('m')))\n";
    const { cold, warm: hot } = await warm.coldAndWarm(python(script, { query_name: "parallel.py" }));
    assert.equal(cold.job.status, "COMPLETE", cold.log);
    assert.equal(hot.job.status, "COMPLETE", hot.log);
    assert.equal(hot.warm, true);
    assert.match(hot.log, /\[2, 4, 6\]/);
  });

  test("a job starts cold if it could change what the import sees", async () => {
    const script = "import datachain\nprint('seen')\n";
    const early = "import os\nos.environ['TQDM_MININTERVAL'] = '7'\nimport datachain\nprint('early')\n";
    const shadow = "import datachain, fsspec\nprint('shadow')\n";
    const name = { query_name: "other.py" };
    await warm.run(python(script, name));
    for (const [why, input] of [
      ["a variable", python(script, { ...name, environment: "TQDM_MININTERVAL=7\n" })],
      ["a variable of Python", python(script, { ...name, environment: "PYTHONHASHSEED=1\n" })],
      ["a statement", python(early, name)],
      [
        "a file",
        python(shadow, { ...name, files: [await warm.upload("fsspec.py", "raise SystemExit('own fsspec')\n")] }),
      ],
    ] as const) {
      await warm.waitReady(name.query_name);
      const run = await warm.run(input);
      assert.equal(run.warm, false, why);
      if (why === "a file") assert.match(run.log, /own fsspec/);
      else assert.equal(run.job.status, "COMPLETE", `${why}: ${run.log}`);
    }
  });

  test("an interpreter that was killed, or whose shell was killed, costs a cold start", async () => {
    const job = python("import datachain\nprint('ran')\n", { query_name: "lost.py" });
    await warm.run(job);
    for (const harm of ["interpreter", "shell"] as const) {
      for (const one of await warm.waitReady("lost.py")) process.kill(one[harm], "SIGKILL");
      const run = await warm.run(job);
      assert.deepEqual([run.job.status, run.warm, run.log.match(/ran/g)?.length], ["COMPLETE", false, 1], harm);
    }
  });

  test("an interpreter that hangs when it gets its job, or dies as the script begins, costs a cold start", async () => {
    const { env, folder } = await withReachableLibrary();
    const harmed = await WarmServer.start(env);
    try {
      await plantHarm(folder);
      for (const way of ["hangs", "dies"]) {
        const job = python("import datachain\nprint('ran')\n", { query_name: `${way}.py` });
        await harmed.run(job);
        await harmed.waitReady(`${way}.py`);
        const misses = await harmed.misses();
        const run = await harmed.run(job);
        assert.deepEqual([run.job.status, run.warm, run.log], ["COMPLETE", false, "ran\n"], way);
        assert.equal(await harmed.misses(), misses + 1, way);
      }
    } finally {
      await harmed.dispose();
      await rm(folder, { recursive: true, force: true });
    }
  });

  test("waiting interpreters give their user ids back to jobs", { skip: process.getuid?.() !== 0 }, async () => {
    // Two ids for jobs: the server keeps the last one for itself.
    const few = await WarmServer.start({ MILLRACE_JOB_UIDS: "61990-61992" });
    try {
      await few.run(python("import datachain\n", { query_name: "a.py" }));
      await few.waitReady("a.py");
      const { id } = await createJob(few.client, shell("while [ -e job.sh ]; do sleep 0.2; done"));
      await waitForStatus(few.client, id, ["RUNNING"]);
      const { job, log } = await few.run(shell("echo ran"));
      assert.deepEqual([job.status, log], ["COMPLETE", "ran\n"]);
      assert.deepEqual(await few.ready(), []);
      await few.client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
      await waitForStatus(few.client, id, ["CANCELED"]);
    } finally {
      await few.dispose();
    }
  });

  test("a job sees no process and no folder of a waiting interpreter", async () => {
    const script = [
      "import os, signal",
      "print(sorted(name for name in os.listdir('/proc') if name.isdigit()))",
      "print(os.listdir('/'.join(os.getcwd().split('/')[:-2])), os.path.exists('/'.join(os.getcwd().split('/')[:-3]) + '/waiting'))",
      "",
    ].join("\n");
    await warm.run(python("import datachain\n", { query_name: "seen.py" }));
    await warm.waitReady("seen.py");
    const { job, log } = await warm.run(python(script, { query_name: "looks.py" }));
    assert.equal(job.status, "COMPLETE", log);
    assert.match(log, /^\['1', '2'\]\n\['job'\] False$/m);
  });

  test("a killed server leaves no interpreter, and the next one has none of its folders", async () => {
    await warm.run(python("import datachain\n", { query_name: "left.py" }));
    const left = await warm.waitReady("left.py");
    await warm.server.stop("SIGKILL");
    await warm.server.start();
    for (const { interpreter, shell } of left)
      for (const pid of [interpreter, shell]) assert.equal(await isRunning(pid), false);
    assert.deepEqual(await warm.ready(), []);
    const run = await warm.run(python("import datachain\nprint('again')\n", { query_name: "left.py" }));
    assert.equal(run.job.status, "COMPLETE", run.log);
  });

  test("the first virtualenv of a team is built, although there is nothing yet that an interpreter could wait in", async () => {
    // Nothing real is small enough to be installed here: the job ends because this is not the library.
    const index = await serveWheel("datachain", { "datachain/__init__.py": "" });
    const install = { PIP_INDEX_URL: index.url, PIP_RETRIES: "0", UV_INDEX_URL: index.url };
    const fresh = await WarmServer.start({ ...install, PATH: process.env["PATH"] ?? "" });
    try {
      const { job, log } = await fresh.run(python("import datachain\n", { query_name: "raw.py" }));
      assert.match(log, /^Building virtualenv/m, job.error_message ?? "");
    } finally {
      await fresh.dispose();
      index.close();
    }
  });
});
