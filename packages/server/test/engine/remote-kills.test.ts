/**
 * Jobs on a cluster of the fake remote engine (remote/service.ts says what is fake), through the HTTP API of a real
 * server that is killed with SIGKILL: no job is lost, none runs twice, logs are complete. An unreachable engine delays
 * no other cluster.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, routes } from "@millrace/contract";
import {
  createJob,
  readJob,
  readLog,
  runJob,
  shell,
  waitForEnd,
  waitForStatus,
} from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { DataFolder } from "../../src/machine/data-folder.ts";
import { RemoteService } from "./remote/remote-service.ts";

/** Generous, because other tests may use the machine. */
const patience = 240;
const words = [process.execPath, "--conditions=millrace-source", "--disable-warning=ExperimentalWarning"];

describe("a server with a remote engine", () => {
  let service: RemoteService;
  let server: TestServer;
  let client: Client;
  let tally: string;
  before(async () => {
    service = await RemoteService.start();
    tally = join(service.folder, "tally");
    server = await TestServer.start({
      serve: [...words, join(import.meta.dirname, "remote/server.ts")],
      env: { FAKE_ENGINE_URL: service.url, MILLRACE_ISOLATION: "none" },
    });
    client = await server.client();
  });
  after(async () => {
    await server.dispose();
    await service.stop();
  });

  const away = (query: string) => shell(query, { compute_cluster_name: "away" });
  /** A script that records its run in a list on its own machine and writes a log for a while. */
  const counted = (lines: number) =>
    away(`echo "$MILLRACE_JOB_ID" >> ${tally}; for i in $(seq ${lines}); do echo "line $i"; sleep 0.1; done`);
  const logOf = (lines: number) => [...Array(lines).keys()].map((index) => `line ${index + 1}\n`).join("");
  const runs = async () => (await readFile(tally, "utf8").catch(() => "")).split("\n").filter(Boolean);

  /** The row as the server stores it. */
  const handleOf = (id: string) => {
    const db = new DatabaseSync(new DataFolder(server.dataDir).storeFile, { readOnly: true });
    try {
      return db.prepare("select handle from attempts where job_id = ?").get(id)?.["handle"];
    } finally {
      db.close();
    }
  };

  it("runs a job there, stores its handle meanwhile, and shows its log and its exit code", async () => {
    const job = await createJob(client, away("echo up; sleep 1; echo over; exit 3"));
    await waitForStatus(client, job.id, ["RUNNING"], patience);
    assert.equal(handleOf(job.id), `fake-run-of-${job.id}.1`);
    const ended = await waitForEnd(client, job.id, patience);
    assert.deepEqual([ended.status, ended.exit_code], ["FAILED", 3]);
    assert.equal(await readLog(client, job.id), "up\nover\n");
  });

  it("refuses a job that the engine can never start, with the engine's reason", async () => {
    const { id } = await createJob(client, { ...away("x"), requirements: "something" });
    const { status, error_message } = await waitForEnd(client, id, patience);
    assert.equal(status, "FAILED");
    assert.match(error_message ?? "", /runs plain scripts: it has no requirements/);
  });

  it("cancels a job there", async () => {
    const { id } = await createJob(client, away("trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.05; done"));
    while ((await readLog(client, id)) === "") await sleep(20);
    await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
    assert.equal((await waitForEnd(client, id, patience)).status, "CANCELED");
    assert.match(await readLog(client, id), /bye/);
  });

  it("loses no job and runs none twice, whenever it is killed", async () => {
    const asked: string[] = [];
    const ask = async (count: number) => {
      for (let index = 0; index < count; index++) asked.push((await createJob(client, counted(5))).id);
    };
    // A killed server has not answered all requests; only acknowledged ones count.
    const askUntilItDies = () => ask(4).catch(() => {});
    const points = ["attempt-committed:2", "attempt-submitted:2", "exit-observed:1", "result-committed:1"];
    for (const fault of points) {
      await server.stop("SIGKILL");
      await server.start({ MILLRACE_FAULT: fault });
      await askUntilItDies();
      await server.ended();
      await server.start();
    }
    for (let round = 0; round < 5; round++) {
      await ask(3);
      await sleep(Math.random() * 1500);
      await server.restart();
    }
    for (const id of asked) {
      const { status, error_message } = await waitForEnd(client, id, patience);
      assert.equal(status, "COMPLETE", error_message ?? "");
      assert.equal(await readLog(client, id), logOf(5));
    }
    const ran = await runs();
    assert.equal(new Set(ran).size, ran.length, "none ran twice");
    assert.deepEqual(
      asked.filter((id) => !ran.includes(id)),
      [],
      "none was lost",
    );
  });

  it("pauses the cluster of an unreachable engine, and no job loses an attempt", async () => {
    const inFlight = await createJob(client, counted(20));
    while (!(await runs()).includes(inFlight.id)) await sleep(20);
    await service.kill();
    const statusOf = async (name: string) =>
      (await client.call(routes.listClusters, { query: {} })).find((cluster) => cluster.name === name)?.status;
    while ((await statusOf("away")) !== "UNREACHABLE") await sleep(50);
    assert.equal(await statusOf("local"), "ACTIVE");
    const waiting = await createJob(client, counted(1));
    assert.equal((await runJob(client, shell("echo here"))).job.status, "COMPLETE", "other clusters go on");
    assert.match((await readJob(client, waiting.id)).status, /^(CREATED|QUEUED)$/);
    await service.begin();
    for (const [{ id }, lines] of [
      [inFlight, 20],
      [waiting, 1],
    ] as const) {
      assert.equal((await waitForEnd(client, id, patience)).status, "COMPLETE");
      assert.equal(await readLog(client, id), logOf(lines));
      assert.equal((await runs()).filter((ran) => ran === id).length, 1);
      const { attempts } = await client.call(routes.getJobAttempts, { params: { job_id: id }, query: {} });
      assert.equal(attempts.length, 1);
    }
    const told = (text: string) => server.output.split(text).length - 1;
    assert.deepEqual([told("the engine is unreachable"), told("the engine is reachable again")], [1, 1]);
  });
});
