/** What a runner measures and which limits it enforces, and its virtualenvs, which later jobs use. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { JobSpec } from "../../../src/engines/engine.ts";
import type { RunnerEngine } from "../../../src/engines/runners/runner-engine.ts";
import { attemptNamed } from "../../support/attempts.ts";
import { until } from "../../support/until.ts";
import { serveWheel } from "../../support/wheels.ts";
import { markedProcesses } from "../remote/marked-processes.ts";
import { type RunnerGround, runnerGround, untilState } from "./runner-ground.ts";

const mebibyte = 1024 * 1024;
const none = { seconds: 0, memory: 0, processes: 0, openFiles: 0, log: 0, disk: 0 };

describe("the limits of a runner", () => {
  let ground: RunnerGround;
  before(async () => {
    ground = await runnerGround();
  });
  after(() => ground.stop());

  async function endOf(limits: Partial<typeof none>, query: string, rest: Partial<JobSpec> = {}) {
    const engine = await ground.open({ limits: { ...none, ...limits } });
    const job = ground.spec(query, rest);
    await engine.submit(job);
    const watching = setInterval(() => void engine.watch(job.key), 200);
    const { exit, overLimit } = await untilState(engine, job.key, "EXITED");
    clearInterval(watching);
    assert.deepEqual(markedProcesses(job.key, "MILLRACE_ATTEMPT").pids, []);
    return { code: exit.code, overLimit };
  }
  const over = (what: string) => ({
    code: 137,
    overLimit: `The job was ended because it exceeded its limit of ${what}).`,
  });

  it("end a job that uses too much memory", async () => {
    const query = "import time\nkept = bytearray(200 * 1024 * 1024)\ntime.sleep(1000)";
    const limits = { memory: 100 * mebibyte };
    assert.deepEqual(
      await endOf(limits, query, { queryType: "PYTHON", name: "job.py" }),
      over("100 MiB of memory (server setting MILLRACE_JOB_MEMORY"),
    );
  });

  it("end a job that has too many processes, also ones that have detached themselves", async () => {
    const query = "for i in 1 2 3 4 5 6 7 8; do setsid sleep 1000 & done; sleep 1000";
    assert.deepEqual(await endOf({ processes: 5 }, query), over("5 processes (server setting MILLRACE_JOB_PROCESSES"));
  });

  it("end a job that fills the disk, or its log, or runs too long", async () => {
    const disk = "head -c 30000000 /dev/zero > file; sleep 1000";
    assert.deepEqual(
      await endOf({ disk: 10 * mebibyte }, disk),
      over("10 MiB in its folders (server setting MILLRACE_JOB_DISK"),
    );
    assert.deepEqual(
      await endOf({ log: mebibyte }, "head -c 3000000 /dev/zero; sleep 1000"),
      over("1 MiB of log (server setting MILLRACE_JOB_LOG"),
    );
    assert.deepEqual(await endOf({ seconds: 1 }, "sleep 1000"), over("1 seconds (server setting MILLRACE_JOB_SECONDS"));
  });

  it("leave a job alone that keeps them", async () => {
    const limits = { memory: 500 * mebibyte, processes: 50, disk: 100 * mebibyte, log: mebibyte, seconds: 500 };
    assert.deepEqual(await endOf(limits, "sleep 2; exit 6"), { code: 6, overLimit: null });
  });

  it("come with samples of what the job uses, which the engine keeps", async () => {
    const { engine } = ground;
    const query = "import time\nkept = bytearray(60_000_000)\nbegan = time.time()\nwhile time.time() < began + 7: pass";
    const job = ground.spec(query, { queryType: "PYTHON", name: "job.py" });
    await engine.submit(job);
    await untilState(engine, job.key, "EXITED");
    await engine.cleanup(job.key);
    const samples = await engine.usage(job.key);
    assert.ok(samples.some(({ memory_bytes, processes }) => memory_bytes > 60_000_000 && processes >= 1));
    const cpu = samples.map(({ cpu_seconds }) => cpu_seconds);
    assert.deepEqual(
      cpu,
      [...cpu].sort((a, b) => a - b),
    );
    assert.ok((cpu.at(-1) ?? 0) > 0.5, `${cpu}`);
    for (const { at } of samples) assert.equal(new Date(at).toISOString(), at);
  });
});

describe("the virtualenvs of a runner", () => {
  let ground: RunnerGround;
  let kept: string;
  let index: Awaited<ReturnType<typeof serveWheel>>;
  let engine: RunnerEngine;
  before(async () => {
    ground = await runnerGround();
    kept = join(ground.folder, "environments");
    index = await serveWheel("shared", { "shared.py": "text = 'from the index'\n" });
    engine = await ground.open({ environments: kept });
  });
  after(async () => {
    index.close();
    await ground.stop();
  });

  const spec = (rest: Partial<JobSpec> = {}) =>
    ground.spec("import shared\nprint(shared.text)", {
      ...{ queryType: "PYTHON", name: "job.py", requirements: "shared==1.0" },
      environment: { PIP_INDEX_URL: index.url, PIP_TRUSTED_HOST: "127.0.0.1" },
      ...rest,
    });
  async function run(job: JobSpec, on = engine) {
    await on.submit(job);
    const { exit } = await untilState(on, job.key, "EXITED");
    const log = String(await ground.log(job.key));
    assert.equal(exit.code, 0, log);
    assert.match(log, /from the index/);
    return log.includes("Building virtualenv") ? "built" : "reused";
  }
  const ready = (team = 1) => readdirSync(join(kept, `team-${team}`)).filter((name) => name.endsWith(".ready"));

  it("are built once and used by later jobs of the team, and by one of many that start together", async () => {
    const made = await Promise.all([run(spec()), run(spec()), run(spec())]);
    assert.deepEqual(made.sort(), ["built", "reused", "reused"]);
    assert.equal(await run(spec()), "reused");
    assert.equal(ready().length, 1);
  });

  it("are not shared with another team, with jobs that have personal secrets, or for another index", async () => {
    assert.equal(await run(spec({ teamId: 2 })), "built");
    assert.equal(await run(spec({ person: 7 })), "built");
    assert.equal(await run(spec({ person: 7 })), "reused");
    const other = { PIP_EXTRA_INDEX_URL: index.url, PIP_INDEX_URL: index.url, PIP_TRUSTED_HOST: "127.0.0.1" };
    assert.equal(await run(spec({ environment: other })), "built");
  });

  it("do not contain anything of the job: neither its folder nor its variables reach the build", async () => {
    const environment = {
      PIP_INDEX_URL: index.url,
      PIP_TRUSTED_HOST: "127.0.0.1",
      PYTHONPATH: "/nowhere",
      PIP_TARGET: ".",
    };
    const before = ready().length;
    assert.equal(await run(spec({ environment, teamId: 3 })), "built");
    assert.equal(ready().length, before);
    assert.equal(await run(spec({ teamId: 3 })), "reused", "such variables are not part of the key");
  });

  it("of which a build was interrupted are built again", async () => {
    const name = ready(2)[0]?.replace(".ready", "") ?? "";
    rmSync(join(kept, "team-2", `${name}.ready`));
    rmSync(join(kept, "team-2", name, "bin"), { recursive: true });
    assert.equal(await run(spec({ teamId: 2 })), "built");
    assert.equal(await run(spec({ teamId: 2 })), "reused");
  });

  it("are not kept without a folder for them", async () => {
    for (let round = 0; round < 2; round++) assert.equal(await run(spec(), ground.engine), "built");
  });

  it("let a job be canceled while one is built, and keep nothing half-built", async () => {
    // An index that never answers.
    const mute = createServer(() => {});
    await once(mute.listen(0, "127.0.0.1"), "listening");
    const { port } = mute.address() as AddressInfo;
    const job = spec({ teamId: 4, environment: { PIP_INDEX_URL: `http://127.0.0.1:${port}/simple` } });
    await engine.submit(job);
    await until(async () => String(await ground.log(job.key)).includes("Building virtualenv"));
    await engine.cancel(attemptNamed(job.key), false);
    const { exit, steps } = await untilState(engine, job.key, "EXITED");
    assert.notEqual(exit.code, 0);
    assert.deepEqual(steps.at(-1)?.name, "environment");
    mute.closeAllConnections();
    mute.close();
    assert.deepEqual(ready(4), []);
    assert.deepEqual(markedProcesses(job.key, "MILLRACE_ATTEMPT").pids, []);
  });
});
