/** `datachain job run` with --start-time and --cron: tasks that create jobs. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Job, routes } from "@millrace/contract";
import { readJob, readLog, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { jobIdOf } from "./support/client-output.ts";
import { ClientSuite } from "./support/client-suite.ts";

const skip = await whyNoDatachain();

describe("tasks of datachain job run", { skip, concurrency: 2 }, () => {
  // The client sends a time without an offset: the server fires on time only if it reads it in the right zone.
  const zone = "Asia/Tokyo";
  const suite = ClientSuite.use({ MILLRACE_TIMEZONE: zone });
  const newClient = () => suite.client({ env: { TZ: zone } });

  const childrenOf = async (task: string): Promise<Job[]> => {
    const jobs = await suite.api.call(routes.listJobs, { query: { limit: 100 } });
    return jobs.filter(({ parent_job_id }) => parent_job_id === task);
  };

  async function firstChild(task: string): Promise<Job> {
    const deadline = Date.now() + 60_000;
    for (;;) {
      const [child] = await childrenOf(task);
      if (child) return child;
      assert.ok(Date.now() < deadline, `task ${task} fired no job: ${JSON.stringify(await readJob(suite.api, task))}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  test("--start-time creates a task, ends with exit code 0 at once, and creates one job at that time", async () => {
    const client = await newClient();
    await client.write("later.py", 'import os\nprint("fired with", os.environ["COLOUR"])\n');
    const result = await client.run("job", "run", "later.py", "--start-time", "in 2 seconds", "--env", "COLOUR=green");
    const id = jobIdOf(result);
    assert.deepEqual([result.code, result.stdout], [0, `Job ${id} is scheduled as a task in Studio.\n`]);
    const task = await readJob(suite.api, id);
    const start = Date.parse(task.start_after ?? "");
    assert.ok(Math.abs(start - Date.parse(task.created_at) - 2000) < 10_000, `starts after ${task.start_after}`);

    const child = await waitForEnd(suite.api, (await firstChild(id)).id);
    assert.deepEqual([child.status, child.name, child.start_after], ["COMPLETE", "later.py", null]);
    assert.ok(Date.parse(child.created_at) >= start, "not before its time");
    assert.equal(await readLog(suite.api, child.id), "fired with green\n");
    const { status, next_run } = await readJob(suite.api, id);
    assert.deepEqual([status, next_run, (await childrenOf(id)).length], ["COMPLETE", null, 1]);
  });

  test("a cancelled task does not fire, while another with a later time does", async () => {
    const client = await newClient();
    await client.write("stopped.sh", "echo should not run\n");
    await client.write("other.sh", "echo runs\n");
    // The client reads the time just before it sends it, so the second is later however slow the machine is.
    // On a busy machine, the client and the cancellation take seconds.
    const inAWhile = ["--start-time", "in 20 seconds"];
    const stopped = jobIdOf(await client.run("job", "run", "stopped.sh", ...inAWhile));
    await suite.api.call(routes.cancelJob, { params: { job_id: stopped }, body: {} });
    const other = jobIdOf(await client.run("job", "run", "other.sh", ...inAWhile));
    await firstChild(other);
    assert.deepEqual(await childrenOf(stopped), []);
    const task = await readJob(suite.api, stopped);
    assert.deepEqual([task.status, task.next_run], ["CANCELED", null]);
  });

  test("--cron creates a task with a next run, which cancelling removes", async () => {
    const client = await newClient();
    await client.write("hourly.sh", "echo every hour\n");
    const result = await client.run("job", "run", "hourly.sh", "--cron", "@hourly");
    assert.equal(result.code, 0, result.stderr);
    const id = jobIdOf(result);
    const task = await readJob(suite.api, id);
    const hour = 3_600_000;
    const nextHour = (Math.floor(Date.parse(task.created_at) / hour) + 1) * hour;
    assert.deepEqual([task.status, task.cron_expression], ["TASK", "@hourly"]);
    assert.equal(Date.parse(task.next_run ?? ""), nextHour);

    const list = await client.run("job", "ls", "--status", "task", "--json");
    assert.ok((JSON.parse(list.stdout) as Job[]).some((job) => job.id === id));
    assert.equal((await client.run("job", "cancel", id)).code, 0);
    const { status, next_run } = await readJob(suite.api, id);
    assert.deepEqual([status, next_run], ["CANCELED", null]);
  });
});
