/**
 * The crash test of backfills: the server is repeatedly killed with -9 while a backfill runs. Afterwards every moment
 * has run exactly once, in order.
 *
 * Short form in the test suite; long form: CRASH_RUNS=50 CRASH_KILLS=20 npm test crash
 */
import assert from "node:assert/strict";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, type Backfill, type Client, routes } from "@millrace/contract";
import { shell } from "@millrace/testing/millrace/jobs.ts";
import { openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";

const momentCount = Number(process.env["CRASH_RUNS"] ?? 20);
const killCount = Number(process.env["CRASH_KILLS"] ?? 6);

describe("a server killed with -9 in the middle of a backfill runs each of its moments once, in order", () => {
  let postgres: TestPostgres;
  before(async () => {
    postgres = await startPostgres();
  });
  after(() => postgres.stop());

  it("on SQLite", { timeout: 600_000 }, () => crashTest(""));
  it("on PostgreSQL", { timeout: 600_000 }, async () => crashTest(await postgres.createDatabase()));
});

async function crashTest(databaseUrl: string): Promise<void> {
  const witness = await mkdtemp(join(tmpdir(), "millrace-witness-"));
  await chmod(witness, 0o777);
  // Every job has its own user, and all of them write here.
  const ran = join(witness, "ran");
  await writeFile(ran, "");
  await chmod(ran, 0o666);
  const server = await TestServer.start({
    ...(databaseUrl ? { databaseUrl } : {}),
    env: { MILLRACE_MAX_WORKERS: "3", MILLRACE_LOG_LEVEL: "warn", MILLRACE_JOB_PATHS: `${witness}:rw` },
  });
  try {
    const client = await server.client();
    const lineage = await openLineage(server, client, databaseUrl);
    const query = `echo begin $MILLRACE_SCHEDULED_AT >> '${ran}'; sleep 0.05; echo end $MILLRACE_SCHEDULED_AT >> '${ran}'`;
    await lineage.make("hourly", shell(query));
    await lineage.close();
    const { pipeline } = await client.call(routes.triggerPipeline, { body: { datasets: ["hourly"], review: true } });
    const to = new Date(Date.UTC(2026, 0, 1, momentCount - 1)).toISOString();
    const body = { pipeline_name: pipeline.name, from: "2026-01-01", to, every: "hour" };
    const { backfill } = await client.call(routes.createBackfill, { body });
    for (let round = 0; round < killCount; round++) {
      await until(client, backfill.id, ({ completed }) => completed >= (round * momentCount) / (killCount + 1));
      await sleep(Math.random() * 120);
      await server.stop("SIGKILL");
      await server.start();
    }
    const done = await until(client, backfill.id, ({ status }) => status !== "RUNNING");
    assert.deepEqual([done.status, done.completed, done.total], ["COMPLETED", momentCount, momentCount]);
    assert.deepEqual(
      (await readFile(ran, "utf8")).trim().split("\n"),
      done.moments.flatMap(({ moment }) => [`begin ${moment}`, `end ${moment}`]),
      "each once, each after the one before",
    );
    const pipelines = await client.call(routes.listPipelines, { query: { limit: 1000 } });
    assert.equal(pipelines.length, momentCount + 1, "no pipeline more than the first and one for each moment");
  } finally {
    await server.dispose();
    await rm(witness, { recursive: true, force: true });
  }
}

async function until(client: Client, id: number, wanted: (backfill: Backfill) => boolean): Promise<Backfill> {
  for (const deadline = Date.now() + 300_000; ; await sleep(20)) {
    const backfill = await client.call(routes.getBackfill, { query: { backfill_id: id } }).catch((error: unknown) => {
      if (error instanceof ApiError) throw error;
      return undefined;
    });
    if (backfill && wanted(backfill)) return backfill;
    if (Date.now() > deadline) throw new Error(`the backfill does not go on: ${JSON.stringify(backfill)}`);
  }
}
