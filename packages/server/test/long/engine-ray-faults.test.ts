/** What becomes of jobs when parts of a real Ray cluster fail. */
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { RayCluster, whyNoRay } from "@millrace/testing/servers/ray.ts";
import { EngineUnreachable, type JobSpec, type Observation } from "../../src/engines/engine.ts";
import type { RunnerEngine } from "../../src/engines/runners/runner-engine.ts";
import { RayEngines } from "../engine/ray/ray-engines.ts";
import { markedProcesses } from "../engine/remote/marked-processes.ts";
import { attemptNamed, observeOne } from "../support/attempts.ts";
import { jobSpec } from "../support/job-spec.ts";
import { openGateway } from "./gateway.ts";

/** Seconds for which Ray keeps a package that no job refers to, and lets a job wait. */
const [packageSeconds, startSeconds] = [15, 40];

/** Kills what belongs to a job, except what has just ended. */
function killJob(key: string): void {
  for (const pid of markedProcesses(key, "MILLRACE_ATTEMPT").pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "ESRCH");
    }
  }
}

describe("Ray with faults", { skip: await whyNoRay() }, () => {
  let cluster: RayCluster;
  let engines: RayEngines;
  let engine: RunnerEngine;
  before(async () => {
    cluster = await RayCluster.start({
      token: "faults-token-".repeat(4),
      nodes: 2,
      cpusPerNode: 2,
      environment: {
        RAY_RUNTIME_ENV_TEMPORARY_REFERENCE_EXPIRATION_S: String(packageSeconds),
        RAY_JOB_START_TIMEOUT_SECONDS: String(startSeconds),
      },
    });
    // A runner beats every five seconds, on a busy machine later.
    engines = await RayEngines.beside(cluster, 30_000);
    engine = await engines.open();
  });
  after(async () => {
    await engine.close();
    await engines.stop();
    await cluster.stop();
  });

  let counter = 0;
  const path = (name: string) => join(engines.folder, name);
  /** A job that says that it is up, and ends with code 3 once a file exists. */
  const waitingFor = (name: string, workers = 1) => {
    const query = `touch '${path(`${name}.up`)}'; until [ -e '${path(`${name}.go`)}' ]; do sleep 0.1; done; exit 3`;
    return jobSpec({ jobId: `fault-${++counter}`, query, workers });
  };
  const untilUp = async (name: string) => {
    while (!existsSync(path(`${name}.up`))) await pause(50);
  };
  const go = (name: string) => writeFileSync(path(`${name}.go`), "");
  const untilState = async <S extends Observation["state"]>(key: string, ...states: S[]) => {
    for (;;) {
      const seen = await observeOne(engine, key);
      if ((states as string[]).includes(seen.state)) return seen as Observation & { state: S };
      await pause(100);
    }
  };
  /** Submits a job that runs on a certain node. */
  const on = async (node: number, job: JobSpec) => {
    const there = await engines.open({ resources: `node${node}=1` });
    await there.submit(job);
    await there.close();
  };
  /** Waits until Ray says that a job is over, whatever its runner does. */
  const untilOverForRay = async (key: string) => {
    const placer = await engines.placer();
    while ((await placer.list()).has(key)) await pause(100);
    await placer.close();
  };

  it("keeps the package of a job that waits for longer than Ray keeps an unused package", async () => {
    const [first, second] = [waitingFor("first", 2), waitingFor("second", 2)];
    const others = [waitingFor("third", 2), waitingFor("fourth", 2)];
    for (const job of [first, ...others]) await engine.submit(job);
    await Promise.all([untilUp("first"), untilUp("third"), untilUp("fourth")]);
    await engine.submit(second);
    await pause((packageSeconds + 2) * 1000);
    assert.equal((await observeOne(engine, second.key)).state, "WAITING");
    for (const name of ["first", "second", "third", "fourth"]) go(name);
    for (const job of [first, second, ...others])
      assert.equal((await untilState(job.key, "EXITED", "LOST")).state, "EXITED");
  });

  it("reports a job that Ray gives up while it waits as absent, so that it is queued again", async () => {
    const job = waitingFor("never", 5);
    await engine.submit(job);
    await untilState(job.key, "ABSENT");
    assert.equal(await engine.withdraw(attemptNamed(job.key)), true);
    assert.equal(existsSync(path("never.up")), false);
  });

  it("loses no byte of a log when the network is cut for a minute in the middle of it", async () => {
    const gateway = await openGateway("127.0.0.1", Number(new URL(engines.server.url).port));
    const there = await engines.open({}, gateway.url);
    const lines = 900;
    // Ten lines a second: the job writes before the cut, during it and after it.
    const query = `for i in $(seq ${lines}); do echo "line $i"; sleep 0.1; done`;
    const job = jobSpec({ jobId: `fault-${++counter}`, query });
    await there.submit(job);
    const log = async () => {
      const source = await there.openLog(job.key);
      const text = String(await source.read(0, await source.size()));
      await source.close();
      return text;
    };
    while (!(await log()).includes("line 50\n")) await pause(50);
    gateway.cut();
    const atCut = (await log()).length;
    await pause(60_000);
    assert.equal((await log()).length, atCut, "nothing comes through");
    assert.equal((await observeOne(there, job.key)).state, "RUNNING");
    gateway.mend();
    assert.equal((await untilState(job.key, "EXITED", "LOST")).state, "EXITED");
    const whole = [...Array(lines).keys()].map((index) => `line ${index + 1}\n`).join("");
    assert.equal(await log(), whole);
    await there.close();
    await gateway.close();
  });

  it("lets a job go on whose node is lost to Ray, and accepts its result", async () => {
    const job = waitingFor("survivor");
    await on(1, job);
    await untilUp("survivor");
    await cluster.killRay(1);
    await untilOverForRay(job.key);
    assert.equal((await observeOne(engine, job.key)).state, "RUNNING");
    go("survivor");
    assert.equal((await untilState(job.key, "EXITED", "LOST")).state, "EXITED");
  });

  it("reports a job as lost whose node died with everything on it", async () => {
    const job = waitingFor("lost");
    await on(2, job);
    await untilUp("lost");
    await cluster.kill(2);
    killJob(job.key);
    const seen = await untilState(job.key, "LOST", "EXITED");
    assert.equal(seen.state, "LOST");
  });

  it("loses nothing while the head is away, nor when a new head has forgotten the job", async () => {
    const job = waitingFor("forgotten");
    await on(0, job);
    await untilUp("forgotten");
    await cluster.killRay(0);
    await assert.rejects(engine.observe([attemptNamed(job.key)]), EngineUnreachable);
    await assert.rejects(engine.submit(waitingFor("not-accepted")), EngineUnreachable);
    await cluster.startHead();
    assert.equal((await untilState(job.key, "RUNNING", "LOST")).state, "RUNNING");
    const placer = await engines.placer();
    assert.deepEqual(await placer.list(), new Map(), "the new head knows no job");
    await placer.close();
    go("forgotten");
    assert.equal((await untilState(job.key, "EXITED", "LOST")).state, "EXITED");
  });
});
