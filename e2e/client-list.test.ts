/** `datachain job ls` and `job clusters`. */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { type Job, routes } from "@millrace/contract";
import { createJob, python, runJob, shell, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { ClientSuite } from "./support/client-suite.ts";
import type { Datachain } from "./support/datachain.ts";

const skip = await whyNoDatachain();

describe("datachain job ls and clusters", { skip, concurrency: 2 }, () => {
  const suite = ClientSuite.use({ MILLRACE_MAX_WORKERS: "4" });
  let client: Datachain;
  let complete: Job;
  let failed: Job;
  let running: Job;

  before(async () => {
    client = await suite.client();
    complete = (await runJob(suite.api, python('print("all went well")', { query_name: "good.py" }))).job;
    failed = (await runJob(suite.api, shell("exit 3", { query_name: "1e5" }))).job;
    running = await createJob(suite.api, shell("echo on its way; sleep 600", { query_name: "long.sh" }));
    await waitForStatus(suite.api, running.id, ["RUNNING"]);
  });

  async function listed(...args: string[]): Promise<Job[]> {
    const { code, stdout, stderr } = await client.run("job", "ls", "--json", ...args);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as Job[];
  }
  const ids = (jobs: Job[]) => jobs.map(({ id }) => id);

  test("ls --json prints the API's answer, newest first", async () => {
    const jobs = await listed("--limit", "100", "--status", "INACTIVE");
    assert.deepEqual(jobs, await suite.api.call(routes.listJobs, { query: { status: ["INACTIVE"], limit: 100 } }));
    const times = jobs.map(({ created_at }) => created_at);
    assert.deepEqual(times, times.toSorted().toReversed());
    assert.ok(ids(jobs).includes(complete.id) && ids(jobs).includes(failed.id));
  });

  test("ls --status accepts a state in any letter case, and active", async () => {
    assert.deepEqual(ids(await listed("--status", "Complete")), [complete.id]);
    assert.deepEqual(ids(await listed("--status", "failed")), [failed.id]);
    const active = await listed("--status", "active");
    assert.ok(ids(active).includes(running.id));
    assert.ok(!ids(active).includes(complete.id) && !ids(active).includes(failed.id));
  });

  test("ls --status with an unknown state lists the states", async () => {
    const { code, stderr } = await client.run("job", "ls", "--status", "sleepy");
    assert.equal(code, 1);
    assert.match(stderr, /^Error: status: expected ACTIVE, INACTIVE or one of .*RUNNING.*"SLEEPY"/i);
  });

  test("ls --limit returns only the newest", async () => {
    const jobs = await listed("--limit", "1", "--status", "INACTIVE");
    const [newest] = await suite.api.call(routes.listJobs, { query: { status: ["INACTIVE"], limit: 1 } });
    assert.deepEqual(ids(jobs), [newest?.id]);
  });

  test("ls --extended shows cluster and stages, of finished and of running jobs", async () => {
    const { code, stdout, stderr } = await client.run("job", "ls", "--extended", "--limit", "100");
    assert.equal(code, 0, stderr);
    const rowOf = ({ id }: Job) => stdout.split("\n").find((line) => line.includes(id)) ?? "";
    assert.match(rowOf(complete), /good\.py .* COMPLETE .* admin +\| local +\| \S.*: \d+s/);
    assert.match(rowOf(failed), /\| 1e5 +\| FAILED /);
    assert.match(rowOf(running), /long\.sh .* RUNNING .* local +\| \S.*: running/);
  });

  test("ls without results says so", async () => {
    const { code, stdout } = await client.run("job", "ls", "--status", "PENDING");
    assert.deepEqual([code, stdout], [0, "No jobs found\n"]);
  });

  test("clusters prints a table, and with --json the API's answer", async () => {
    const table = await client.run("job", "clusters");
    assert.equal(table.code, 0, table.stderr);
    assert.match(table.stdout, /\| 1 +\| local +\| ACTIVE +\| local .*\| \d\/4\/4 +\| True +\|/);
    const { code, stdout } = await client.run("job", "clusters", "--json");
    assert.equal(code, 0);
    const [answer] = await suite.api.call(routes.listClusters, { query: {} });
    const [cluster] = JSON.parse(stdout) as (typeof answer)[];
    assert.deepEqual({ ...cluster, busy_workers: 0 }, { ...answer, busy_workers: 0 });
  });
});
