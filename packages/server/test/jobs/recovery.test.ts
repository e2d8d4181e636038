/** Jobs that would wait or run forever without recovery. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { createClient, routes } from "@millrace/contract";
import { createJob, readJob, readLog, shell, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { startOwnPostgres, startPostgres } from "@millrace/testing/servers/postgres.ts";
import { until } from "@millrace/testing/until.ts";
import { pino } from "pino";
import { type ServerOptions, startServer } from "../../src/app/server.ts";
import { readConfig } from "../../src/configuration/config.ts";
import { jobIdAt } from "../../src/domain/lifecycle/job-ids.ts";
import { createAdminToken } from "../../src/domain/people/tokens.ts";
import { day } from "../../src/domain/time/clock.ts";

const log = pino({ level: "silent" });
const folder = () => mkdtemp(join(tmpdir(), "millrace-recovery-"));

async function start(settings: Record<string, string>, options: ServerOptions = {}) {
  const config = readConfig({}, { PATH: process.env["PATH"], MILLRACE_PORT: "0", ...settings });
  const server = await startServer(config, log, options);
  const token = await createAdminToken(server.store, {}, Date.now());
  return { ...server, client: createClient({ url: server.url, token, team: "main" }) };
}

describe("recovery", () => {
  it("orders new jobs after those that were created while the clock was ahead", async () => {
    const server = await TestServer.start();
    try {
      const client = await server.client();
      const { id } = await createJob(client, shell(":"));
      await waitForEnd(client, id);
      await server.stop();
      const store = new DatabaseSync(join(server.dataDir, "millrace.db"));
      const made = jobIdAt(Date.now() + 400 * day).replace("-0000-0000-", "-7fff-8000-");
      store.prepare("update jobs set id = ? where id = ?").run(made, id);
      store.close();
      await server.start();
      const later = await createJob(client, shell(":"));
      const listed = await client.call(routes.listJobs, { query: {} });
      assert.deepEqual([listed.length, listed[0]?.id], [2, later.id]);
      await waitForEnd(client, later.id);
    } finally {
      await server.dispose();
    }
  });

  it("fails a job that is wider than its cluster has become, and the jobs behind it run", async () => {
    const dataDir = await folder();
    const large = await start({ MILLRACE_DATA_DIR: dataDir, MILLRACE_MAX_WORKERS: "4" });
    const running = await createJob(large.client, shell("sleep 1", { workers: 4 }));
    await waitForStatus(large.client, running.id, ["RUNNING"]);
    const wide = await createJob(large.client, shell(":", { workers: 4 }));
    const behind = await createJob(large.client, shell(":"));
    await large.stop();
    const small = await start({ MILLRACE_DATA_DIR: dataDir, MILLRACE_MAX_WORKERS: "2" });
    const failed = await waitForEnd(small.client, wide.id);
    assert.match(failed.error_message ?? "", /needs 4 workers, and the cluster local now has only 2/);
    assert.equal((await waitForEnd(small.client, behind.id)).status, "COMPLETE");
    await small.stop();
    await rm(dataDir, { recursive: true });
  });

  it("fails the jobs of a lost data folder, or retries them later if they have retries, and frees their slots", async () => {
    const postgres = await startPostgres();
    const settings = { MILLRACE_DATABASE_URL: await postgres.createDatabase(), MILLRACE_MAX_WORKERS: "2" };
    const old = await folder();
    const before = await start({ ...settings, MILLRACE_DATA_DIR: old });
    const lost = await createJob(before.client, shell("sleep 5"));
    const retried = await createJob(before.client, shell("sleep 2", { retries: 1, retry_delay: 0 }));
    for (const { id } of [lost, retried]) await waitForStatus(before.client, id, ["RUNNING"]);
    await before.stop();
    const fresh = await folder();
    let ahead = 0;
    const clock = { now: () => Date.now() + ahead, monotonic: () => performance.now() + ahead };
    const after = await start({ ...settings, MILLRACE_DATA_DIR: fresh }, { clock });
    const job = await readJob(after.client, lost.id);
    assert.equal(job.status, "FAILED");
    assert.match(
      job.error_message ?? "",
      /a server with another data folder ran it. Make sure that it does not run there/,
    );
    const next = await createJob(after.client, shell(":"));
    assert.equal((await waitForEnd(after.client, next.id)).status, "COMPLETE");
    assert.equal((await readJob(after.client, retried.id)).status, "QUEUED", "it may still run beside the old folder");
    ahead = 16 * 60_000;
    await createJob(after.client, shell(":"));
    const again = await waitForEnd(after.client, retried.id);
    assert.deepEqual([again.status, again.retried], ["COMPLETE", 1]);
    await after.stop();
    await postgres.stop();
    await Promise.all([old, fresh].map((path) => rm(path, { recursive: true, force: true })));
  });

  it("ends the jobs of a server whose database another server has taken: they may run there again", async () => {
    const postgres = await startOwnPostgres();
    const databaseUrl = await postgres.createDatabase();
    const options = { databaseUrl, env: { MILLRACE_ISOLATION: "none" } };
    const first = await TestServer.start(options);
    const client = await first.client();
    const { id } = await createJob(client, shell("sleep 3600 & echo $$ $!; wait", { retries: 1 }));
    const pids = await until("the job's processes", async () => {
      const found = (await readLog(client, id)).match(/\d+/g);
      return found?.map(Number);
    });
    const alive = () => pids.filter((pid) => existsSync(`/proc/${pid}`));
    process.kill(first.pid ?? 0, "SIGSTOP");
    await postgres.cluster.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()",
    );
    const second = await TestServer.start(options);
    assert.equal((await readJob(await second.client(), id)).status, "QUEUED");
    assert.equal(alive().length, 2);
    process.kill(first.pid ?? 0, "SIGCONT");
    await first.ended();
    assert.match(first.output, /another server took the lock on the database; this server ends its jobs and exits/);
    // Killed at the exit; the kernel frees their memory a moment later.
    await until("their end", () => alive().length === 0);
    for (const server of [first, second]) await server.dispose();
    await postgres.stop();
  });

  it("removes interrupted uploads and keeps complete ones", async () => {
    const dataDir = await folder();
    const first = await start({ MILLRACE_DATA_DIR: dataDir });
    await first.client.upload(routes.uploadFile, new Blob(["kept"]), "kept");
    await first.stop();
    await mkdir(join(dataDir, "files/aa"), { recursive: true });
    for (const name of ["aa-cut.part", "aa-without-a-row"]) {
      const path = join(dataDir, "files/aa", name);
      await writeFile(path, "x");
      await utimes(path, 1, 1);
    }
    const second = await start({ MILLRACE_DATA_DIR: dataDir });
    const left = async () =>
      (await readdir(join(dataDir, "files"), { recursive: true })).filter((name) => name.includes("-"));
    for (const deadline = Date.now() + 120_000; (await left()).length > 1 && Date.now() < deadline; ) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.equal((await left()).length, 1);
    await second.stop();
    await rm(dataDir, { recursive: true });
  });
});
