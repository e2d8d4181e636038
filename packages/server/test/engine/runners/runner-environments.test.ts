/** The virtualenvs of runners: kept for later jobs if there is a folder for them. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { serveWheel } from "@millrace/testing/programs/wheels.ts";
import type { JobSpec } from "../../../src/engines/engine.ts";
import type { RunnerEngine } from "../../../src/engines/runners/runner-engine.ts";
import { attemptNamed } from "../../support/attempts.ts";
import { until } from "../../support/until.ts";
import { markedProcesses } from "../remote/marked-processes.ts";
import { type RunnerGround, runnerGround, untilState } from "./runner-ground.ts";

const runnerPath = join(import.meta.dirname, "../../../src/engines/runners/runner.py");

/** Prints the key of a virtualenv, and those of others of which one thing differs each. */
const differentKeys = `
import importlib.util, os, platform, shutil, sys
spec = importlib.util.spec_from_file_location("runner", sys.argv[1])
runner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runner)
class Told(runner.Runner):
    version = "3.11.2"
    def __init__(self, **job):
        self.job = {"team": 1, "person": None, "requirements": "a", "build_variables": {}, **job}
        self.python = "/usr/bin/python3"
    def version_of(self, python):
        return self.version
def tell(**job):
    print(Told(**job).environment_key())
tell()
tell(team=2)
tell(person=7)
tell(requirements="a==1")
tell(build_variables={"PIP_INDEX_URL": "http://127.0.0.1/simple"})
Told.version = "3.11.3"
tell()
platform.machine = lambda: "riscv64"
tell()
platform.libc_ver = lambda: ("musl", "1.2.4")
tell()
shutil.which = lambda name: "/opt/uv"
tell()
`;

