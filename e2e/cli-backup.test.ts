/** `millrace backup` and `millrace restore`: under load, between databases, interrupted, and tampered with. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { access, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { type Client, createClient, type Job, routes } from "@millrace/contract";
import {
  createJob,
  readJob,
  readLog,
  runJob,
  shell,
  waitForEnd,
  waitForStatus,
} from "@millrace/testing/millrace/jobs.ts";
import { type ServerOptions, TestServer } from "@millrace/testing/millrace/server.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";
import { until } from "@millrace/testing/until.ts";
import { Millrace } from "./support/millrace.ts";

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/** What a backup must hold: everything that was acknowledged before the backup began. */
interface Known {
  readonly token: string;
  readonly ended: Job[];
  readonly running: Job;
  readonly waiting: Job;
  readonly task: Job;
  readonly withFile: Job;
}

describe("millrace backup and restore", () => {
  const commandLine = Millrace.use();
  let postgres: TestPostgres;
  let root: string;
  let cli: Millrace;
  const servers: TestServer[] = [];
  before(async () => {
    postgres = await startPostgres();
    root = await mkdtemp(join(tmpdir(), "millrace-backup-"));
    cli = await commandLine();
  });
  after(async () => {
    for (const server of servers) await endJobs(server);
    await Promise.all(servers.map((server) => server.dispose()));
    await postgres.stop();
    await rm(root, { recursive: true, force: true });
  });

  async function startServer(options: ServerOptions = {}): Promise<TestServer> {
    const env = { MILLRACE_MAX_WORKERS: "2", MILLRACE_LOG_LEVEL: "error" };
    const server = await TestServer.start({ ...options, env });
    servers.push(server);
    return server;
  }

  async function endJobs(server: TestServer): Promise<void> {
    const client = createClient({ url: server.url, token: await server.token(), team: "main" });
    const active = await client.call(routes.listJobs, { query: { status: ["ACTIVE"], limit: 1000 } }).catch(() => []);
    for (const { id } of active) await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
  }

  const where = (dataDir: string, databaseUrl?: string) => [
    "--data-dir",
    dataDir,
    ...(databaseUrl ? ["--database-url", databaseUrl] : []),
  ];

  /** Ended, running and waiting jobs, a task, an upload that a job uses. */
  async function populate(server: TestServer): Promise<Known> {
    const token = await server.token();
    const client = createClient({ url: server.url, token, team: "main" });
    const file = await client.upload(routes.uploadFile, new Blob(["bytes of the file\n"]), "input.txt");
    const ended: Job[] = [];
    for (let i = 0; i < 5; i++) ended.push((await runJob(client, shell(`echo job ${i}; exit ${i % 2}`))).job);
    const running = await createJob(client, shell("echo begun; sleep 300", { workers: 2 }));
    await waitForStatus(client, running.id, ["RUNNING"]);
    await until("its log begins", async () => (await readLog(client, running.id)) === "begun\n");
    const waiting = await createJob(client, shell("echo waited", { tags: ["later"], environment: "A=1" }));
    const withFile = await createJob(client, shell("cat input.txt", { files: [String(file.id)] }));
    const task = await createJob(client, shell("echo tick", { cron_expression: "0 0 1 1 *" }));
    return { token, ended, running, waiting, task, withFile };
  }

  /** Creates jobs as fast as possible until stopped; returns the acknowledged ones. */
  function load(client: Client) {
    let stopped = false;
    const acknowledged: Job[] = [];
    const done = (async () => {
      while (!stopped) acknowledged.push(await createJob(client, shell("echo under load", { query_name: "load" })));
    })();
    return {
      acknowledged,
      async stop() {
        stopped = true;
        await done;
      },
    };
  }

  /** Everything that was acknowledged before the backup exists, and the server continues from it. */
  async function assertRestored(server: TestServer, known: Known, loaded: readonly Job[]): Promise<void> {
    const client = createClient({ url: server.url, token: known.token, team: "main" });
    for (const job of known.ended)
      assert.deepEqual({ ...(await readJob(client, job.id)), url: "", steps: null }, { ...job, url: "", steps: null });
    assert.equal(await readLog(client, known.ended[3]?.id ?? ""), "job 3\n");
    const lost = await readJob(client, known.running.id);
    assert.equal(lost.status, "FAILED");
    assert.match(
      lost.error_message ?? "",
      /^The job was running when the backup of 2\S+Z was taken\. The job was not run again; rerun it if running it twice is safe\.$/,
    );
    assert.equal(await readLog(client, known.running.id), "begun\n");
    for (const [job, log] of [
      [known.waiting, "waited\n"],
      [known.withFile, "bytes of the file\n"],
    ] as const) {
      assert.equal((await waitForEnd(client, job.id)).status, "COMPLETE");
      assert.equal(await readLog(client, job.id), log);
    }
    const task = await readJob(client, known.task.id);
    assert.deepEqual([task.status, task.next_run], ["TASK", known.task.next_run]);
    for (const { id } of loaded) await readJob(client, id);
    assert.deepEqual(
      (await client.call(routes.listJobs, { query: { tag: ["later"] } })).map(({ id }) => id),
      [known.waiting.id],
    );
    const file = await client.upload(routes.uploadFile, new Blob(["more"]), "input.txt");
    const { job, log } = await runJob(client, shell("cat input.txt", { files: [String(file.id)] }));
    assert.deepEqual([job.status, log], ["COMPLETE", "more"]);
    await server.token();
  }

  test("an upload that is lost on the server: backup says so and ends with 1; verify repeats it", async () => {
    const server = await startServer();
    const client = await server.client();
    const upload = async (text: string) => String((await client.upload(routes.uploadFile, new Blob([text]), "f")).id);
    await runJob(client, shell("cat f", { files: [await upload("kept")] }));
    const kept = await readdir(join(server.dataDir, "files"));
    await runJob(client, shell("cat f", { files: [await upload("lost")] }));
    const [lost = ""] = (await readdir(join(server.dataDir, "files"))).filter((name) => !kept.includes(name));
    await rm(join(server.dataDir, "files", lost), { recursive: true });
    const folder = join(root, "without-an-upload");
    const taken = await cli.run("backup", folder, ...where(server.dataDir));
    assert.equal(taken.code, 1);
    assert.match(taken.stderr, /warning: The upload [0-9a-f-]{36} is missing on the server, and so in the backup/);
    const verified = await cli.run("backup", "verify", folder);
    assert.equal(verified.code, 0);
    assert.match(verified.stderr, /warning: The upload [0-9a-f-]{36} is missing/);
    assert.match(verified.stdout, /is readable, without an upload that its server had lost; it was taken/);
  });

  test("under load, everything that was acknowledged before is restored, on SQLite and on PostgreSQL", async () => {
    const server = await startServer();
    const known = await populate(server);
    const client = createClient({ url: server.url, token: known.token, team: "main" });
    const working = load(client);
    await until("the load begins", () => working.acknowledged.length > 20);
    const before = [...working.acknowledged];
    const backup = join(root, "loaded");
    const { code, stdout, stderr } = await cli.run("backup", backup, ...where(server.dataDir));
    await working.stop();
    assert.deepEqual([code, stdout], [0, `${backup}\n`], stderr);
    assert.match(stderr, /does not contain the encryption key \(secret\.key\)/);
    assert.equal(await exists(`${backup}.part`), false);
    await client.call(routes.cancelJob, { params: { job_id: known.running.id }, body: {} });

    for (const databaseUrl of [undefined, await postgres.createDatabase()]) {
      const dataDir = join(root, databaseUrl ? "restored-postgres" : "restored-sqlite");
      const said = await cli.run("restore", backup, ...where(dataDir, databaseUrl));
      assert.deepEqual([said.code, said.stdout], [0, `${dataDir}\n`], said.stderr);
      assert.match(said.stderr, /1 running jobs became FAILED; \d+ waiting jobs will run; 0 waiting jobs/);
      // As both commands say: the key is stored elsewhere, and copied separately.
      await cp(join(server.dataDir, "secret.key"), join(dataDir, "secret.key"));
      const restored = await startServer({ dataDir, ...(databaseUrl ? { databaseUrl } : {}) });
      await assertRestored(restored, known, before);
      await endJobs(restored);
    }
  });

  test("works from PostgreSQL to SQLite, with the server stopped, and cancels queued jobs on request", async () => {
    const databaseUrl = await postgres.createDatabase();
    const server = await startServer({ databaseUrl });
    const known = await populate(server);
    await server.stop("SIGKILL");
    const backup = join(root, "from-postgres");
    const taken = await cli.run("backup", backup, "--with-key", ...where(server.dataDir, databaseUrl));
    assert.equal(taken.code, 0, taken.stderr);
    assert.match(taken.stderr, /contains the encryption key \(secret\.key\): anyone who has the backup can decrypt/);

    const dataDir = join(root, "to-sqlite");
    await cli.print("restore", backup, ...where(dataDir));
    const key = (folder: string) => readFile(join(folder, "secret.key"), "utf8");
    assert.equal(await key(dataDir), await key(server.dataDir));
    await assertRestored(await startServer({ dataDir }), known, []);

    const canceling = join(root, "to-cancel");
    const said = await cli.run("restore", backup, "--cancel-queued", ...where(canceling));
    assert.match(said.stderr, /0 waiting jobs will run; 2 waiting jobs were CANCELED/);
    const canceled = await startServer({ dataDir: canceling });
    const client = createClient({ url: canceled.url, token: known.token, team: "main" });
    assert.equal((await readJob(client, known.waiting.id)).status, "CANCELED");
    await server.start();
  });

  describe("of a small store", () => {
    let server: TestServer;
    let backup: string;
    before(async () => {
      server = await startServer();
      const client = await server.client();
      // Large enough that copying takes a moment.
      await client.upload(routes.uploadFile, new Blob([new Uint8Array(150 * 1024 * 1024)]), "big");
      await runJob(client, shell("echo small"));
      backup = join(root, "small");
      await cli.print("backup", backup, ...where(server.dataDir));
    });

    /** A copy that a test may damage. */
    async function copyOf(name: string): Promise<string> {
      const copy = join(root, name);
      await cp(backup, copy, { recursive: true });
      return copy;
    }
    const refused = async (from: string, name: string) => {
      const dataDir = join(root, name);
      const said = await cli.refused(1, "restore", from, ...where(dataDir));
      return { said, dataDir };
    };

    test("omits pending sign-ins; the folder is readable by its owner only", async () => {
      await cli.print("admin", "link", ...where(server.dataDir));
      const rows = gunzipSync(await readFile(join(backup, "store.ndjson.gz"))).toString();
      assert.match(rows, /^\["users",/m);
      assert.doesNotMatch(rows, /^\["(sessions|sign_in_links|device_logins)"/m);
      const modes = await Promise.all(
        ["", "manifest.json", "store.ndjson.gz"].map(async (name) => (await stat(join(backup, name))).mode & 0o777),
      );
      assert.deepEqual(modes, [0o700, 0o600, 0o600]);
    });

    test("does not touch an existing folder and does not create a missing store", async () => {
      assert.match(await cli.refused(1, "backup", backup, ...where(server.dataDir)), /already exists/);
      const none = await cli.refused(1, "backup", join(root, "none"), ...where(join(root, "no-store")));
      assert.match(none, /There is no database in/);
      assert.equal(await exists(join(root, "none")), false);
    });

    test("a killed backup keeps its temporary name, and the next one reports it", async () => {
      const folder = join(root, "killed");
      const running = cli.start("backup", folder, ...where(server.dataDir));
      await until("it has begun", () => exists(join(`${folder}.part`, "store.ndjson.gz")));
      running.kill("SIGKILL");
      await running.ended();
      assert.equal(await exists(folder), false);
      assert.match(
        await cli.refused(1, "backup", folder, ...where(server.dataDir)),
        /killed\.part already exists: .*interrupted/,
      );
      assert.match(
        await cli.refused(1, "restore", `${folder}.part`, ...where(join(root, "x"))),
        /There is no backup in/,
      );
      await rm(`${folder}.part`, { recursive: true });
      await cli.print("backup", folder, ...where(server.dataDir));
    });

    test("a killed restore leaves a folder that neither restore nor serve accepts", async () => {
      const dataDir = join(root, "half");
      const running = cli.start("restore", backup, ...where(dataDir));
      await until("it has begun", () => exists(join(dataDir, "restore.unfinished")));
      running.kill("SIGKILL");
      await running.ended();
      const cutShort = /A restore into \S+half was interrupted, so the folder is incomplete\. Delete/;
      assert.match(await cli.refused(1, "restore", backup, ...where(dataDir)), cutShort);
      assert.match(await cli.refused(1, "serve", ...where(dataDir)), cutShort);
      await rm(dataDir, { recursive: true });
      await cli.print("restore", backup, ...where(dataDir));
    });

    test("one of two concurrent restores succeeds; the other is refused and damages nothing", async () => {
      const dataDir = join(root, "twice");
      const ends = await Promise.all([1, 2].map(() => cli.start("restore", backup, ...where(dataDir)).ended()));
      assert.deepEqual(ends.map(({ code }) => code).sort(), [0, 1]);
      assert.equal(await exists(join(dataDir, "restore.unfinished")), false);
    });

    test("a restore needs an empty folder and an empty database", async () => {
      const { said } = await refused(backup, "half");
      assert.match(said, /half is not empty.* Choose another folder with --data-dir/);
      const databaseUrl = await postgres.createDatabase();
      await cli.print("restore", backup, ...where(join(root, "first"), databaseUrl));
      const again = await cli.refused(1, "restore", backup, ...where(join(root, "second"), databaseUrl));
      assert.match(again, /The database is not empty.* Create a new database/);
      assert.deepEqual(await readdir(join(root, "second")), [], "nothing is left behind");
    });

    test("a damaged backup is refused before anything is restored, and verify reports it", async () => {
      const copy = await copyOf("damaged");
      const [shard = ""] = await readdir(join(copy, "files"));
      const [blob = ""] = await readdir(join(copy, "files", shard));
      await writeFile(join(copy, "files", shard, blob), "other bytes");
      const { said, dataDir } = await refused(copy, "from-damaged");
      assert.match(said, new RegExp(`files/${shard}/${blob} in the backup is missing or damaged`));
      assert.equal(await exists(dataDir), false);
      assert.match(
        await cli.refused(1, "backup", "verify", copy),
        new RegExp(`${blob} in the backup is missing or damaged`),
      );
      await rm(join(copy, "store.ndjson.gz"));
      assert.match((await refused(copy, "from-damaged")).said, /store\.ndjson\.gz in the backup is missing/);
    });

    test("verify reports uploads that are in the database but neither in the backup nor on its list of missing ones", async () => {
      const copy = await copyOf("without-uploads");
      const list = gunzipSync(await readFile(join(copy, "digests.ndjson.gz"))).toString();
      await changeList(copy, "digests", list.replaceAll(/^.*"files\/.*\n/gm, ""));
      await rm(join(copy, "files"), { recursive: true });
      const { code, stdout, stderr } = await cli.run("backup", "verify", copy);
      assert.equal(code, 1);
      assert.match(stdout, /is readable, but incomplete; it was taken/);
      assert.match(stderr, /The backup is incomplete\n.*Uploads that are not in the backup: 1\./);
    });

    test("verify removes the remains of a killed verify, and does not touch those of a running one", async () => {
      const workDir = join(root, "work");
      const { pid: dead } = spawnSync("true");
      const running = `millrace-verify-${process.pid}-x`;
      for (const name of [`millrace-verify-${dead}-x`, running, "other"])
        await mkdir(join(workDir, name, "dataset-stores"), { recursive: true });
      await cli.print("backup", "verify", backup, "--work-dir", workDir);
      assert.deepEqual((await readdir(workDir)).sort(), [running, "other"]);
    });

    test("a backup of a newer program is refused", async () => {
      const copy = await copyOf("newer");
      await changeManifest(copy, { schemaVersion: 999 });
      assert.match(
        (await refused(copy, "from-newer")).said,
        /written by a newer version of Millrace\. Upgrade this program/,
      );
    });

    test("a malicious backup reaches nothing outside its own folder and the data folder", async () => {
      const outside = join(root, "outside");
      await mkdir(outside);
      for (const path of ["../outside/x", "/etc/passwd", "files/aa/../../../outside/x", "jobs/x/log", "files/aa"]) {
        const copy = await copyOf(`hostile-${createHash("sha1").update(path).digest("hex")}`);
        const line = JSON.stringify({ path, size: 0, sha256: createHash("sha256").digest("hex") });
        await changeList(copy, "digests", `${line}\n`);
        assert.match((await refused(copy, "from-hostile")).said, /lists an unexpected file/, path);
      }
      const linked = await copyOf("linked");
      await rename(join(linked, "files"), join(outside, "files"));
      await symlink(join(outside, "files"), join(linked, "files"));
      assert.match((await refused(linked, "from-linked")).said, /files in the backup is missing or is not a folder/);
      const attempt = '["ended_attempts",{"job_id":"x","attempt":"1/../../../outside"}]\n';
      const endless = `["jobs",{"id":"${randomUUID()}","attempt":${2 ** 50}}]\n`;
      for (const row of ['["files",{"blob":"../../outside"}]\n["jobs",{"id":"../../outside"}]\n', attempt, endless]) {
        const rows = await copyOf(`rows-${row.length}`);
        await changeList(rows, "rows", row);
        assert.match((await refused(rows, `from-rows-${row.length}`)).said, /The backup has an invalid row/);
      }
      assert.deepEqual(await readdir(outside), ["files"]);
    });

    async function changeManifest(folder: string, changes: object): Promise<void> {
      const path = join(folder, "manifest.json");
      const manifest = JSON.parse(await readFile(path, "utf8")) as object;
      await writeFile(path, JSON.stringify({ ...manifest, ...changes }));
    }

    /** With matching digests, as an attacker would create them. */
    async function changeList(folder: string, list: "rows" | "digests", text: string): Promise<void> {
      const bytes = gzipSync(text);
      await writeFile(join(folder, list === "rows" ? "store.ndjson.gz" : "digests.ndjson.gz"), bytes);
      const { sha256 } = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8")) as { sha256: object };
      await changeManifest(folder, { sha256: { ...sha256, [list]: createHash("sha256").update(bytes).digest("hex") } });
    }
  });
});
