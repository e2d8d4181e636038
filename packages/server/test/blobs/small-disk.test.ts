/** Files at a storage URI that together do not fit on the disk of this machine. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Client, createClient, routes } from "@millrace/contract";
import { createJob, readLog, runJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { mountSmallDisk, whyNoMount } from "@millrace/testing/millrace/small-disk.ts";
import { type S3Blobs, startS3Blobs, whyNoVersitygw } from "../support/s3-blobs.ts";
import { until } from "../support/until.ts";

const mebibyte = 1024 ** 2;

describe("files that do not fit on the disk together", {
  skip: whyNoMount() || (await whyNoVersitygw()),
  timeout: 300_000,
}, () => {
  let disk: Awaited<ReturnType<typeof mountSmallDisk>>;
  let blobs: S3Blobs;
  let server: TestServer;
  let client: Client;
  let others: Client;

  before(async () => {
    // Beside the minimum there is space for two of the four files, each with its copy in a working folder.
    disk = await mountSmallDisk(192);
    blobs = await startS3Blobs();
    const env = { ...blobs.settings, MILLRACE_ISOLATION: "none", MILLRACE_MAX_WORKERS: "4" };
    server = await TestServer.start({ dataDir: disk.folder, env: { ...env, MILLRACE_DISK_FLOOR: "48MiB" } });
    client = await server.client();
    await client.call(routes.createTeam, { body: { name: "others" } });
    others = createClient({ url: server.url, token: await server.token(), team: "others" });
  });
  after(async () => {
    await server.stop("SIGKILL");
    await blobs.stop();
    await disk.unmount();
  });

  const metric = async (name: string): Promise<number> => {
    const headers = { authorization: `token ${await server.token()}` };
    const text = await (await fetch(`${server.url}/metrics`, { headers })).text();
    return Number(new RegExp(`^${name} (.+)$`, "m").exec(text)?.[1]);
  };
  /** Uploads a file, and waits until the server knows that the upload no longer takes space on its disk. */
  const upload = async (mebibytes: number) => {
    const content = new Blob([new Uint8Array(mebibytes * mebibyte)]);
    const { id } = await client.upload(routes.uploadFile, content, "data.bin");
    await until(async () => (await metric("millrace_disk_low")) === 0);
    return String(id);
  };
  const count = (file: string) => createJob(client, shell("wc -c < data.bin", { files: [file] }));

  it("are downloaded as far as they fit: all jobs run, and jobs of another team are never refused", async () => {
    // One after another: an upload passes through the disk, so four at once would be refused.
    const files: string[] = [];
    for (const size of [25, 25, 25, 25]) files.push(await upload(size));
    const jobs = await Promise.all(files.map(count));
    let left = jobs.length;
    const ends = jobs.map(({ id }) => waitForEnd(client, id, 240).finally(() => left--));
    while (left > 0) assert.equal((await runJob(others, shell("true"))).job.status, "COMPLETE");
    for (const [index, { status }] of (await Promise.all(ends)).entries()) {
      assert.equal(status, "COMPLETE");
      assert.equal((await readLog(client, jobs[index]?.id ?? "")).trim(), String(25 * mebibyte));
    }
  });

  it("that can never fit: the job says so and waits, and other jobs run", async () => {
    // Copies for the jobs before are kept for other jobs, two or three of them: an upload has no claim to their space.
    await rm(join(disk.folder, "blob-copies"), { recursive: true });
    await until(async () => (await metric("millrace_disk_free_bytes")) > 140 * mebibyte);
    const { id } = await count(await upload(90));
    const waitsFor = async () =>
      (await client.call(routes.getJobAttempts, { params: { job_id: id }, query: {} })).waits_for ?? "";
    await until(async () => /disk has no space for the files of the job/.test(await waitsFor()));
    assert.equal((await runJob(others, shell("true"))).job.status, "COMPLETE");
    await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
    assert.equal((await waitForEnd(client, id)).status, "CANCELED");
  });
});
