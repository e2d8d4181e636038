/** What a cluster still has of ended attempts is removed there, also if the cluster was away or the server was killed. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { EngineUnreachable } from "../../../src/engines/engine.ts";
import type { Placed, Placement } from "../../../src/engines/runners/placer.ts";
import { RunnerEngine } from "../../../src/engines/runners/runner-engine.ts";
import { Runners } from "../../../src/engines/runners/runners.ts";
import { attemptNamed } from "../../support/attempts.ts";
import { jobSpec } from "../../support/job-spec.ts";
import { until } from "../../support/until.ts";

describe("what a cluster has of an ended attempt", () => {
  let jobsDir: string;
  let runners: Runners;
  /** Keys of what the cluster has. */
  let there: Set<string>;
  let isAway: boolean;
  let now: number;
  /** What the cluster says that it runs. */
  let listed: string[];
  beforeEach(() => {
    jobsDir = mkdtempSync(join(tmpdir(), "millrace-removals-"));
    now = 0;
    listed = [];
    runners = new Runners(
      jobsDir,
      () => {},
      () => now,
    );
    there = new Set();
    isAway = false;
  });
  afterEach(() => rmSync(jobsDir, { recursive: true }));

  const answer = () => {
    if (isAway) throw new EngineUnreachable("The cluster does not answer.");
  };
  /** A FAKE placer, which only notes what it has. */
  const placer = {
    place: async ({ key }: Placement) => {
      answer();
      there.add(key);
      return "handle";
    },
    list: async () => {
      answer();
      return new Map<string, Placed>(listed.map((key) => [key, { isRunning: true, reason: "" }]));
    },
    remove: async (key: string) => {
      answer();
      there.delete(key);
    },
    close: async () => {},
  };
  const open = () => RunnerEngine.open({ isolation: "none", jobsDir, runners, placer, url: () => "http://server" });
  const end = { exit_code: 0, phase: "query", finished_at: 0, log_size: 0, steps: [], usage: null, metrics: null };

  /** An attempt that has ended while the cluster was away. */
  async function ended(engine: RunnerEngine): Promise<string> {
    const spec = jobSpec({ jobId: "ended", query: "true" });
    await engine.submit(spec);
    runners.claim(spec.key, { instance: "instance-one", host: "node" });
    runners.end(spec.key, { ...end, over_limit: null });
    isAway = true;
    return spec.key;
  }

  it("is removed when the cluster is back", async () => {
    const engine = await open();
    const key = await ended(engine);
    await engine.cleanup(key);
    await assert.rejects(engine.observe([]), EngineUnreachable);
    assert.deepEqual([...there], [key]);
    assert.deepEqual(await engine.find(), [key]);
    isAway = false;
    await engine.observe([]);
    await until(async () => there.size === 0);
    await until(async () => (await engine.find()).length === 0);
  });

  it("is found by the next server if this one is killed before, and removed by it", async () => {
    const key = await ended(await open());
    await (await open()).cleanup(key);
    isAway = false;
    const next = await open();
    assert.deepEqual(await next.find(), [key]);
    await next.cleanup(key);
    assert.deepEqual([[...there], await next.find()], [[], []]);
  });

  it("is removed if the cluster still lists its runner a minute later, and what else it lists is left alone", async () => {
    const engine = await RunnerEngine.open({
      ...{ isolation: "none", jobsDir, runners, url: () => "http://server" },
      placer: { ...placer, leavesNothing: true },
    });
    const running = jobSpec({ jobId: "running", query: "true" });
    await engine.submit(running);
    runners.claim(running.key, { instance: "instance-two", host: "node" });
    const key = await ended(engine);
    isAway = false;
    await engine.cleanup(key);
    // Whoever may submit to the cluster chooses names there.
    const outside = `../${basename(jobsDir)}-outside`;
    mkdirSync(join(jobsDir, outside));
    for (const file of ["end", "there"]) writeFileSync(join(jobsDir, outside, file), "{}");
    const others = ["of-another-server.1", "x".repeat(300), outside];
    for (const other of others) there.add(other);
    listed = [...there].reverse();
    for (let minute = 0; minute < 2; minute++) {
      assert.ok(there.has(key), `after ${minute} minutes`);
      now += 60_000;
      await engine.observe([]);
    }
    await until(async () => !there.has(key));
    assert.deepEqual([...there].sort(), [...others, running.key].sort());
    assert.deepEqual(readdirSync(join(jobsDir, outside)), ["end", "there"]);
    rmSync(join(jobsDir, outside), { recursive: true });
  });

  it("is removed, too, if the attempt was withdrawn while the cluster was away", async () => {
    const engine = await open();
    const spec = jobSpec({ jobId: "withdrawn", query: "true" });
    await engine.submit(spec);
    isAway = true;
    assert.equal(await engine.withdraw(attemptNamed(spec.key)), true);
    await engine.cleanup(spec.key);
    isAway = false;
    await engine.observe([]);
    await until(async () => there.size === 0);
  });
});
