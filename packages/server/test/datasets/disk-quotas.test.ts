/** Disk quotas of a team: uploads, logs and its warehouse. */
import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { type IncomingMessage, request as post } from "node:http";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { ApiError, type Client, createClient, type Job, routes } from "@millrace/contract";
import { createJob, python, runJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain, withLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

const skip = await whyNoDatachain();
const mebibyte = 1024 ** 2;

async function usageOf(client: Client) {
  return client.call(routes.getTeamUsage, { params: { team_name: "main" } });
}

const isRefused = (pattern: RegExp) => (error: unknown) =>
  error instanceof ApiError && error.code === "wrong_state" && pattern.test(error.message);

describe("quotas of uploads and logs", () => {
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess({ MILLRACE_TEAM_UPLOADS: "64KiB", MILLRACE_TEAM_LOGS: "1MiB" });
    client = await server.client();
  });
  after(() => server.dispose());

  const upload = (bytes: number) => client.upload(routes.uploadFile, new Blob(["x".repeat(bytes)]), "file");

  it("uploads are counted in blocks, shown beside the quota, and refused beyond it without leaving anything behind", async () => {
    await upload(1);
    await upload(50_000);
    assert.deepEqual((await usageOf(client)).uploads, { bytes: 4096 + 53_248, quota: 65_536 });
    await assert.rejects(
      upload(9000),
      isRefused(/team main has 56 KiB of uploads, .* and its quota for uploads is 64 KiB/),
    );
    assert.equal((await usageOf(client)).uploads.bytes, 57_344);
    await upload(8000);
    await assert.rejects(upload(1), isRefused(/MILLRACE_TEAM_UPLOADS/));
  });

  it("concurrent uploads never exceed the quota together", async () => {
    const { client: own } = await addTeam("rush");
    const all = await Promise.allSettled(
      [...Array(12)].map(() => own.upload(routes.uploadFile, new Blob(["x".repeat(10_000)]), "file")),
    );
    assert.equal(all.filter(({ status }) => status === "fulfilled").length, 5);
  });

  it("uploads in progress count together before any of them is complete", async () => {
    const { client: own } = await addTeam("slow");
    const params = { team_name: "slow" };
    await client.call(routes.updateTeam, { params, body: { max_upload_bytes: 4 * mebibyte } });
    const [first, second] = [await startUpload("slow", 3 * mebibyte), await startUpload("slow", 3 * mebibyte)];
    const refused = await Promise.race([first.answer, second.answer]);
    assert.equal(refused.statusCode, 409);
    for (const { request } of [first, second]) request.destroy();
    await until(async () =>
      own.upload(routes.uploadFile, new Blob(["x"]), "file").then(
        () => true,
        () => false,
      ),
    );
  });

  /** Sends part of a file and then neither more data nor the end. */
  async function startUpload(team: string, bytes: number) {
    const url = `${server.url}${routes.uploadFile.path}?team_name=${team}`;
    const headers = {
      authorization: `Bearer ${await server.token()}`,
      "content-type": "multipart/form-data; boundary=b",
      "content-length": 100 * mebibyte,
    };
    const request = post(url, { method: "POST", headers });
    const answer = new Promise<IncomingMessage>((resolve) => request.once("response", resolve).on("error", () => {}));
    request.write('--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n');
    request.write(Buffer.alloc(bytes));
    return { request, answer };
  }

  async function until(ask: () => Promise<boolean>): Promise<void> {
    while (!(await ask())) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  async function addTeam(name: string) {
    await client.call(routes.createTeam, { body: { name } });
    return { client: createClient({ url: server.url, token: await server.token(), team: name }) };
  }

  it("a team's own quota overrides the server's, 0 removes it, and metrics show both", async () => {
    const params = { team_name: "main" };
    const set = (max_upload_bytes: number) => client.call(routes.updateTeam, { params, body: { max_upload_bytes } });
    assert.equal((await set(10 * mebibyte)).max_upload_bytes, 10 * mebibyte);
    await upload(70_000);
    assert.equal((await set(0)).max_upload_bytes, null);
    await assert.rejects(upload(1), isRefused(/quota for uploads is 64 KiB/));
    const text = await (await server.fetch("/metrics")).text();
    assert.match(text, /^millrace_team_quota_bytes\{team="main",kind="uploads"\} 65536$/m);
    assert.match(text, /^millrace_team_bytes\{team="main",kind="uploads"\} 1\d{5}$/m);
  });

  it("long texts of jobs are counted once, shown beside their quota, and refused beyond it; metrics show both", async () => {
    const { client: own } = await addTeam("texts");
    const params = { team_name: "texts" };
    const set = await client.call(routes.updateTeam, { params, body: { max_text_bytes: mebibyte } });
    assert.equal(set.max_text_bytes, mebibyte);
    const query = "#".repeat(600_000);
    const create = (text: string) => createJob(own, shell(text, { start_after: "2040-01-01T00:00:00Z" }));
    await create(query);
    await create(query);
    const { texts } = await client.call(routes.getTeamUsage, { params });
    assert.deepEqual(texts, { bytes: 600_002, quota: mebibyte });
    await assert.rejects(
      create(`${query}x`),
      isRefused(/another 585.9 KiB would be added, and the quota of the team is 1 MiB/),
    );
    const metrics = await (await server.fetch("/metrics")).text();
    assert.match(metrics, /^millrace_team_quota_bytes\{team="texts",kind="texts"\} 1048576$/m);
    assert.match(metrics, /^millrace_team_bytes\{team="texts",kind="texts"\} 600002$/m);
  });

  it("texts of registered versions count toward the same quota", async () => {
    const { client: own } = await addTeam("registering");
    const params = { team_name: "registering" };
    await client.call(routes.updateTeam, { params, body: { max_text_bytes: mebibyte } });
    const register = (name: string) =>
      own.call(routes.registerVersion, {
        body: { name, query_script: "#".repeat(600_000), schema: { id: { type: "Int64" } } },
      });
    await register("first");
    const { texts } = await client.call(routes.getTeamUsage, { params });
    assert.ok(texts.bytes >= 600_000 && texts.bytes < 601_000, String(texts.bytes));
    await assert.rejects(
      register("second"),
      isRefused(/texts and dependencies of dataset versions\) take 586 KiB, .* quota of the team is 1 MiB/),
    );
    assert.equal((await client.call(routes.getTeamUsage, { params })).texts.bytes, texts.bytes, "nothing was kept");
  });

  it("dependencies of versions count toward the same quota, by the space that they take in the database", async () => {
    const { client: own } = await addTeam("depending");
    const params = { team_name: "depending" };
    await client.call(routes.updateTeam, { params, body: { max_text_bytes: 2 * mebibyte } });
    const used = async () => (await client.call(routes.getTeamUsage, { params })).texts.bytes;
    const register = async (name: string, count: number, bytes: number) => {
      const uri = (index: number) => `s3://${String(index).padStart(bytes - 5, "x")}`;
      const before = await used();
      await own.call(routes.registerVersion, {
        body: { name, dependencies: Array.from({ length: count }, (_, index) => uri(index)) },
      });
      return (await used()) - before;
    };
    const none = await register("none", 0, 100);
    assert.equal((await register("short", 10, 100)) - none, 10 * 300);
    // An entry of the index that is longer takes a page.
    assert.equal((await register("long", 10, 1000)) - none, 10 * (100 + 2000 + 4096));
    const before = await used();
    await assert.rejects(register("many", 1000, 1000), isRefused(/quota of the team is 2 MiB/));
    assert.equal(await used(), before, "nothing was kept");
  });

  it("beyond the log quota the oldest logs are deleted, counted on disk, and the newest stays", async () => {
    const jobs: Job[] = [];
    for (let i = 0; i < 4; i++) jobs.push((await runJob(client, shell("head -c 400000 /dev/zero | tr '\\0' x"))).job);
    const [first, , , last] = jobs;
    const status = async (job: Job | undefined) =>
      (await server.fetch(`/api/datachain/jobs/${job?.id}/logs?team_name=main`)).status;
    while ((await status(first)) === 200) await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(await status(last), 200);
    const refused = await server.fetch(`/api/datachain/jobs/${first?.id}/logs?team_name=main`);
    assert.match(
      ((await refused.json()) as { message: string }).message,
      /was removed on .* more than the team's quota/,
    );
    let { bytes } = (await usageOf(client)).logs;
    while (bytes > mebibyte) ({ bytes } = (await usageOf(client)).logs);
    const onDisk = (await stat(join(server.dataDir, "jobs", `${last?.id}.1`, "log"))).blocks * 512;
    assert.equal(bytes % onDisk, 0, "each log is counted once, as it lies on disk");
  });
});

