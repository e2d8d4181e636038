/** A disk that fills up: acknowledged writes are kept, refused ones leave nothing, and the server continues. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { statfsSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { ApiError, type Client, type Job, routes } from "@millrace/contract";
import {
  createJob,
  readJob,
  readLog,
  runJob,
  shell,
  waitForEnd,
  waitForStatus,
} from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { mountSmallDisk, whyNoMount } from "@millrace/testing/millrace/small-disk.ts";
import { isDiskFull } from "../../src/machine/disk.ts";
import { startInProcess } from "../support/in-process.ts";

const full = (error: unknown) => error instanceof ApiError && error.code === "insufficient_storage";
const upload = (client: Client, size: number) =>
  client.upload(routes.uploadFile, new Blob([new Uint8Array(size)]), "bytes");

describe("below the floor of free space", () => {
  it("creation and upload are refused with 507, with the reason and the next step; reading works", async () => {
    const server = await startInProcess({ MILLRACE_DISK_FLOOR: "1000000TiB" });
    try {
      const client = await server.client();
      const response = await server.fetch("/api/datachain/jobs/", { json: shell(":") });
      assert.equal(response.status, 507);
      const { message } = (await response.json()) as { message: string };
      assert.match(
        message,
        /disk has only \d+ MiB free, .* \(MILLRACE_DISK_FLOOR\)\. Try again after the server's operator has freed/,
      );
      await assert.rejects(upload(client, 10), full);
      assert.deepEqual(await client.call(routes.listJobs, { query: {} }), []);
      assert.match(await (await server.fetch("/metrics")).text(), /^millrace_disk_low 1$/m);
      const [cluster] = await client.call(routes.listClusters, { query: {} });
      assert.deepEqual([cluster?.status, cluster?.active_workers, cluster?.is_active], ["PAUSED", 0, true]);
    } finally {
      await server.dispose();
    }
  });

  it("a failure because of a full disk is recognised by its code, for files and both databases", () => {
    for (const code of ["ENOSPC", "EDQUOT", "53100"]) assert.ok(isDiskFull(Object.assign(new Error(), { code })));
    assert.ok(isDiskFull(Object.assign(new Error(), { code: "ERR_SQLITE_ERROR", errcode: 13 })));
    assert.ok(!isDiskFull(Object.assign(new Error(), { code: "ERR_SQLITE_ERROR", errcode: 19 })));
    assert.ok(!isDiskFull(new Error("ENOSPC")));
  });
});

describe("on a small file system", { skip: whyNoMount() }, () => {
  let folder: string;
  let unmount: () => Promise<void>;
  /** A folder on another file system that jobs can see. */
  let gates: string;
  before(async () => {
    gates = await mkdtemp(join(tmpdir(), "millrace-gates-"));
    await chmod(gates, 0o755);
    ({ folder, unmount } = await mountSmallDisk(64));
  });
  after(async () => {
    await unmount();
    await rm(gates, { recursive: true, force: true });
  });

  const ballast = () => join(folder, "ballast");
  /** Fills the disk to the last byte, or leaves this much free. */
  function fill(leave = 0): void {
    const script = `dd if=/dev/zero of="$1" bs=4k oflag=append conv=notrunc 2>/dev/null; truncate -s -"$2" "$1"`;
    execFileSync("sh", ["-c", script, "sh", ballast(), String(leave)]);
  }
  const makeRoom = () => rm(ballast(), { force: true });

  async function withServer(
    floor: string,
    test: (client: Client, server: TestServer) => Promise<void>,
    logFile?: string,
  ): Promise<void> {
    const env = {
      MILLRACE_DISK_FLOOR: floor,
      MILLRACE_MAX_WORKERS: "2",
      MILLRACE_LOG_LEVEL: logFile ? "debug" : "warn",
      MILLRACE_JOB_PATHS: gates,
    };
    const server = await TestServer.start({ dataDir: folder, env, ...(logFile ? { logFile } : {}) });
    try {
      await test(await server.client(), server);
    } finally {
      await server.stop("SIGKILL");
      execFileSync("sh", ["-c", 'rm -rf "$1"/* "$1"/.[!.]*', "sh", folder]);
    }
  }

  it("waiting jobs do not start below the floor, and start when there is space again", async () => {
    await withServer("16MiB", async (client, server) => {
      await runJob(client, shell(":"));
      const blockers = [0, 1].map(() => createJob(client, shell(`while [ ! -e ${gates}/go ]; do sleep 0.05; done`)));
      for (const { id } of await Promise.all(blockers)) await waitForStatus(client, id, ["RUNNING"]);
      const waiting = await createJob(client, shell("echo ran"));
      fill(8 * 1024 * 1024);
      await until(async () => !(await accepted(client, "low")));
      await writeFile(join(gates, "go"), "");
      for (const { id } of await Promise.all(blockers)) assert.equal((await waitForEnd(client, id)).status, "COMPLETE");
      await new Promise((resolve) => setTimeout(resolve, 1000));
      assert.equal((await readJob(client, waiting.id)).status, "QUEUED");
      assert.equal(
        server.output.match(/too little free disk space \(see MILLRACE_DISK_FLOOR\)/g)?.length,
        1,
        "it is told once",
      );
      await makeRoom();
      assert.equal((await waitForEnd(client, waiting.id)).status, "COMPLETE");
      assert.equal(await readLog(client, waiting.id), "ran\n");
    });
  });

  it("a full disk refuses with 507, loses nothing that was acknowledged, and the server continues afterwards", async () => {
    await withServer("0", async (client) => {
      const gate = join(gates, "full");
      const wait = `while [ ! -e ${gate} ]; do sleep 0.05; done`;
      const slow = await Promise.all([0, 1].map(() => createJob(client, shell(`${wait}; echo done; exit 3`))));
      for (const { id } of slow) await waitForStatus(client, id, ["RUNNING"]);
      const queued = await Promise.all([...Array(5)].map(() => createJob(client, shell("echo ok"))));
      fill();
      const { made, refused } = await tryToCreate(client, 60);
      assert.ok(refused.length > 0, "the disk was full");
      await assert.rejects(upload(client, 4 * 1024 * 1024), full);
      assert.ok((await client.call(routes.listJobs, { query: { limit: 100 } })).length > 0, "reading goes on");
      assert.equal((await stat(folder)).isDirectory(), true);
      await new Promise((resolve) => setTimeout(resolve, 3000));
      await makeRoom();
      await writeFile(gate, "");
      for (const { id } of slow) {
        const { status, exit_code } = await waitForEnd(client, id);
        assert.deepEqual([status, exit_code, await readLog(client, id)], ["FAILED", 3, "done\n"]);
      }
      for (const { id } of [...queued, ...made]) {
        assert.equal((await waitForEnd(client, id, 120)).status, "COMPLETE");
        assert.equal(await readLog(client, id), "ok\n");
      }
      for (const name of refused) assert.deepEqual(await client.call(routes.listJobs, { query: { name } }), [], name);
      assert.equal((await runJob(client, shell("echo again"))).log, "again\n");
      assert.ok((await upload(client, 1024)).id > 0);
    });
  });

  it("with the server's own log on the full disk, the server answers, cancels, records ends, and continues", async () => {
    const logFile = join(folder, "server.log");
    const test = async (client: Client, server: TestServer) => {
      const { pid } = server;
      const gate = join(gates, "own-log");
      const wait = `echo begun; while [ ! -e ${gate} ]; do sleep 0.05; done`;
      const [running, ending] = await Promise.all([0, 1].map(() => createJob(client, shell(`${wait}; exit 3`))));
      assert.ok(running && ending);
      // A job is RUNNING before its first line is on the disk.
      for (const { id } of [running, ending]) await until(async () => (await readLog(client, id)) === "begun\n");
      const [queued, later] = await Promise.all([0, 1].map(() => createJob(client, shell("echo later"))));
      assert.ok(queued && later);
      fill();
      for (let probe = 0; probe < 50; probe++) assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
      assert.equal((await client.call(routes.listJobs, { query: {} })).length, 4);
      assert.equal(await readLog(client, running.id), "begun\n");
      assert.equal(await accepted(client, "full"), false, "no new job uses what is kept for cancellations");
      for (const { id } of [queued, running]) {
        await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
        assert.equal((await waitForEnd(client, id)).status, "CANCELED");
      }
      // Removing what the canceled job left freed a little space.
      fill();
      await writeFile(gate, "");
      const { status, exit_code } = await waitForEnd(client, ending.id);
      assert.deepEqual([status, exit_code], ["FAILED", 3], "an end is noted while the disk is full");
      assert.equal((await readJob(client, later.id)).status, "QUEUED", "nothing begins meanwhile");
      assert.ok(bytesLeft() < 1024 ** 2, "it was full all the while");
      await makeRoom();
      assert.equal((await waitForEnd(client, later.id)).status, "COMPLETE");
      assert.equal((await runJob(client, shell("echo again"))).log, "again\n");
      assert.equal(server.pid, pid);
      await server.stop();
      assert.match(await readFile(logFile, "utf8"), /"dropped":\d+,"msg":"log lines could not be written"/);
      const store = new DatabaseSync(join(folder, "millrace.db"));
      assert.deepEqual({ ...store.prepare("pragma integrity_check").get() }, { integrity_check: "ok" });
      store.close();
    };
    await withServer("0", test, logFile);
  });

  it("a job that fails on a full disk says so, even if its log has no space for the error", async () => {
    await withServer("0", async (client) => {
      const gate = join(gates, "reason");
      const wait = `while [ ! -e ${gate} ]; do sleep 0.05; done`;
      const fillsLog = `${wait}; echo begun; while echo ${"x".repeat(90)}; do :; done; exit 3`;
      const { id } = await createJob(client, shell(fillsLog));
      await waitForStatus(client, id, ["RUNNING"]);
      fill();
      await writeFile(gate, "");
      const { status, error_message } = await waitForEnd(client, id);
      assert.equal(status, "FAILED");
      assert.match(
        error_message ?? "",
        /exit code 3\. The server's disk is full, so the log may lack its end: ask the/,
      );
      await makeRoom();
    });
  });

  const bytesLeft = () => {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  };

  /** Large jobs, so that the database must grow. */
  async function tryToCreate(client: Client, count: number): Promise<{ made: Job[]; refused: string[] }> {
    const made: Job[] = [];
    const refused: string[] = [];
    for (let index = 0; index < count; index++) {
      const query_name = `big-${index}`;
      try {
        made.push(await createJob(client, shell(`echo ok # ${"x".repeat(200_000)}`, { query_name })));
      } catch (error) {
        assert.ok(full(error), String(error));
        refused.push(query_name);
      }
    }
    return { made, refused };
  }

  const accepted = (client: Client, query_name: string) =>
    createJob(client, shell(":", { query_name })).then(
      () => true,
      (error) => {
        if (!full(error)) throw error;
        return false;
      },
    );

  async function until(ask: () => Promise<boolean>): Promise<void> {
    for (const deadline = Date.now() + 120_000; !(await ask()); ) assert.ok(Date.now() < deadline);
  }
});
