/** A server with its blobs on an S3 server: what is stored where, and what happens while S3 cannot be reached. */
import assert from "node:assert/strict";
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Client, routes } from "@millrace/contract";
import {
  createJob,
  python,
  readJob,
  readLog,
  readLogBytes,
  runJob,
  shell,
  waitForEnd,
} from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { type FaultProxy, startFaultProxy } from "@millrace/testing/servers/fault-proxy.ts";
import { pino } from "pino";
import { takeBackup } from "../../src/admin/backup/backup.ts";
import { dataPlace } from "../../src/admin/backup/data-place.ts";
import { restoreBackup } from "../../src/admin/backup/restore.ts";
import { startServer } from "../../src/app/server.ts";
import { claimBlobs, openBlobs } from "../../src/blobs/open-blobs.ts";
import { readConfig } from "../../src/configuration/config.ts";
import { DataFolder } from "../../src/machine/data-folder.ts";
import { BackupWarehouses } from "../../src/warehouses/backup-warehouses.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { type S3Blobs, startS3Blobs, whyNoVersitygw } from "../support/s3-blobs.ts";
import { until } from "../support/until.ts";

const skip = await whyNoVersitygw();

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

const logFile = (dataDir: string, id: string) => join(dataDir, "jobs", `${id}.1`, "log");
const archived = (dataDir: string, id: string) => until(async () => !(await exists(logFile(dataDir, id))));
const upload = (client: Client, text: string, name: string) =>
  client.upload(routes.uploadFile, new Blob([text]), name).then(({ id }) => String(id));