/** A job that is detected as using the library but is fast, because it does not import it. */
const filling = (megabytes: number, then = "") =>
  python(`
if False:
    import datachain
import os, time
folder = os.path.dirname(os.environ["DATACHAIN_METASTORE_ARG_DB_FILE"])
with open(os.path.join(folder, "more" + str(os.getpid())), "wb") as file:
    for _ in range(${megabytes}):
        file.write(os.urandom(1048576))
        file.flush()
        time.sleep(0.02)
${then}
`);
const waits = "time.sleep(60)";

describe("the warehouse of a team on disk", { skip }, () => {
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess({ ...withLibrary, MILLRACE_JOB_DISK: "40MiB", MILLRACE_MAX_WORKERS: "2" });
    client = await server.client();
  });
  after(() => server.dispose());

  it("its growth by a job counts toward that job's disk limit", async () => {
    const job = await createJob(client, filling(100, waits));
    const ended = await waitForEnd(client, job.id);
    assert.equal(ended.status, "FAILED");
    assert.match(ended.error_message ?? "", /limit of 40 MiB in its folders and its team's warehouse/);
  });

  it("over the team's quota the job that caused the growth is killed, and jobs that use the library are refused", async () => {
    const params = { team_name: "main" };
    const before = (await usageOf(client)).datasets.bytes;
    await client.call(routes.updateTeam, { params, body: { max_dataset_bytes: before + 10 * mebibyte } });
    const job = await createJob(client, filling(30, waits));
    const ended = await waitForEnd(client, job.id);
    assert.match(ended.error_message ?? "", /the warehouse of its team exceeded its quota of/);
    assert.ok((await usageOf(client)).datasets.bytes > before + 10 * mebibyte);
    await assert.rejects(
      createJob(client, filling(1)),
      isRefused(/warehouse of the team main takes .*Remove dataset versions/),
    );
    await runJob(client, shell("echo others go on"));
    await client.call(routes.updateTeam, { params, body: { max_dataset_bytes: 0 } });
    const { job: after } = await runJob(client, filling(1));
    assert.equal(after.status, "COMPLETE", after.error_message ?? "");
  });
});
