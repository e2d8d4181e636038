/**
 * A server survives its database: PostgreSQL is restarted, killed, paused, made unreachable and failed over while jobs
 * are created, run and end. The server process stays the same; afterwards nothing is lost, nothing is doubled, and
 * every log is what its job wrote.
 */
import assert from "node:assert/strict";
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, type Client, routes } from "@millrace/contract";
import { createJob, readLogBytes, shell, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { type ServerOptions, TestServer } from "@millrace/testing/millrace/server.ts";
import { type OwnPostgres, startOwnPostgres } from "@millrace/testing/servers/postgres.ts";
import { CuttingProxy } from "./support/cutting-proxy.ts";

const jobCount = Number(process.env["CRASH_JOBS"] ?? 40);

describe("a server survives its PostgreSQL", { timeout: 600_000 }, () => {
  let postgres: OwnPostgres;
  before(async () => {
    postgres = await startOwnPostgres();
  });
  after(() => postgres.stop());

  it("when it is restarted repeatedly under load", async () => {
    await underLoad(await postgres.createDatabase(), async () => {
      for (let round = 0; round < 5; round++) {
        await sleep(300);
        await postgres.cluster.restart("fast");
      }
    });
  });

  it("when it ends as by a crash and by kill -9, and is started again", async () => {
    await underLoad(await postgres.createDatabase(), async () => {
      for (const ending of ["immediate", "kill", "immediate", "kill"] as const) {
        await sleep(300);
        await postgres.cluster.down(ending);
        await sleep(200);
        await postgres.cluster.up();
      }
    });
  });

  it("when it is suspended, with its connections open, and continued", async () => {
    await underLoad(await postgres.createDatabase(), async ({ server }) => {
      for (let round = 0; round < 2; round++) {
        await sleep(300);
        await postgres.cluster.pause();
        await expectOutage(server, 12);
        await postgres.cluster.resume();
        await untilReady(server);
      }
    });
  });

  it("when it is unreachable for longer than every timeout: probes and requests are answered at once, the log is calm", async () => {
    await withServer(await postgres.createDatabase(), async ({ server, client, witness }) => {
      const gate = join(witness, "go");
      const running = await createJob(client, shell(`while [ ! -e ${gate} ]; do sleep 0.05; done; echo ended; exit 3`));
      await waitForStatus(client, running.id, ["RUNNING"]);
      await postgres.cluster.down();
      await expectOutage(server, 20);
      // Ends while nothing can be written.
      await writeFile(gate, "");
      await sleep(12_000);
      await expectOutage(server, 20);
      await postgres.cluster.up();
      await untilReady(server);
      const ended = await waitForEnd(client, running.id);
      assert.deepEqual([ended.status, ended.exit_code], ["FAILED", 3]);
      assert.equal((await readLogBytes(client, running.id)).toString(), "ended\n");
      assert.equal(
        (server.output.match(/the database is unreachable; requests get status 503/g) ?? []).length,
        1,
        "one line when it went",
      );
      assert.equal(
        (server.output.match(/the database is reachable again/g) ?? []).length,
        1,
        "one line when it came back",
      );
      assert.doesNotMatch(server.output, /"level":(50|60)/);
    });
  });

  it("when it is failed over to its standby under load", async () => {
    const standby = await postgres.cluster.createStandby();
    const proxy = await CuttingProxy.start(postgres.cluster.port);
    try {
      const url = new URL(await postgres.createDatabase());
      url.port = new URL(proxy.url).port;
      await underLoad(url.href, async ({ server }) => {
        await sleep(500);
        // While it is still a standby, it answers but accepts no writes, so the server must not use it.
        proxy.pointAt(standby.port);
        proxy.cut("reset");
        await expectOutage(server, 5);
        await postgres.cluster.down("kill");
        await standby.promote();
        await untilReady(server);
      });
    } finally {
      await proxy.stop();
      await standby.remove();
      await postgres.stop();
      postgres = await startOwnPostgres();
    }
  });

  it("and stops on request while PostgreSQL hangs", async () => {
    await withServer(await postgres.createDatabase(), async ({ server, life }) => {
      await postgres.cluster.pause();
      try {
        life.isOver = true;
        await server.stop("SIGTERM");
      } finally {
        await postgres.cluster.resume();
      }
      assert.match(server.output, /stopping; running jobs continue/);
    });
  });

  it("and waits for it, with a log line, if it is started first", async () => {
    const databaseUrl = await postgres.createDatabase();
    await postgres.cluster.down();
    const server = await TestServer.prepare({ databaseUrl });
    const started = server.start();
    started.catch(() => {});
    try {
      while (!/the database is unreachable; the server waits for it before it starts/.test(server.output))
        await sleep(20);
      await postgres.cluster.up();
      await started;
      assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
    } finally {
      await server.dispose();
    }
  });

  it("but ends with the reason if the password is wrong or the database is unknown", async () => {
    const url = new URL(await postgres.createDatabase());
    url.password = "wrong";
    await assert.rejects(TestServer.start({ databaseUrl: url.href }), /password authentication failed/);
    url.password = "postgres";
    url.pathname = "/nowhere";
    await assert.rejects(TestServer.start({ databaseUrl: url.href }), /database "nowhere" does not exist/);
  });
});

interface Scene {
  readonly server: TestServer;
  readonly client: Client;
  /** A folder that jobs may write to. */
  readonly witness: string;
  /** Whether the test itself has ended the server. */
  readonly life: { isOver: boolean };
}

async function withServer(databaseUrl: string, test: (scene: Scene) => Promise<void>): Promise<void> {
  const witness = await mkdtemp(join(tmpdir(), "millrace-witness-"));
  await chmod(witness, 0o777);
  const env = { MILLRACE_MAX_WORKERS: "4", MILLRACE_DATABASE_TIMEOUT: "1", MILLRACE_JOB_PATHS: `${witness}:rw` };
  const server = await TestServer.start({ databaseUrl, env } satisfies ServerOptions);
  const life = { isOver: false };
  const died = server.ended().then(() => {
    if (!life.isOver) throw new Error(`the server ended:\n${server.output.slice(-4000)}`);
  });
  died.catch(() => {});
  const { pid } = server;
  try {
    await Promise.race([
      test({ server, client: await server.client(), witness, life }),
      died.then(() => new Promise<never>(() => {})),
    ]);
    assert.equal(server.pid, pid);
  } finally {
    life.isOver = true;
    await server.dispose();
    await rm(witness, { recursive: true, force: true });
  }
}

/** Jobs are created all the time; at the end each has run once, and its log is complete. */
async function underLoad(databaseUrl: string, disturb: (scene: Scene) => Promise<void>): Promise<void> {
  await withServer(databaseUrl, async (scene) => {
    const { client, witness } = scene;
    let disturbed = false;
    const disturbing = disturb(scene).finally(() => {
      disturbed = true;
    });
    disturbing.catch(() => {});
    const ids: string[] = [];
    const worker = async () => {
      while (ids.length < jobCount || !disturbed) {
        const index = ids.push("") - 1;
        ids[index] = await submit(client, index, witness);
        await sleep(20);
      }
    };
    await Promise.all([worker(), worker(), worker()]);
    await disturbing;
    await assertAllRanOnce(client, ids, witness);
  });
}

const lines = (index: number) => [...Array(50).keys()].map((i) => `${i} of ${index}\n`).join("");

/** Repeats a request under the same key until it is answered, as a client does. */
async function submit(client: Client, index: number, witness: string): Promise<string> {
  const query = `echo once >> ${witness}/ran-${index}; i=0; while [ $i -lt 50 ]; do echo "$i of ${index}"; i=$((i+1)); done; exit ${index % 3}`;
  for (const deadline = Date.now() + 120_000; ; await sleep(50)) {
    try {
      const headers = { "idempotency-key": `database-${index}` };
      return (await client.call(routes.createJob, { body: shell(query) }, { headers })).id;
    } catch (error) {
      // Whatever happens to the database, the only error is unavailable.
      assert.ok(error instanceof ApiError && error.code === "unavailable", String(error));
      assert.ok(Date.now() < deadline, "answered in the end");
    }
  }
}

async function assertAllRanOnce(client: Client, ids: readonly string[], witness: string): Promise<void> {
  assert.equal(new Set(ids).size, ids.length, "every job has an id of its own");
  for (const [index, id] of ids.entries()) {
    const job = await waitForEnd(client, id, 120);
    const code = index % 3;
    const expected = [code === 0 ? "COMPLETE" : "FAILED", code];
    assert.deepEqual([job.status, job.exit_code], expected, `job ${index}: ${job.error_message}`);
    assert.equal((await readLogBytes(client, id)).toString(), lines(index));
    assert.equal(await readFile(join(witness, `ran-${index}`), "utf8"), "once\n", `job ${index} ran once`);
  }
  assert.equal((await readdir(witness)).length, ids.length, "nothing ran that was not asked for");
  const [cluster] = await client.call(routes.listClusters, { query: {} });
  assert.equal(cluster?.busy_workers, 0, "every slot came back");
}

/** This many consecutive probes find it alive and not ready; a request is refused as unavailable with Retry-After. */
async function expectOutage(server: TestServer, probes: number): Promise<void> {
  while ((await fetch(`${server.url}/readyz`)).status === 200) await sleep(20);
  for (let count = 0; count < probes; count++) {
    const ready = await fetch(`${server.url}/readyz`);
    assert.equal(ready.status, 503);
    assert.match(await ready.text(), /database of the server is unreachable; running jobs continue/);
    assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
  }
  const headers = { authorization: "Bearer nobody-knows" };
  const refused = await fetch(`${server.url}/api/datachain/jobs/`, { headers });
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "2"]);
  assert.equal(((await refused.json()) as { code: string }).code, "unavailable");
  const page = await fetch(server.url, { headers: { cookie: "millrace_session=nobody-knows" } });
  assert.deepEqual([page.status, page.headers.get("retry-after")], [503, "2"]);
}

async function untilReady(server: TestServer): Promise<void> {
  for (const deadline = Date.now() + 60_000; (await fetch(`${server.url}/readyz`)).status !== 200; await sleep(50))
    assert.ok(Date.now() < deadline, "ready again");
}
