/** Jobs whose files are at a storage that is away: they wait without slots, say so, lose no attempt, and run when it is back. */
import assert from "node:assert/strict";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { type Client, createClient, routes } from "@millrace/contract";
import { createJob, readJob, readLog, runJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import {
  type Fault,
  type FaultProxy,
  type ProxiedRequest,
  startFaultProxy,
} from "@millrace/testing/servers/fault-proxy.ts";
import { uploadsFolder } from "../../src/blobs/blob-names.ts";
import { type S3Blobs, startS3Blobs, whyNoVersitygw } from "../support/s3-blobs.ts";
import { until } from "../support/until.ts";

const skip = await whyNoVersitygw();
const slots = 2;

describe("jobs whose files are at a storage that is away", { skip, timeout: 300_000 }, () => {
  let fault: Fault | ((request: ProxiedRequest) => Fault | undefined) | undefined;
  let proxy: FaultProxy;
  let blobs: S3Blobs;
  let server: TestServer;
  let client: Client;
  let others: Client;
  let files: string[];

  beforeEach(async () => {
    fault = undefined;
    blobs = await startS3Blobs(async ({ port }) => {
      proxy = await startFaultProxy(port, (request) => (typeof fault === "function" ? fault(request) : fault));
      return proxy.url;
    });
    const env = { ...blobs.settings, AWS_MAX_ATTEMPTS: "1", MILLRACE_ISOLATION: "none" };
    server = await TestServer.start({ env: { ...env, MILLRACE_MAX_WORKERS: String(slots) } });
    client = await server.client();
    await client.call(routes.createTeam, { body: { name: "others" } });
    others = createClient({ url: server.url, token: await server.token(), team: "others" });
    const upload = (_: unknown, index: number) =>
      client.upload(routes.uploadFile, new Blob([`text ${index}`]), "data.txt").then(({ id }) => String(id));
    // More than one look at the queue reaches.
    files = await Promise.all(Array.from({ length: 30 }, upload));
  });
  afterEach(async () => {
    process.kill(blobs.s3.pid ?? 0, "SIGCONT");
    fault = undefined;
    await server.dispose();
    await proxy.stop();
    await blobs.stop();
  });

  const waiting = () => Promise.all(files.map((file) => createJob(client, shell("cat data.txt", { files: [file] }))));
  const attemptsOf = (id: string) => client.call(routes.getJobAttempts, { params: { job_id: id }, query: {} });

  async function runOfOthers(): Promise<void> {
    const { job, log } = await runJob(others, shell("echo meanwhile"));
    assert.deepEqual([job.status, log], ["COMPLETE", "meanwhile\n"]);
  }

  /** Every job ran once: the number of an attempt names its folder, and none but the first was begun. */
  async function allCompleteAtFirst(jobs: readonly { id: string }[]): Promise<void> {
    for (const [index, { id }] of jobs.entries()) {
      assert.equal((await waitForEnd(client, id, 120)).status, "COMPLETE");
      assert.equal(await readLog(client, id), `text ${index}`);
    }
    const begun = new Set(await readdir(join(server.dataDir, "jobs")));
    for (const { id } of jobs) assert.deepEqual([begun.has(`${id}.1`), begun.has(`${id}.2`)], [true, false]);
  }

  const faulty = (given: Fault) => ({
    away: () => {
      fault = given;
    },
    back: () => {
      fault = undefined;
    },
  });
  const signal = (name: NodeJS.Signals) => () => {
    process.kill(blobs.s3.pid ?? 0, name);
  };
  const kinds = {
    "refuses connections": faulty({ kind: "refuse" }),
    "answers errors": faulty({ kind: "answer", status: 503, code: "SlowDown" }),
    "has lost its bucket": faulty({ kind: "answer", status: 404, code: "NoSuchBucket" }),
    "finds nothing at all": faulty({ kind: "answer", status: 404, code: "NoSuchKey" }),
    hangs: { away: signal("SIGSTOP"), back: signal("SIGCONT") },
  };
  for (const [kind, { away, back }] of Object.entries(kinds))
    it(`hold no slot while the storage ${kind}: another team's jobs run, and theirs run once it is back`, async () => {
      away();
      const jobs = await waiting();
      for (let count = 0; count < 2 * slots; count++) await runOfOthers();
      for (const { id } of jobs) assert.match((await readJob(client, id)).status, /^(CREATED|QUEUED)$/);
      back();
      await allCompleteAtFirst(jobs);
    });

  it("run if the storage comes back between two questions about a file", async () => {
    const asked = new Set<string>();
    fault = ({ url }) => {
      if (!url.includes(uploadsFolder) || asked.has(url)) return undefined;
      asked.add(url);
      return { kind: "answer", status: 404, code: "NoSuchKey" };
    };
    await allCompleteAtFirst(await waiting());
    assert.equal(asked.size, files.length);
  });

  it("say what they wait for", async () => {
    fault = { kind: "refuse" };
    const { id } = await createJob(client, shell("cat data.txt", { files: files.slice(0, 1) }));
    await until(async () => /storage cannot be reached/.test((await attemptsOf(id)).waits_for ?? ""));
    const { attempts, next_attempt_at } = await attemptsOf(id);
    assert.deepEqual([attempts, next_attempt_at], [[], null]);
    fault = undefined;
    await waitForEnd(client, id);
    assert.equal((await attemptsOf(id)).waits_for, null);
  });

  it("wait on when the server is killed and started again, and run once", async () => {
    fault = { kind: "refuse" };
    const jobs = await waiting();
    await runOfOthers();
    await server.stop("SIGKILL");
    await server.start();
    await runOfOthers();
    fault = undefined;
    await allCompleteAtFirst(jobs);
  });

  it("are cancelled at once while their files are being fetched, and do not start after that", async () => {
    process.kill(blobs.s3.pid ?? 0, "SIGSTOP");
    const { id } = await createJob(client, shell("cat data.txt", { files: files.slice(0, 1) }));
    await until(async () => (await attemptsOf(id)).waits_for !== null);
    await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
    assert.equal((await waitForEnd(client, id)).status, "CANCELED");
    process.kill(blobs.s3.pid ?? 0, "SIGCONT");
    const { job } = await runJob(client, shell("cat data.txt", { files: files.slice(0, 1) }));
    assert.equal(job.status, "COMPLETE");
    assert.equal((await readJob(client, id)).status, "CANCELED");
  });

  it("fetch a copy again that was deleted", async () => {
    const input = shell("cat data.txt", { files: files.slice(0, 1) });
    await runJob(client, input);
    const copies = join(server.dataDir, "blob-copies");
    // A file whose name ends with .part is on its way to the storage, such as a log.
    assert.equal((await readdir(copies)).filter((name) => !name.endsWith(".part")).length, 1);
    await rm(copies, { recursive: true });
    const { job, log } = await runJob(client, input);
    assert.deepEqual([job.status, log], ["COMPLETE", "text 0"]);
  });

  it("do not start with content of another length, and start once the storage has the right one", async () => {
    const { host: bucket, pathname: prefix } = new URL(blobs.settings["MILLRACE_BLOBS"] ?? "");
    const folder = join(blobs.s3.data, bucket, prefix, "files");
    const stored = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    const right = new Map<string, Buffer>();
    for (const { parentPath, name } of stored) {
      const path = join(parentPath, name);
      right.set(path, await readFile(path));
      await writeFile(path, "<html>Sign in</html>");
    }
    const { id } = await createJob(client, shell("cat data.txt", { files: files.slice(0, 1) }));
    await until(async () => /storage cannot be reached/.test((await attemptsOf(id)).waits_for ?? ""));
    for (const [path, content] of right) await writeFile(path, content);
    assert.equal((await waitForEnd(client, id)).status, "COMPLETE");
    assert.equal(await readLog(client, id), "text 0");
  });

  it("fail where the storage says that a file is gone", async () => {
    const { host: bucket, pathname: prefix } = new URL(blobs.settings["MILLRACE_BLOBS"] ?? "");
    await rm(join(blobs.s3.data, bucket, prefix, "files"), { recursive: true });
    const { id } = await createJob(client, shell("cat data.txt", { files: files.slice(0, 1) }));
    const job = await waitForEnd(client, id);
    assert.equal(job.status, "FAILED");
    assert.match(job.error_message ?? "", /^A file attached to the job no longer exists/);
  });
});
