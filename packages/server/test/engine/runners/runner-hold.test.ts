/**
 * Runners that beat and obey nothing. The test plays the runner and the cluster, and moves the clock itself; the
 * engine, the protocol and the files are real.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  attemptKey,
  CannotStart,
  EngineUnreachable,
  type JobSpec,
  type Observation,
} from "../../../src/engines/engine.ts";
import { Refused } from "../../../src/engines/kubernetes/kubernetes-api.ts";
import { overLogSize, type RemoteLimits } from "../../../src/engines/limit-words.ts";
import { RunnerEngine } from "../../../src/engines/runners/runner-engine.ts";
import { type ReportedEnd, RunnerRefused, Runners } from "../../../src/engines/runners/runners.ts";
import { SlurmPlacer } from "../../../src/engines/slurm/slurm-placer.ts";
import { attemptNamed, observeOne } from "../../support/attempts.ts";
import { jobSpec } from "../../support/job-spec.ts";
import { slurmOptions } from "../slurm/slurm-options.ts";

const limits: RemoteLimits = { seconds: 0, memory: 0, processes: 0, openFiles: 0, log: 0, disk: 0 };
const mebibyte = 1024 * 1024;
const beat = { steps: [], age: 0, orders: { cancel: true, force: true }, usage: null, wait: false };
const report: ReportedEnd = {
  ...{ exit_code: 0, phase: "query", finished_at: 1000, log_size: 0 },
  ...{ steps: [], usage: null, over_limit: null, metrics: null },
};

describe("a runner that beats and obeys nothing", () => {
  let jobsDir: string;
  let now: number;
  let runners: Runners;
  /** What the cluster was asked to remove. */
  let removals: string[];
  /** Runners that the cluster lists. */
  let listed: Set<string>;
  let isAway: boolean;

  beforeEach(() => {
    jobsDir = mkdtempSync(join(tmpdir(), "millrace-hold-"));
    now = 1000;
    runners = new Runners(
      jobsDir,
      () => {},
      () => now,
    );
    removals = [];
    listed = new Set();
    isAway = false;
  });
  afterEach(() => rmSync(jobsDir, { recursive: true }));

  const placer = {
    place: async ({ key }: { readonly key: string }) => {
      listed.add(key);
      return "handle";
    },
    list: async () => new Map([...listed].map((key) => [key, { isRunning: true, reason: "" }])),
    remove: async (key: string) => {
      removals.push(key);
      if (isAway) throw new EngineUnreachable("The cluster does not answer.");
      listed.delete(key);
    },
    close: async () => {},
    absentMs: 300_000,
  };

  const open = (given: Partial<RemoteLimits> = {}) =>
    RunnerEngine.open({
      ...{ isolation: "none", jobsDir, runners, placer, url: () => "http://server" },
      limits: { ...limits, ...given },
    });

  async function started(engine: RunnerEngine, rest: Partial<JobSpec> = {}): Promise<string> {
    const spec = jobSpec({ jobId: "held", query: "true", ...rest });
    await engine.submit(spec);
    runners.claim(spec.key, { instance: "instance-one", host: "node" });
    return spec.key;
  }

  /** Lets time pass in steps, in which the runner beats and something else happens. */
  async function pass(seconds: number, key: string, each: () => Promise<void>): Promise<void> {
    for (let step = 0; step < seconds * 4; step++) {
      now += 250;
      await runners.beat(key, beat, new AbortController().signal).catch(ignoreOver);
      await each();
    }
  }
  const ignoreOver = (error: unknown) => {
    if (!(error instanceof RunnerRefused) || error.why !== "over") throw error;
  };
  const exitOf = (seen: Observation) =>
    seen.state === "EXITED" ? { code: seen.exit.code, overLimit: seen.overLimit } : seen.state;
  const mayRunOn = (seen: Observation) => seen.state === "EXITED" && seen.mayRunOn === true;

  it("is removed by its cluster 15 seconds after the order to kill, and its attempt is over", async () => {
    const engine = await open();
    const key = await started(engine);
    const cancel = () => engine.cancel(attemptNamed(key), true);
    await cancel();
    await pass(14, key, cancel);
    assert.deepEqual([removals, (await observeOne(engine, key)).state], [[], "RUNNING"]);
    await pass(1, key, cancel);
    assert.deepEqual(removals, [key]);
    assert.deepEqual(exitOf(await observeOne(engine, key)), { code: 137, overLimit: null });
    assert.ok(mayRunOn(await observeOne(await open(), key)), "no other attempt may follow, also by another server");
    await assert.rejects(runners.beat(key, beat, new AbortController().signal), { why: "over" });
    assert.throws(() => runners.append(key, 0, [Buffer.from("more")]), { why: "over" });
    runners.end(key, report);
    assert.deepEqual(
      exitOf(await observeOne(engine, key)),
      { code: 137, overLimit: null },
      "a late end counts for nothing",
    );
  });

  it("and whose log is longer than its limit has failed by the limit, whatever it reports", async () => {
    const engine = await open({ log: 1000 });
    for (const [jobId, size] of Object.entries({ kept: 1000, exceeded: 1001 })) {
      const key = await started(engine, { jobId });
      await runners.append(key, 0, [Buffer.alloc(size, "x")]);
      runners.end(key, { ...report, log_size: size });
      const overLimit = jobId === "kept" ? null : overLogSize({ log: 1000 });
      assert.deepEqual(exitOf(await observeOne(engine, key)), { code: 0, overLimit });
    }
  });

  it("holds up nobody if its cluster does not answer the removal: neither a cancel, nor a withdrawal", async () => {
    const asked: string[] = [];
    const remove = (key: string) => {
      asked.push(key);
      return new Promise<void>(() => {});
    };
    const hanging = { ...placer, remove };
    const engine = await RunnerEngine.open({
      ...{ isolation: "none", jobsDir, runners, placer: hanging, url: () => "http://server", limits },
    });
    const key = await started(engine);
    now += 16_000;
    await engine.cancel(attemptNamed(key), true);
    const others = [...Array(20)].map((_, index) => jobSpec({ jobId: `waiting-${index}`, query: "true" }));
    for (const job of others) await engine.submit(job);
    for (const job of others) assert.equal(await engine.withdraw(attemptNamed(job.key)), true);
    assert.deepEqual(asked, [key], "the cluster is not asked for more before it has answered");
    assert.equal(await engine.hasEnded(key), false);
  });

  it("is asked for every 5 seconds at most, and its attempt lasts while the cluster lists it", async () => {
    const engine = await open();
    const key = await started(engine);
    isAway = true;
    const cancel = () =>
      engine.cancel(attemptNamed(key), true).catch((error) => assert.ok(error instanceof EngineUnreachable));
    await cancel();
    await pass(60, key, cancel);
    assert.deepEqual([removals.length, (await observeOne(engine, key)).state], [10, "RUNNING"]);
    isAway = false;
    await pass(5, key, cancel);
    assert.equal((await observeOne(engine, key)).state, "EXITED");
  });

  it("keeps its own end if it reports one in time", async () => {
    const engine = await open();
    const key = await started(engine);
    await engine.cancel(attemptNamed(key), true);
    runners.end(key, { ...report, exit_code: 9 });
    await pass(30, key, () => engine.cancel(attemptNamed(key), true));
    assert.deepEqual([removals, exitOf(await observeOne(engine, key))], [[], { code: 9, overLimit: null }]);
  });

  it("is also removed if it was ended by one call, or by a server that was restarted since", async () => {
    const first = await open();
    const key = await started(first);
    await first.end(attemptNamed(key), "Enough.");
    const next = await open();
    await pass(15, key, () => next.watch(key));
    assert.deepEqual(removals, []);
    await pass(1, key, () => next.watch(key));
    assert.deepEqual([removals, exitOf(await observeOne(next, key))], [[key], { code: 137, overLimit: "Enough." }]);
  });

  it("is not followed by another attempt before its cluster has missed it for long enough", async () => {
    const engine = await open();
    const key = await started(engine, { isRetried: true });
    const look = async () => {
      await engine.end(attemptNamed(key), "Enough.");
      await engine.observe([attemptNamed(key)]);
    };
    await pass(16, key, look);
    assert.deepEqual([removals.length, (await observeOne(engine, key)).state], [1, "RUNNING"]);
    await pass(300, key, look);
    assert.deepEqual(exitOf(await observeOne(engine, key)), { code: 137, overLimit: "Enough." });
    assert.ok(!mayRunOn(await observeOne(engine, key)));
  });

  it("cannot run longer or write more than its limits, whatever it says of its age", async () => {
    const engine = await open({ seconds: 10, log: mebibyte });
    const key = await started(engine);
    const piece = Buffer.alloc(mebibyte);
    for (let sent = 0; sent < 3; sent++) await runners.append(key, sent * mebibyte, [piece]);
    await assert.rejects(runners.append(key, 3 * mebibyte, [piece]), { why: "full" });
    assert.equal(runners.folder(key).logSize(), 3 * mebibyte);
    const timed = await started(engine, { jobId: "timed" });
    await pass(40, timed, async () => {
      await engine.watch(key);
      await engine.watch(timed);
    });
    const words = (what: string) => `The job was ended because it exceeded its limit of ${what}).`;
    assert.deepEqual(
      [exitOf(await observeOne(engine, key)), exitOf(await observeOne(engine, timed))],
      [
        { code: 137, overLimit: words("1 MiB of log (server setting MILLRACE_JOB_LOG") },
        { code: 137, overLimit: words("10 seconds (server setting MILLRACE_JOB_SECONDS") },
      ],
    );
  });

  it("writes no sample of usage for each beat, whatever it says of its age", async () => {
    const key = await started(await open());
    const usage = { cpu_seconds: 1, memory_bytes: 1, processes: 1 };
    for (let count = 0; count < 400; count++) {
      now += 10;
      await runners.beat(key, { ...beat, usage, age: 1000 * 1.03 ** count }, new AbortController().signal);
    }
    assert.equal(readFileSync(runners.folder(key).usage, "utf8").trim().split("\n").length, 1);
  });

  it("is removed at once if it is not heard at all, and not four times a second", async () => {
    const engine = await open();
    const key = await started(engine);
    now += 15_000;
    for (let call = 0; call < 16; call++) {
      await engine.cancel(attemptNamed(key), true);
      now += 250;
    }
    assert.deepEqual(removals, [key]);
  });
});

