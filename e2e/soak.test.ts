/**
 * The soak test: jobs, lists, followers, uploads, pipelines and schedules while faults occur at random. At the end
 * nothing is lost, nothing is doubled, every log is what its job wrote, memory use is back to normal, and outside the
 * faults `/readyz` never took a second, not counting the time in which the server had no processor.
 *
 * Three minutes on each database in the test suite; long form, an hour: SOAK_MINUTES=60 npm test soak. SOAK_SEED
 * repeats its faults.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { routes } from "@millrace/contract";
import { type OwnPostgres, startOwnPostgres } from "@millrace/testing/servers/postgres.ts";
import { until } from "@millrace/testing/until.ts";
import { causeFaults, cutConnections } from "./soak/faults.ts";
import { stall } from "./soak/follow.ts";
import { JobLoad } from "./soak/jobs.ts";
import { Load } from "./soak/load.ts";
import { Moments } from "./soak/moments.ts";
import { PipelineLoad } from "./soak/pipelines.ts";
import { Probe, type Sample } from "./soak/probe.ts";
import { fakeClock, Subject } from "./soak/subject.ts";
import { Timeline } from "./soak/timeline.ts";

const minutes = Number(process.env["SOAK_MINUTES"] ?? 3);
const seed = Number(process.env["SOAK_SEED"] ?? Math.floor(Math.random() * 1e9));

/** Filling a disk needs a small one, and moving the clock needs a library that does it for one process. */
function whyNot(): string | false {
  if (process.getuid?.() !== 0) return "needs root, to mount a small file system";
  if (!existsSync(fakeClock)) return "there is no libfaketime here";
  try {
    execFileSync("unshare", ["--mount", "true"], { stdio: "ignore" });
    return false;
  } catch {
    return "this machine does not let us mount a file system";
  }
}

// In parallel, because each mostly waits for its faults.
describe(`a server under load and faults for ${minutes} minutes, seed ${seed}`, {
  skip: whyNot(),
  concurrency: 2,
}, () => {
  let postgres: OwnPostgres;
  before(async () => {
    postgres = await startOwnPostgres();
  });
  after(() => postgres.stop());
  const timeout = (minutes + 15) * 60_000;
  const duration = minutes * 60_000;

  it("on SQLite loses nothing, doubles nothing and stays responsive", { timeout }, () => soak(duration, seed, {}));
  it("on PostgreSQL loses nothing, doubles nothing and stays responsive", { timeout }, async () =>
    soak(duration, seed + 1, { databaseUrl: await postgres.createDatabase(), cluster: postgres.cluster }),
  );
});

async function soak(duration: number, start: number, options: Parameters<typeof Subject.start>[0]): Promise<void> {
  const subject = await Subject.start(options);
  const timeline = new Timeline();
  const [stop, over] = [new AbortController(), new AbortController()];
  const signals = { stop: stop.signal, over: over.signal };
  const load = new Load(subject, timeline, new Moments(start), signals);
  const [jobs, pipelines] = [new JobLoad(load), new PipelineLoad(load)];
  const probe = new Probe(subject.server);
  try {
    await pipelines.prepare();
    const running = Promise.all([jobs.run(), pipelines.run(), readLists(load), stallNow(load, jobs)]);
    const cutting = cutConnections(subject, new Moments(start + 1), stop.signal);
    await sleep(10_000);
    const memory = await subject.memory();
    await causeFaults(subject, timeline, new Moments(start), performance.now() + duration - 10_000);
    stop.abort();
    await Promise.all([running, cutting]);

    await jobs.check();
    await pipelines.check();
    const firings = await pipelines.checkFirings();
    assertReady(probe.samples, timeline);
    assert.deepEqual(load.violations, [], "no answer that no fault explains");
    await assertIdle(subject, memory);
    await assertCalmLog(subject);
    assertWholeStore(subject);
    tell({
      jobs: jobs.made.length,
      excused: jobs.excused,
      calls: load.calls,
      faults: timeline.summary(),
      firings,
      probes: probe.samples.length,
    });
  } catch (error) {
    tell({ faults: timeline.summary(), violations: load.violations.slice(0, 20) });
    process.stderr.write(`${(await subject.log().catch(() => "")).slice(-20_000)}\n`);
    throw error;
  } finally {
    stop.abort();
    over.abort();
    await probe.stop();
    await subject.dispose();
  }
}

const tell = (facts: object) => process.stdout.write(`soak: ${JSON.stringify(facts)}\n`);

/** Typical requests of pages and commands. */
function readLists(load: Load): Promise<void> {
  const { client } = load.subject;
  const calls = [
    () => client.call(routes.listJobs, { query: { limit: 100 } }),
    () => client.call(routes.listJobs, { query: { status: ["ACTIVE"] } }),
    () => client.call(routes.listPipelines, { query: {} }),
    () => client.call(routes.listDatasets, { query: {} }),
    () => client.call(routes.listClusters, { query: {} }),
    () => client.call(routes.listSchedules, { query: {} }),
  ];
  return load.repeat([50, 400], async () => {
    await load.persistently("read a list", load.random.pick<() => Promise<unknown>>(calls));
  });
}

function stallNow(load: Load, jobs: JobLoad): Promise<void> {
  return load.repeat([2000, 8000], async () => {
    const [job] = jobs.made.slice(-1);
    if (job) await stall(load, job.id);
  });
}

function assertReady(samples: readonly Sample[], timeline: Timeline): void {
  const outside = samples.filter(({ from, to }) => !timeline.held(from, to));
  assert.ok(outside.length > 20, "the probe asked outside the faults too");
  const bad = outside.filter(({ from, to, starved, status }) => status !== 200 || to - from - starved >= 1000);
  assert.deepEqual(bad, [], "/readyz answered within a second of the time that the machine gave the server");
}

/** Idle, the server uses about as much memory as at the start, and every slot is free. */
async function assertIdle(subject: Subject, before: number): Promise<void> {
  // A task or a schedule may just have fired.
  await until("every slot came back", async () => {
    const [cluster] = await subject.client.call(routes.listClusters, { query: {} });
    return cluster?.busy_workers === 0;
  });
  let now = await subject.memory();
  for (let tries = 0; now > bound(before) && tries < 20; tries++) {
    await sleep(1000);
    now = await subject.memory();
  }
  assert.ok(now <= bound(before), `${Math.round(now)} MB of memory, ${Math.round(before)} MB at the beginning`);
}

const bound = (before: number) => before * 1.5 + 64;

async function assertCalmLog(subject: Subject): Promise<void> {
  const fatal = (await subject.log()).split("\n").filter((line) => /"level":60|uncaught|unhandled/i.test(line));
  assert.deepEqual(fatal, [], "nothing fatal in the server's log");
}

function assertWholeStore(subject: Subject): void {
  if (subject.cluster) return;
  const store = new DatabaseSync(subject.storeFile, { readOnly: true });
  assert.deepEqual(
    store
      .prepare("pragma integrity_check")
      .all()
      .map((row) => ({ ...row })),
    [{ integrity_check: "ok" }],
  );
  store.close();
}