describe("a server with MILLRACE_BLOBS", { skip, timeout: 300_000 }, () => {
  let away = false;
  let proxy: FaultProxy;
  let blobs: S3Blobs;
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    blobs = await startS3Blobs(async ({ port }) => {
      proxy = await startFaultProxy(port, () => (away ? { kind: "refuse" } : undefined));
      return proxy.url;
    });
    server = await startInProcess({ ...blobs.settings, AWS_MAX_ATTEMPTS: "1" });
    client = await server.client();
  });
  after(async () => {
    away = false;
    await server.dispose();
    await proxy.stop();
    await blobs.stop();
  });

  const counted = async (id: string) =>
    (await server.store.db.selectFrom("jobs").select("log_bytes").where("id", "=", id).executeTakeFirst())?.log_bytes;

  it("stores uploads and logs of ended jobs there, and leaves none of them in the data folder", async () => {
    const file = await upload(client, "payload", "data.txt");
    const { job, log } = await runJob(client, shell("cat data.txt; echo; echo hello", { files: [file] }));
    assert.deepEqual([job.status, log], ["COMPLETE", "payload\nhello\n"]);
    await archived(server.dataDir, job.id);
    assert.equal(await readLog(client, job.id), "payload\nhello\n");
    assert.equal(await exists(join(server.dataDir, "files")), false);
  });

  it("counts logs at the URI toward the quota of their team", async () => {
    const { job } = await runJob(client, shell("head -c 100000 /dev/zero | tr '\\0' x"));
    await archived(server.dataDir, job.id);
    await until(async () => Number(await counted(job.id)) >= 100_000);
  });

  it("counts new logs while the storage is unreachable and logs in it are not counted yet", async () => {
    const { job: there } = await runJob(client, shell("echo 12345678"));
    await archived(server.dataDir, there.id);
    away = true;
    try {
      await server.store.write((db) =>
        db.updateTable("jobs").set({ log_bytes: null }).where("id", "=", there.id).execute(),
      );
      const { job: here } = await runJob(client, shell("echo here"));
      await until(async () => (await counted(here.id)) !== null);
      assert.equal(await counted(there.id), null, "it is not counted as empty");
    } finally {
      away = false;
    }
    await until(async () => Number(await counted(there.id)) === "12345678\n".length);
  });

  it("counts the length of a log there that was made longer without writing, and has all of it", async () => {
    const length = 5_000_000;
    const query = `import os\nprint("hi", flush=True)\nos.ftruncate(1, ${length})`;
    // It is counted before it is uploaded, when its file on this machine still has its holes.
    away = true;
    const { job } = await runJob(client, python(query));
    assert.equal(job.status, "COMPLETE");
    await until(async () => (await counted(job.id)) !== null).finally(() => {
      away = false;
    });
    assert.equal(Number(await counted(job.id)), length);
    await archived(server.dataDir, job.id);
    assert.equal((await readLogBytes(client, job.id)).length, length);
  });

  it("answers 503 to uploads while the storage is unreachable and stores nothing of them", async () => {
    away = true;
    const form = new FormData();
    form.set("file", new Blob(["x"]), "x");
    const response = await server.fetch("/api/datachain/jobs/files?team_name=main", { method: "POST", body: form });
    const { message } = (await response.json()) as { message: string };
    away = false;
    assert.deepEqual([response.status, response.headers.get("retry-after")], [503, "2"]);
    assert.match(
      message,
      /^The file storage of the server does not work at the moment; running jobs continue\. Nothing was changed/,
    );
    const rows = await server.store.db.selectFrom("files").select("filename").where("filename", "=", "x").execute();
    assert.equal(rows.length, 0);
  });

  it("starts jobs without files while the storage is unreachable; a job with files waits until the storage is back", async () => {
    const file = await upload(client, "late", "late.txt");
    away = true;
    const waiting = await createJob(client, shell("cat late.txt", { files: [file] }));
    const { job, log } = await runJob(client, shell("echo meanwhile"));
    assert.deepEqual([job.status, log], ["COMPLETE", "meanwhile\n"]);
    assert.match((await readJob(client, waiting.id)).status, /^(CREATED|QUEUED|INIT)$/);
    assert.equal(await exists(logFile(server.dataDir, job.id)), true, "its log is kept until it is stored");
    away = false;
    assert.equal((await waitForEnd(client, waiting.id)).status, "COMPLETE");
    assert.equal(await readLog(client, waiting.id), "late");
    await archived(server.dataDir, job.id);
    assert.equal(await readLog(client, job.id), "meanwhile\n");
  });

  it("answers 503 to readers of an archived log while the storage is unreachable", async () => {
    const { job } = await runJob(client, shell("echo there"));
    await archived(server.dataDir, job.id);
    away = true;
    const response = await server.fetch(`/api/datachain/jobs/${job.id}/logs`);
    away = false;
    assert.equal(response.status, 503);
    assert.equal(await readLog(client, job.id), "there\n");
  });

  it("has the URI to itself: another server is refused, and so is another URI for the same data folder", async () => {
    const other = await mkdtemp(join(tmpdir(), "millrace-other-"));
    const start = startServer(
      readConfig({}, { ...blobs.settings, MILLRACE_DATA_DIR: other }),
      pino({ level: "silent" }),
    );
    await assert.rejects(start, /Another Millrace server stores its files at s3:/);
    await rm(other, { recursive: true });
    const settings = { MILLRACE_DATA_DIR: server.dataDir };
    const place = new DataFolder(server.dataDir).blobs(readConfig({}, settings));
    await assert.rejects(
      claimBlobs(await openBlobs(place), place, "any"),
      /The files of this server are in s3:.*, but MILLRACE_BLOBS now selects the data folder/,
    );
  });

  it("can restart while the storage is unreachable, but not start for the first time", async () => {
    const claim = async (dataDir: string) => {
      const place = new DataFolder(dataDir).blobs(readConfig({}, { ...blobs.settings, AWS_MAX_ATTEMPTS: "1" }));
      await claimBlobs(await openBlobs(place), place, "any");
    };
    const fresh = await mkdtemp(join(tmpdir(), "millrace-fresh-"));
    away = true;
    await claim(server.dataDir);
    await assert.rejects(claim(fresh), /The blob storage \(MILLRACE_BLOBS\) cannot be used/);
    away = false;
    await rm(fresh, { recursive: true });
  });

  it("includes the blobs in a backup, which can be restored into a data folder and into another bucket", async () => {
    const file = await upload(client, "in the backup", "kept.txt");
    const { job } = await runJob(client, shell("cat kept.txt", { files: [file] }));
    await archived(server.dataDir, job.id);
    const folder = await mkdtemp(join(tmpdir(), "millrace-blobs-backup-"));
    const config = (dataDir: string, settings: Record<string, string>) =>
      readConfig({}, { ...settings, MILLRACE_DATA_DIR: dataDir });
    const stores = ({ warehouses }: DataFolder) => new BackupWarehouses(warehouses, () => []);
    const quiet = { onProgress: () => {}, now: Date.now };
    const source = await dataPlace(config(server.dataDir, blobs.settings));
    const backup = join(folder, "backup");
    await takeBackup(source, backup, { ...quiet, keyFile: undefined, stores: stores(source.folder) });
    assert.equal(await readFile(join(backup, "jobs", `${job.id}.1`, "log"), "utf8"), "in the backup");
    for (const [name, settings] of Object.entries({ plain: {}, bucket: blobs.another() })) {
      const dataDir = join(folder, name);
      const place = await dataPlace(config(dataDir, settings));
      const options = { ...quiet, openStores: async () => stores(place.folder), cancelQueued: false };
      await restoreBackup(place, backup, options);
      const key = await readFile(join(server.dataDir, "secret.key"), "utf8");
      await writeFile(join(dataDir, "secret.key"), key, { mode: 0o600 });
      const restored = await startInProcess({ ...settings, MILLRACE_DATA_DIR: dataDir });
      const again = await restored.client();
      assert.equal(await readLog(again, job.id), "in the backup");
      const second = await runJob(again, shell("cat kept.txt", { files: [file] }));
      assert.deepEqual([second.job.status, second.log], ["COMPLETE", "in the backup"]);
      if (name === "bucket") await archived(dataDir, job.id);
      assert.equal(await readLog(again, job.id), "in the backup");
      await restored.dispose();
    }
    const taken = await dataPlace(config(join(folder, "third"), blobs.settings));
    const options = { ...quiet, openStores: async () => stores(taken.folder), cancelQueued: false };
    await assert.rejects(restoreBackup(taken, backup, options), /contains the files of a Millrace server/);
    await rm(folder, { recursive: true, force: true });
  });

  it("fails a backup while the bucket is another one or not mounted, and answers 503 for logs in it", async () => {
    const { job } = await runJob(client, shell("echo archived"));
    await archived(server.dataDir, job.id);
    const { host: bucket } = new URL(blobs.settings["MILLRACE_BLOBS"] ?? "");
    const folder = await mkdtemp(join(tmpdir(), "millrace-blobs-backup-"));
    const path = join(blobs.s3.data, bucket);
    await rename(path, `${path}-unmounted`);
    await mkdir(path);
    try {
      const source = await dataPlace(readConfig({}, { ...blobs.settings, MILLRACE_DATA_DIR: server.dataDir }));
      const stores = new BackupWarehouses(source.folder.warehouses, () => []);
      const options = { onProgress: () => {}, now: Date.now, keyFile: undefined, stores };
      await assert.rejects(
        takeBackup(source, join(folder, "backup"), options),
        /cannot be used: the object server\/owner/,
      );
      assert.deepEqual(await readdir(folder), []);
      assert.equal((await server.fetch(`/api/datachain/jobs/${job.id}/logs?team_name=main`)).status, 503);
    } finally {
      await rm(path, { recursive: true });
      await rename(`${path}-unmounted`, path);
      await rm(folder, { recursive: true });
    }
    assert.equal(await readLog(client, job.id), "archived\n");
  });
});

it("a log stays complete if the server is killed after uploading it and before deleting the local copy", {
  skip,
}, async () => {
  const blobs = await startS3Blobs();
  const env = { ...blobs.settings, MILLRACE_FAULT: "log-stored:1", MILLRACE_ISOLATION: "none" };
  const server = await TestServer.start({ env });
  try {
    const client = await server.client();
    const { id } = await createJob(client, shell("seq 1 1000"));
    await server.ended();
    const before = await readdir(join(server.dataDir, "jobs", `${id}.1`));
    assert.ok(before.includes("log"), "the copy is there");
    await server.start({ MILLRACE_FAULT: "" });
    await archived(server.dataDir, id);
    assert.equal(await readLog(client, id), `${Array.from({ length: 1000 }, (_, index) => index + 1).join("\n")}\n`);
  } finally {
    await server.dispose();
    await blobs.stop();
  }
});