describe("runners that are heard", () => {
  it("are not looked for in the cluster's list each time one begins or ends", async () => {
    const jobsDir = mkdtempSync(join(tmpdir(), "millrace-heard-"));
    let [now, lists, isAway] = [1000, 0, false];
    const runners = new Runners(
      jobsDir,
      () => {},
      () => now,
    );
    const specs = ["ended", "running", "forced"].map((jobId) => jobSpec({ jobId, query: "true" }));
    const [ended = "", running = "", forced = ""] = specs.map(({ key }) => key);
    const placer = {
      place: async () => "handle",
      async list() {
        lists++;
        if (isAway) throw new EngineUnreachable("The cluster does not answer.");
        return new Map(specs.map(({ key }) => [key, { isRunning: true, reason: "" }]));
      },
      remove: async () => {},
      close: async () => {},
    };
    const engine = await RunnerEngine.open({ isolation: "none", jobsDir, runners, placer, url: () => "http://server" });
    for (const spec of specs) await engine.submit(spec);
    /** Returns the states, and how many lists that took. */
    const look = async (...keys: string[]) => {
      const before = lists;
      const seen = await engine
        .observe(keys.map((key) => attemptNamed(key)))
        .catch(() => new Map<string, Observation>());
      return [...keys.map((key) => seen.get(key)?.state), lists - before];
    };
    assert.deepEqual(await look(ended, running), ["SUBMITTED", "SUBMITTED", 1]);
    assert.deepEqual(await look(running), ["SUBMITTED", 1], "nobody has heard of it but the cluster");
    for (const key of [ended, running, forced]) runners.claim(key, { instance: "instance-one", host: "node" });
    runners.end(ended, report);
    now += 100;
    assert.deepEqual(await look(ended, running), ["EXITED", "RUNNING", 0]);
    runners.order(forced, { force: true });
    assert.deepEqual(await look(running, forced), ["RUNNING", "RUNNING", 1], "it may have been removed");
    now += 950;
    assert.deepEqual(await look(ended, running), ["EXITED", "RUNNING", 1], "the cluster may not answer any more");
    isAway = true;
    now += 950;
    assert.deepEqual(await look(running), [undefined, 1]);
    assert.deepEqual(await look(running), [undefined, 1], "nor now");
    isAway = false;
    now += 60_000;
    await look(ended);
    assert.deepEqual((await look(running)).at(-1), 1, "it is silent");
    rmSync(jobsDir, { recursive: true });
  });
});

