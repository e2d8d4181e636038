/** The virtualenvs of runners: kept for later jobs if there is a folder for them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, rmSync } from "node:fs";
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
