/**
 * The crash test of pipelines: the server is repeatedly killed with -9, at random moments and at fault points, while a
 * pipeline runs. Afterwards every run has run exactly once, after all its parents, and the pipeline is complete.
 *
 * Short form in the test suite; long form: CRASH_RUNS=50 CRASH_KILLS=20 npm test crash
 */
import assert from "node:assert/strict";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, type Client, isUnfinished, type Pipeline, routes } from "@millrace/contract";
import { readJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { type Made, openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";

const runCount = Number(process.env["CRASH_RUNS"] ?? 50);
const killCount = Number(process.env["CRASH_KILLS"] ?? 6);

/** Fault points at which the server kills itself, beside the random moments. */
const faults = ["", "result-committed:2", "attempt-committed:2", "exit-observed:3", "", "attempt-submitted:1"];

describe("a server killed with -9 in the middle of a pipeline runs each of its jobs once, in order", () => {
  let postgres: TestPostgres;
  before(async () => {
    postgres = await startPostgres();
  });
  after(() => postgres.stop());

  it("on SQLite", { timeout: 1_200_000 }, () => crashTest(""));
  it("on PostgreSQL", { timeout: 1_200_000 }, async () => crashTest(await postgres.createDatabase()));
});

async function crashTest(databaseUrl: string): Promise<void> {
  const witness = await mkdtemp(join(tmpdir(), "millrace-witness-"));
  await chmod(witness, 0o777);
  // Every job has its own user, and all of them write here.
  await writeFile(join(witness, "ran"), "");
  await chmod(join(witness, "ran"), 0o666);
  const server = await TestServer.start({
    ...(databaseUrl ? { databaseUrl } : {}),
    env: { MILLRACE_MAX_WORKERS: "3", MILLRACE_LOG_LEVEL: "warn", MILLRACE_JOB_PATHS: `${witness}:rw` },
  });
  try {
    const client = await server.client();
    await makeGraph(server, client, witness, databaseUrl);
    const body = { datasets: [`run_${runCount - 1}`], review: false };
    const { name } = (await client.call(routes.triggerPipeline, { body })).pipeline;
    await killAgainAndAgain(server, client, name);
    const pipeline = await ended(client, name);
    await assertAll(client, pipeline, witness);
    assert.doesNotMatch(server.output, /"level":50/, "the server logged no error");
  } finally {
    await server.dispose();
    await rm(witness, { recursive: true, force: true });
  }
}

/** Each run needs the previous one and the one seven before it; every fifth needs only the latter: chains and joins. */
const parentsOf = (index: number) =>
  [...new Set([index % 5 === 0 ? index - 7 : index - 1, index - 7])].filter((parent) => parent >= 0);

async function makeGraph(server: TestServer, client: Client, witness: string, databaseUrl: string): Promise<void> {
  const lineage = await openLineage(server, client, databaseUrl);
  const made: Made[] = [];
  const ran = join(witness, "ran");
  for (let index = 0; index < runCount; index++) {
    const query = `echo begin ${index} >> '${ran}' && sleep 0.0${index % 9} && echo end ${index} >> '${ran}'`;
    // The last one needs all others, so that all of them are in the pipeline.
    const needs = index === runCount - 1 ? made : parentsOf(index).map((parent) => made[parent] as Made);
    made.push(await lineage.make(`run_${index}`, shell(query, { query_name: `run-${index}` }), needs));
  }
  await lineage.close();
}

/** The kills are spread over the life of the pipeline: each waits until a few more runs are complete. */
async function killAgainAndAgain(server: TestServer, client: Client, name: string): Promise<void> {
  for (let round = 0; round < killCount; round++) {
    const due = Math.floor((round * runCount) / (killCount + 1));
    await Promise.race([server.ended(), reached(client, name, due)]);
    await sleep(Math.random() * 120);
    await server.stop("SIGKILL");
    await startThroughFaults(server, faults[round % faults.length] ?? "");
  }
  await server.stop("SIGKILL");
  await server.start();
}

async function reached(client: Client, name: string, completed: number): Promise<void> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(10)) {
    const pipeline = await read(client, name).catch(() => undefined);
    if (pipeline && pipeline.completed >= completed) return;
  }
}

async function startThroughFaults(server: TestServer, fault: string): Promise<void> {
  try {
    await server.start({ MILLRACE_FAULT: fault });
  } catch {
    await server.start();
  }
}

const read = (client: Client, name: string): Promise<Pipeline> => client.call(routes.getPipeline, { query: { name } });

async function ended(client: Client, name: string): Promise<Pipeline> {
  for (const deadline = Date.now() + 300_000; ; await sleep(50)) {
    const pipeline = await read(client, name).catch((error: unknown) => {
      if (error instanceof ApiError) throw error;
      return undefined;
    });
    if (pipeline && !isUnfinished(pipeline.status)) return pipeline;
    if (Date.now() > deadline) throw new Error(`the pipeline does not end: ${JSON.stringify(pipeline)}`);
  }
}

async function assertAll(client: Client, pipeline: Pipeline, witness: string): Promise<void> {
  assert.deepEqual(
    [pipeline.status, pipeline.completed, pipeline.total, pipeline.error_message],
    ["COMPLETED", runCount, runCount, null],
  );
  const lines = (await readFile(join(witness, "ran"), "utf8")).trim().split("\n");
  const all = [...Array(runCount).keys()];
  assert.deepEqual(
    lines.toSorted(),
    all.flatMap((index) => [`begin ${index}`, `end ${index}`]).toSorted(),
    "every run ran exactly once",
  );
  for (const index of all)
    for (const parent of parentsOf(index))
      assert.ok(
        lines.indexOf(`end ${parent}`) < lines.indexOf(`begin ${index}`),
        `run ${index} began before run ${parent} was done`,
      );
  for (const { created_job_id } of pipeline.job_runs)
    assert.equal((await readJob(client, created_job_id ?? "")).status, "COMPLETE");
  const jobs = await client.call(routes.listJobs, { query: { limit: 1000 } });
  assert.equal(jobs.length, 2 * runCount, "no job more than originals and drafts");
  const [cluster] = await client.call(routes.listClusters, { query: {} });
  assert.equal(cluster?.busy_workers, 0, "every slot came back");
}