describe("a runner that its cluster calls ended", () => {
  /** Returns the states of an attempt that may be followed by another, a minute and a lease after its runner fell silent. */
  async function states(isCertain: boolean, isRetried = true) {
    const jobsDir = mkdtempSync(join(tmpdir(), "millrace-ended-"));
    let now = 1000;
    const runners = new Runners(
      jobsDir,
      () => {},
      () => now,
    );
    const spec = jobSpec({ jobId: "lost", query: "true", isRetried });
    const placer = {
      place: async () => "handle",
      list: async () => new Map(),
      ended: async () => new Map([[spec.key, { how: "its node does not answer", isCertain }]]),
      remove: async () => {},
      close: async () => {},
    };
    const engine = await RunnerEngine.open({ isolation: "none", jobsDir, runners, placer, url: () => "http://server" });
    await engine.submit(spec);
    runners.claim(spec.key, { instance: "instance-one", host: "node" });
    const seen: string[] = [];
    for (const seconds of [59, 2, 898, 2]) {
      now += 1000 * seconds;
      const observed = await observeOne(engine, spec.key);
      seen.push(observed.state + (observed.state === "LOST" && observed.mayRunOn ? ", may run on" : ""));
    }
    rmSync(jobsDir, { recursive: true });
    return seen;
  }

  it("is followed by another only after its lease, if the cluster has only lost sight of its node", async () => {
    assert.deepEqual(await states(false), ["RUNNING", "RUNNING", "RUNNING", "LOST"]);
  });

  it("is followed by another without a wait if the cluster knows for certain", async () => {
    assert.deepEqual(await states(true), ["RUNNING", "LOST", "LOST", "LOST"]);
  });

  it("may run on for ever if it has no lease, unless the cluster knows for certain", async () => {
    assert.deepEqual(await states(false, false), ["RUNNING", ...Array(3).fill("LOST, may run on")]);
    assert.deepEqual(await states(true, false), ["RUNNING", "LOST", "LOST", "LOST"]);
  });

  it("before it claimed its attempt makes the job wait again, and fails it after the third time in a row", async () => {
    const jobsDir = mkdtempSync(join(tmpdir(), "millrace-ended-"));
    const runners = new Runners(jobsDir, () => {});
    const seen: (string | undefined)[] = [];
    const placer = {
      place: async () => "handle",
      list: async () => new Map(),
      ended: async (keys: readonly string[]) =>
        new Map(keys.map((key) => [key, { how: "no such program", isCertain: true }])),
      remove: async () => {},
      close: async () => {},
    };
    const options = { isolation: "none", jobsDir, runners, placer, url: () => "http://server", silenceMs: 0 } as const;
    const engine = await RunnerEngine.open(options);
    for (const attempt of [1, 2, 3]) {
      const spec = jobSpec({ jobId: "unbegun", key: attemptKey("unbegun", attempt), query: "true" });
      await engine.submit(spec);
      const observed = await observeOne(engine, spec.key);
      seen.push(observed.state, "why" in observed ? observed.why : "");
      await engine.cleanup(spec.key);
    }
    const why = "its runner ended before it reached this server (no such program)";
    assert.deepEqual(seen, ["ABSENT", why, "ABSENT", why, "LOST", why]);
    rmSync(jobsDir, { recursive: true });
  });

  it("is quoted in short, whatever the cluster says", async () => {
    const long = "no".repeat(1_000_000);
    for (const error of [new CannotStart(long), new EngineUnreachable(long), new Refused(500, { message: long })])
      assert.ok(error.message.length < 1200, error.constructor.name);
    const jobsDir = mkdtempSync(join(tmpdir(), "millrace-ended-"));
    const runners = new Runners(jobsDir, () => {});
    const spec = jobSpec({ jobId: "told", query: "true" });
    const placer = {
      place: async () => "handle",
      list: async () => new Map([[spec.key, { isRunning: false, reason: long }]]),
      remove: async () => {},
      close: async () => {},
    };
    const engine = await RunnerEngine.open({ isolation: "none", jobsDir, runners, placer, url: () => "http://server" });
    await engine.submit(spec);
    const seen = await observeOne(engine, spec.key);
    assert.ok(seen.state === "WAITING" && seen.reason.length < 1200, seen.state);
    assert.ok(runners.folder(spec.key).logSize() < 1400);
    rmSync(jobsDir, { recursive: true });
  });

  it("keeps the lease that it was given, also if the cluster's is changed", async () => {
    const jobsDir = mkdtempSync(join(tmpdir(), "millrace-ended-"));
    let now = 1000;
    const runners = new Runners(
      jobsDir,
      () => {},
      () => now,
    );
    const spec = jobSpec({ jobId: "leased", query: "true", isRetried: true });
    const placer = {
      ...{ place: async () => "handle", list: async () => new Map() },
      ...{ remove: async () => {}, close: async () => {} },
    };
    const open = (leaseSeconds: number) =>
      RunnerEngine.open({ isolation: "none", jobsDir, runners, placer, url: () => "http://server", leaseSeconds });
    await (await open(900)).submit(spec);
    runners.claim(spec.key, { instance: "instance-one", host: "node" });
    const changed = await open(60);
    const seen: string[] = [];
    for (const seconds of [1, 200, 760]) {
      now += 1000 * seconds;
      seen.push((await observeOne(changed, spec.key)).state);
    }
    assert.deepEqual(seen, ["RUNNING", "RUNNING", "LOST"]);
    rmSync(jobsDir, { recursive: true });
  });

  it("has ended for certain on Slurm unless a node was lost", async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-ended-"));
    const row = (key: string, state: string) => `millrace-${key}\\0371\\037${state}\\037None\\0370\\n`;
    const rows = ["NODE_FAIL", "FAILED", "TIMEOUT", "BOOT_FAIL"].map((state) => row(`${state}.1`, state));
    writeFileSync(join(folder, "squeue"), `#!/bin/sh\nprintf '${rows.join("")}'\n`, { mode: 0o755 });
    const placer = new SlurmPlacer(slurmOptions({ configuration: "" }, { slurm_bin: folder }));
    const ended = await placer.ended(["NODE_FAIL.1", "FAILED.1", "TIMEOUT.1", "BOOT_FAIL.1"]);
    assert.deepEqual(
      [...ended].map(([key, { isCertain }]) => [key, isCertain]),
      [
        ["NODE_FAIL.1", false],
        ["FAILED.1", true],
        ["TIMEOUT.1", true],
        ["BOOT_FAIL.1", false],
      ],
    );
    rmSync(folder, { recursive: true });
  });
});
