/**
 * Ray on a real cluster of three nodes. The conformance suite and the faults of the cluster take minutes, and are in
 * test/long.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { routes } from "@millrace/contract";
import { createJob, readLog, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { RayCluster, rayPython, whyNoRay } from "@millrace/testing/servers/ray.ts";
import { freePort } from "@millrace/testing/servers/server-process.ts";
import { CannotStart, EngineUnreachable } from "../../src/engines/engine.ts";
import type { RayPlacer } from "../../src/engines/ray/ray-placer.ts";
import type { RunnerEngine } from "../../src/engines/runners/runner-engine.ts";
import { attemptNamed, observeOne } from "../support/attempts.ts";
import { jobSpec } from "../support/job-spec.ts";
import { RayEngines } from "./ray/ray-engines.ts";

const token = "test-token-".repeat(4);

describe("Ray", { skip: await whyNoRay() }, () => {
  let cluster: RayCluster;
  let engines: RayEngines;
  let engine: RunnerEngine;
  let placer: RayPlacer;
  before(async () => {
    cluster = await RayCluster.start({ token, nodes: 2, cpusPerNode: 2 });
    engines = await RayEngines.beside(cluster, 60_000);
    engine = await engines.open();
    placer = await engines.placer();
  });
  after(async () => {
    await engine.close();
    await placer.close();
    await engines.stop();
    await cluster.stop();
  });

  let counter = 0;
  const spec = (query: string, rest: { workers?: number } = {}) =>
    jobSpec({ jobId: `ray-${++counter}`, query, ...rest });
  /** A runner that does this instead of running a job. */
  const placement = (main: string, rest: { workers?: number } = {}) => ({
    key: `placed-${++counter}.1`,
    runner: `class Processes:\n    kill_all = print\nif __name__ == "__main__":\n    ${main}\n`,
    variables: { MILLRACE_RUNNER_CODE: "the-code-of-the-runner" },
    workers: 1,
    priority: 5,
    isRepeated: false,
    ...rest,
  });
  const ask = async (path: string) => {
    const answer = await fetch(cluster.address + path, { headers: { authorization: `Bearer ${token}` } });
    return answer.text();
  };
  /** All that Ray's API tells of a job. */
  const everythingRayTells = async (id: string) => {
    const pages = ["/api/jobs/", `/api/jobs/${id}`, `/api/jobs/${id}/logs`];
    const others = ["/api/v0/actors?detail=true", "/api/v0/runtime_envs?detail=true", "/api/v0/workers?detail=true"];
    return (await Promise.all([...pages, ...others].map(ask))).join("\n");
  };
  const until = async <T>(what: () => Promise<T | undefined | false>): Promise<T> => {
    for (;;) {
      const value = await what();
      if (value) return value;
      await pause(50);
    }
  };
  const untilListed = (key: string, isRunning: boolean) =>
    until(async () => {
      const placed = (await placer.list()).get(key);
      return placed?.isRunning === isRunning && placed;
    });
  const untilOver = (key: string) => until(async () => !(await placer.list()).has(key));

  it("runs a job, reports its result, and keeps nothing of it after the cleanup", async () => {
    const job = spec("echo on Ray; exit 3");
    await engine.submit(job);
    const seen = await until(async () => {
      const now = await observeOne(engine, job.key);
      return now.state === "EXITED" && now;
    });
    assert.equal(seen.exit.code, 3);
    const log = await engine.openLog(job.key);
    assert.equal((await log.read(0, 100)).toString(), "on Ray\n");
    await log.close();
    await engine.cleanup(job.key);
    await until(async () => {
      await engine.observe([]);
      return !(await ask("/api/jobs/")).includes(job.key);
    });
  });

  it("is a cluster that an administrator adds: its test says that all works, and jobs run there", async () => {
    const client = await engines.server.client();
    const ray = { address: cluster.address, python: rayPython(), folder: engines.folder };
    await client.call(routes.createCluster, {
      body: { name: "ray", engine: "ray", max_workers: 4, teams: ["main"], ray, secrets: { token } },
    });
    const params = { cluster_name: "ray" };
    const tested = await client.call(routes.testCluster, { params, body: { seconds: 300 } });
    assert.ok(tested.ok, JSON.stringify(tested.steps));
    const input = shell('echo "$GREETING from Ray"; exit 4', {
      compute_cluster_name: "ray",
      environment: "GREETING=a-greeting-that-nobody-else-reads",
    });
    const { id } = await createJob(client, input);
    const job = await waitForEnd(client, id, 300);
    assert.deepEqual([job.status, job.exit_code], ["FAILED", 4]);
    assert.equal(await readLog(client, id), "a-greeting-that-nobody-else-reads from Ray\n");
    assert.doesNotMatch(await everythingRayTells(`millrace-${id}.1`), /a-greeting/);
  });

  it("shows the code of the runner nowhere: not in jobs, actors, logs or packages", async () => {
    const wait = placement(`import os, time; time.sleep(1000)`);
    await placer.place(wait);
    await untilListed(wait.key, true);
    const text = await everythingRayTells(`millrace-${wait.key}`);
    assert.match(text, new RegExp(`millrace-${wait.key}`));
    assert.match(text, /_ray_pkg_millrace_placed/);
    assert.doesNotMatch(text, /the-code-of-the-runner/);
    const [, uri = ""] = /gcs:\/\/(_ray_pkg_millrace_placed[^"]+\.zip)/.exec(text) ?? [];
    assert.equal(await ask(`/api/packages/gcs/${uri}`), "");
    await placer.remove(wait.key);
    await untilOver(wait.key);
  });

  it("turns workers and options into what Ray reserves", async () => {
    const other = await engines.placer({
      cpus_per_worker: 1.5,
      gpus_per_worker: 1,
      memory_per_worker: 0.5,
      resources: "ssd=1,licence=0.5",
    });
    const waits = placement("pass", { workers: 2 });
    await other.place(waits);
    const page = JSON.parse(await ask("/api/v0/actors?detail=true")) as {
      data: { result: { result: { name: string; required_resources: object }[] } };
    };
    const actor = page.data.result.result.find(({ name }) => name.includes(waits.key));
    assert.deepEqual(actor?.required_resources, { CPU: 3, GPU: 2, memory: 1024 ** 3, ssd: 1, licence: 0.5 });
    await other.remove(waits.key);
    await other.close();
  });

  it("says why a job waits, and takes it back before it has started", async () => {
    const job = spec("echo ran", { workers: 5 });
    await engine.submit(job);
    const seen = await until(async () => {
      const now = await observeOne(engine, job.key);
      return now.state === "WAITING" && /largest/.test(now.reason) && now;
    });
    assert.equal(seen.reason, "Ray: waits for a node with 5 CPUs; the largest node has 2");
    assert.equal(await engine.withdraw(attemptNamed(job.key)), true);
    assert.equal((await observeOne(engine, job.key)).state, "ABSENT");
  });

  it("places one runner for one key, also if two callers place it at the same moment", async () => {
    const file = join(engines.folder, "ran");
    const once = placement(`open(${JSON.stringify(file)}, "a").write("ran\\n")`);
    const second = await engines.placer();
    const handles = await Promise.all([placer.place(once), second.place(once), placer.place(once)]);
    assert.deepEqual(new Set(handles), new Set([`millrace-${once.key}`]));
    await untilOver(once.key);
    await placer.place(once);
    assert.equal((await ask("/api/jobs/")).split(`"millrace-${once.key}"`).length - 1, 1);
    assert.ok(existsSync(file));
    await placer.remove(once.key);
    await second.close();
  });

  it("says why a runner ended", async () => {
    const broken = await engines.placer({ python: "/no/such/python" });
    const lost = placement("pass");
    await broken.place(lost);
    await untilOver(lost.key);
    const why = (await broken.ended([lost.key, "never.1"])).get(lost.key)?.how ?? "";
    assert.match(why, /^Ray: Job entrypoint command failed with exit code 127: .*\/no\/such\/python: not found$/);
    await broken.remove(lost.key);
    await broken.close();
  });

  it("refuses what Ray can never start", async () => {
    const wrong = await engines.placer({ labels: "a=in(" });
    await assert.rejects(wrong.place(placement("pass")), (error: Error) => {
      assert.ok(error instanceof CannotStart, error.message);
      return /^Ray refuses the job: .*in\(/.test(error.message);
    });
    await wrong.close();
  });

  it("is unreachable with a wrong token, without one, and where no head is", async () => {
    const cases: [Parameters<RayEngines["placer"]>[0], RegExp][] = [
      [{ token: "wrong" }, /refuses the token/],
      [{ token: "" }, /asks for a token/],
      [{ address: `http://127.0.0.1:${await freePort()}` }, /cannot be reached/],
      [{ address: engines.server.url }, /no Jobs API/],
    ];
    for (const [options, told] of cases) {
      const other = await engines.placer(options);
      const isUnreachable = (error: Error) => error instanceof EngineUnreachable && told.test(error.message);
      await assert.rejects(other.list(), isUnreachable);
      await assert.rejects(other.place(placement("pass")), isUnreachable);
      await other.close();
    }
  });
});
