/** The effects of a retried job on others: pipelines, tasks, masking of its logs, disk usage of its logs. */
import assert from "node:assert/strict";
import { access, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, type Pipeline, routes } from "@millrace/contract";
import { createJob, readJob, readLog, runJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { makeDataset } from "@millrace/testing/millrace/lineage.ts";
import { pino } from "pino";
import { day } from "../../src/domain/time/clock.ts";
import { removeOldLogs } from "../../src/loops/retention.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { statesOf, trigger, waitForPipeline, waitForPipelineEnd } from "../support/pipelines.ts";

describe("with a retried job", () => {
  let server: InProcessServer;
  let client: Client;
  let folder: string;
  let count = 0;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-retries-"));
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "4" });
    client = await server.client();
  });
  after(async () => {
    await server.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  /** A script that fails until a file exists, and records every attempt. */
  const fragile = () => {
    const path = join(folder, String(++count));
    return {
      query: `echo x >> ${path}.begun; [ -e ${path} ]`,
      mend: () => writeFile(path, ""),
      begun: async () => (await readFile(`${path}.begun`, "utf8").catch(() => "")).length / 2,
    };
  };
  const set = (pipeline_name: string, rest: object) =>
    client.call(routes.updatePipelineSettings, { body: { pipeline_name, ...rest } });
  const act = async (route: typeof routes.pausePipeline | typeof routes.resumePipeline, name: string) =>
    (await client.call(route, { body: { name } })).pipeline;
  const draftOf = ({ job_runs }: Pipeline, name: string) =>
    job_runs.find((run) => run.name === `${name}.sh`)?.created_job_id ?? assert.fail(`no run ${name}`);
  const isRetried = async (id: string) => (await readJob(client, id)).retried > 0;

  it("a pipeline waits for the last attempt of a run: children start after the one that succeeds", async () => {
    const { query, mend, begun } = fragile();
    const parent = await makeDataset({ store: server.store, client }, "parent", query, {
      input: { retries: 3, retry_delay: 1 },
    });
    await makeDataset({ store: server.store, client }, "child", "echo child", { needs: [parent] });
    const { name, ...made } = await trigger(client, ["child"]);
    while (!(await isRetried(draftOf({ name, ...made }, "parent")))) await sleep(20);
    assert.equal((await waitForPipeline(client, name, () => true)).status, "RUNNING");
    await mend();
    const pipeline = await waitForPipelineEnd(client, name);
    assert.deepEqual([pipeline.status, statesOf(pipeline)], ["COMPLETED", { parent: "COMPLETE", child: "COMPLETE" }]);
    assert.ok((await begun()) >= 2);
  });

  it("a pipeline fails with the last attempt, and its settings apply to every run", async () => {
    const { query, begun } = fragile();
    await makeDataset({ store: server.store, client }, "doomed", query);
    const { name } = await trigger(client, ["doomed"], true);
    const { pipeline: changed } = await set(name, { timeout: 60, retries: 2, retry_delay: 0 });
    assert.deepEqual([changed.timeout, changed.retries, changed.retry_delay], [60, 2, 0]);
    const job = await readJob(client, draftOf(changed, "doomed"));
    assert.deepEqual([job.timeout, job.retries, job.retry_delay], [60, 2, 0]);
    await act(routes.resumePipeline, name);
    const pipeline = await waitForPipelineEnd(client, name);
    assert.deepEqual([pipeline.status, await begun()], ["FAILED", 3]);
  });

  it("a paused pipeline starts no retry before it is resumed, and its settings do not change the started run", async () => {
    const { query, mend, begun } = fragile();
    await makeDataset({ store: server.store, client }, "pausing", query, { input: { retries: 1, retry_delay: 3600 } });
    const { name, ...made } = await trigger(client, ["pausing"]);
    const id = draftOf({ name, ...made }, "pausing");
    while (!(await isRetried(id))) await sleep(20);
    await set(name, { priority: 0 });
    const { db } = server.store;
    const queued = await db.selectFrom("queue").select("priority").where("job_id", "=", id).executeTakeFirst();
    assert.equal(queued?.priority, 5);
    await act(routes.pausePipeline, name);
    assert.equal((await readJob(client, id)).status, "PENDING");
    await set(name, { environment: "LATE=1", timeout: 5 });
    const { environment, timeout } = await readJob(client, id);
    assert.deepEqual([environment, timeout], [{}, undefined]);
    await mend();
    await act(routes.resumePipeline, name);
    const pipeline = await waitForPipelineEnd(client, name);
    assert.deepEqual([pipeline.status, await begun()], ["COMPLETED", 2]);
  });

  it("a task passes its limits to the jobs that it creates", async () => {
    const limits = { timeout: 77, retries: 2, retry_delay: 0 };
    const task = await createJob(client, shell("exit 1", { start_after: new Date().toISOString(), ...limits }));
    assert.deepEqual([task.status, task.timeout], ["TASK", 77]);
    const query = { parent_job_id: task.id };
    let [job] = await client.call(routes.listJobs, { query });
    for (; !job; await sleep(50)) [job] = await client.call(routes.listJobs, { query });
    const ended = await waitForEnd(client, job.id);
    assert.deepEqual([ended.timeout, ended.retries, ended.retried], [77, 2, 2]);
  });

  it("secrets of every attempt are masked in the log, including values that were replaced between two attempts", async () => {
    const give = (value: string) =>
      client.call(routes.setTeamCredentials, { body: { name: "storage", values: { STORE_KEY: value } } });
    await give("first-secret-value");
    const input = { credentials_name: "storage", retries: 1, retry_delay: 2 };
    const { id } = await createJob(client, shell('echo "key $STORE_KEY"; exit 1', input));
    while (!(await isRetried(id))) await sleep(20);
    await give("second-secret-value");
    await waitForEnd(client, id);
    const log = await readLog(client, id);
    assert.equal(log.match(/^key \*+$/gm)?.length, 2, log);
    assert.doesNotMatch(log, /secret-value/);
    const { attempts } = await client.call(routes.getJobAttempts, { params: { job_id: id }, query: {} });
    assert.doesNotMatch(JSON.stringify(attempts), /secret-value/);
  });

  it("the reason of an attempt comes from its own log, not from an earlier one", async () => {
    const path = join(folder, "reasons");
    const query = `[ -e ${path} ] && { echo quiet; exit 2; }; touch ${path}; echo loud; exit 1`;
    const { job } = await runJob(client, shell(query, { retries: 1, retry_delay: 0 }));
    assert.match(job.error_message ?? "", /exit code 2.*quiet/);
    assert.doesNotMatch(job.error_message ?? "", /loud|Attempt 1/);
  });

  it("logs of all attempts count as the job's, and are deleted together", async () => {
    const query = "head -c 300000 /dev/zero; exit 1";
    const { job } = await runJob(client, shell(query, { retries: 2, retry_delay: 0 }));
    const paths = [1, 2, 3].map((attempt) => join(server.dataDir, "jobs", `${job.id}.${attempt}`, "log"));
    const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).blocks * 512));
    const counted = async () =>
      (await server.store.db.selectFrom("jobs").select("log_bytes").where("id", "=", job.id).executeTakeFirst())
        ?.log_bytes;
    for (; (await counted()) === null; await sleep(100));
    assert.equal(
      await counted(),
      sizes.reduce((sum, size) => sum + size, 0),
    );
    const now = Date.now() + 91 * day;
    await removeOldLogs({
      ...{ store: server.store, clock: { now: () => now, monotonic: () => now }, log: pino({ level: "silent" }) },
      ...{ engines: server.engines, logDays: 90, deliveryDays: 0, auditDays: 0 },
    });
    for (const path of paths) await assert.rejects(access(path), /ENOENT/);
    const { attempts } = await client.call(routes.getJobAttempts, { params: { job_id: job.id }, query: {} });
    assert.equal(attempts.length, 3, "that there were three is known all the same");
    const answer = await server.fetch(`/api/datachain/jobs/${job.id}/logs?team_name=main&attempt=1`);
    assert.deepEqual([answer.status, /was removed on/.test(await answer.text())], [404, true]);
  });

  it("reading attempts needs a token, and those of an unknown job are a 404", async () => {
    const { job } = await runJob(client, shell("exit 1"));
    const path = `/api/datachain/jobs/${job.id}/attempts`;
    assert.equal((await server.fetch(`${path}?team_name=main`)).status, 200);
    assert.equal((await server.fetch(`${path}?team_name=main`, { token: null })).status, 401);
    const unknown = "/api/datachain/jobs/01941f29-7c00-7000-8000-000000000000/attempts?team_name=main";
    assert.equal((await server.fetch(unknown)).status, 404);
  });
});