describe("the virtualenvs of a runner", () => {
  let ground: RunnerGround;
  let kept: string;
  let index: Awaited<ReturnType<typeof serveWheel>>;
  let engine: RunnerEngine;
  before(async () => {
    ground = await runnerGround();
    kept = join(ground.folder, "environments");
    index = await serveWheel("shared", { "shared.py": "text = 'from the index'\n" });
    engine = await ground.open(keeping({}));
  });
  after(async () => {
    index.close();
    await ground.stop();
  });

  const keeping = (limits: { days?: number; bytes?: number }) => ({
    environments: { folder: kept, days: 0, bytes: 0, ...limits },
  });
  const fromIndex = () => ({ PIP_INDEX_URL: index.url, PIP_TRUSTED_HOST: "127.0.0.1" });
  const spec = (rest: Partial<JobSpec> = {}) =>
    ground.spec("import shared\nprint(shared.text)", {
      ...{ queryType: "PYTHON", name: "job.py", requirements: "shared==1.0" },
      environment: fromIndex(),
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

  it("contain nothing of the job: of its variables only those for the index reach the build", async () => {
    const environment = { ...fromIndex(), PIP_TARGET: ".", PYTHONPATH: "/nowhere" };
    assert.equal(await run(spec({ environment, teamId: 2 })), "built");
    assert.equal(await run(spec({ teamId: 2 })), "reused", "the others are not part of the key");
  });

  it("are not shared with another team, or with jobs that have personal secrets", async () => {
    assert.equal(ready(2).length, 1);
    assert.equal(await run(spec({ person: 7 })), "built");
    assert.equal(ready().length, 2);
  });

  it("of which a build was interrupted are built again", async () => {
    const name = ready(2)[0]?.replace(".ready", "") ?? "";
    rmSync(join(kept, "team-2", `${name}.ready`));
    rmSync(join(kept, "team-2", name, "bin"), { recursive: true });
    assert.equal(await run(spec({ teamId: 2 })), "built");
    assert.equal(await run(spec({ teamId: 2 })), "reused");
  });

  it("are not kept without a folder for them", async () => {
    assert.equal(await run(spec(), ground.engine), "built");
    assert.equal(ready().length, 2);
  });

  it("are built for one job if the folder cannot be used", async () => {
    const blocked = join(ground.folder, "a-file");
    writeFileSync(blocked, "");
    const on = await ground.open({ environments: { folder: blocked, days: 0, bytes: 0 } });
    const job = spec();
    assert.equal(await run(job, on), "built");
    assert.match(String(await ground.log(job.key)), /Virtualenvs cannot be kept on .*: .*Not a directory/);
  });

  it("have a key with everything that a build depends on", () => {
    const keys = execFileSync("python3", ["-c", differentKeys, runnerPath], { encoding: "utf8" }).trim().split("\n");
    assert.equal(keys.length, 9);
    assert.equal(new Set(keys).size, keys.length, keys.join("\n"));
    for (const key of keys) assert.match(key, /^[0-9a-f]{40}$/);
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

describe("old virtualenvs of a runner", () => {
  let ground: RunnerGround;
  let kept: string;
  let index: Awaited<ReturnType<typeof serveWheel>>;
  before(async () => {
    ground = await runnerGround();
    kept = join(ground.folder, "environments");
    index = await serveWheel("shared", {});
  });
  after(async () => {
    index.close();
    await ground.stop();
  });

  type Limits = { readonly days?: number; readonly bytes?: number };
  const ago = (days: number) => new Date(Date.now() - days * 86_400_000);
  const namesOf = (team: number) => readdirSync(join(kept, `team-${team}`)).sort();
  const setUsed = (venv: string, days: number) => utimesSync(`${venv}.ready`, ago(days), ago(days));
  /** Makes what a runner leaves of a virtualenv that was last used that many days ago. */
  function leave(team: number, days: number, size = 1000): void {
    const venv = join(kept, `team-${team}`, "c".repeat(40));
    mkdirSync(join(venv, "bin"), { recursive: true });
    writeFileSync(`${venv}.lock`, "");
    writeFileSync(`${venv}.ready`, String(size));
    setUsed(venv, days);
  }
  async function start(team: number, limits: Limits, query = "true") {
    const engine = await ground.open({ environments: { folder: kept, days: 0, bytes: 0, ...limits } });
    const environment = { PIP_INDEX_URL: index.url };
    const job = ground.spec(query, { requirements: "shared==1.0", teamId: team, environment });
    await engine.submit(job);
    return { engine, job };
  }
  async function end({ engine, job }: Awaited<ReturnType<typeof start>>): Promise<void> {
    const { exit } = await untilState(engine, job.key, "EXITED");
    assert.equal(exit.code, 0, String(await ground.log(job.key)));
    await until(async () => markedProcesses(job.key, "MILLRACE_RUNNER_KEY").pids.length === 0);
  }
  /** Runs a job that looks for old virtualenvs at its end: it finds that nobody has done so for a day. */
  async function sweep(limits: Limits): Promise<void> {
    mkdirSync(kept, { recursive: true });
    writeFileSync(join(kept, ".swept"), "");
    utimesSync(join(kept, ".swept"), ago(1), ago(1));
    await end(await start(3, limits));
  }

  it("are removed after days without use, with everything that belongs to them", async () => {
    leave(1, 8);
    leave(2, 6);
    await sweep({ days: 7 });
    assert.deepEqual(namesOf(1), []);
    assert.equal(namesOf(2).length, 3);
    assert.equal(namesOf(3).length, 3);
  });

  it("are looked for once an hour", async () => {
    leave(1, 8);
    await end(await start(3, { days: 7 }));
    assert.equal(namesOf(1).length, 3);
  });

  it("stay while a job uses them", async () => {
    const gate = join(ground.folder, "gate");
    const using = await start(4, {}, `echo up; until [ -e ${gate} ]; do sleep 0.05; done`);
    await until(async () => String(await ground.log(using.job.key)).includes("up"));
    const venv = join(kept, "team-4", namesOf(4)[0] ?? "");
    setUsed(venv, 8);
    await sweep({ days: 7 });
    assert.ok(existsSync(join(venv, "bin/python")), "the job that runs has it");
    writeFileSync(gate, "");
    await end(using);
    await sweep({ days: 7 });
    assert.deepEqual(namesOf(4), []);
  });

  it("are removed if all together are too large, those used longest ago first", async () => {
    const own = Number(readFileSync(join(kept, "team-3", `${namesOf(3)[0]}.ready`), "utf8"));
    assert.ok(own > 100_000, "a runner notes the size");
    leave(1, 1, 2000);
    leave(2, 2, 1000);
    await sweep({ bytes: own + 2999 });
    assert.deepEqual([namesOf(1).length, namesOf(2).length, namesOf(3).length], [3, 0, 3]);
  });

  it("of which a build was interrupted are removed, and nothing outside the folder", async () => {
    const outside = join(ground.folder, "outside");
    const half = "a".repeat(40);
    for (const folder of [join(outside, half), join(kept, "team-1", half, "bin"), join(kept, "other", half)])
      mkdirSync(folder, { recursive: true });
    symlinkSync(outside, join(kept, "team-7"));
    symlinkSync(outside, join(kept, "team-1", "b".repeat(40)));
    await sweep({ days: 7 });
    assert.ok(!namesOf(1).includes(half));
    assert.ok(existsSync(join(outside, half)), "links are not followed");
    assert.ok(existsSync(join(kept, "other", half)), "only folders of teams are looked at");
  });
});
