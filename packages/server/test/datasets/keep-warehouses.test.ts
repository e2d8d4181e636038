/** Maintenance of warehouses: daily copies, garbage collection while idle, restoring; with the real library. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { type Client, routes } from "@millrace/contract";
import {
  createJob,
  python,
  readLog,
  runJob,
  shell,
  waitForEnd,
  waitForStatus,
} from "@millrace/testing/millrace/jobs.ts";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { unconfined } from "@millrace/testing/millrace/unconfined.ts";
import { whyNoDatachain, withLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { pino } from "pino";
import { readConfig } from "../../src/configuration/config.ts";
import { prepareStore } from "../../src/domain/lifecycle/first-start.ts";
import { systemClock } from "../../src/domain/time/clock.ts";
import { Engines } from "../../src/engines/registry.ts";
import { WarehouseMeasures } from "../../src/execution/measure-warehouses.ts";
import { copyWarehouses, tidyWarehouses } from "../../src/loops/keep-warehouses.ts";
import { DataFolder } from "../../src/machine/data-folder.ts";
import { Disk } from "../../src/machine/disk.ts";
import { backup, restore, verify } from "../../src/main.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { touchWarehouse } from "../../src/store/queries/datasets/warehouses.ts";
import { Signals } from "../../src/turns/signals.ts";
import { Warehouses } from "../../src/warehouses/warehouses.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { noQuotas } from "../support/quotas.ts";

const skip = await whyNoDatachain();
const hour = 3_600_000;
const save = (name: string) => python(`import datachain as dc\ndc.read_values(n=[1, 2]).save('${name}')\n`);

describe("the warehouse of a team", { skip }, () => {
  let server: InProcessServer;
  let client: Client;
  let warehouses: Warehouses;
  let ahead = 0;
  let passed = 0;
  const pass = (time: number) => {
    ahead += time;
    passed += time;
  };
  before(async () => {
    // The server's own loop does nothing: a loop of the test, with its own clock, replaces it.
    server = await startInProcess({
      ...withLibrary,
      MILLRACE_STORE_COPIES: "0",
      MILLRACE_STORE_TIDY_HOURS: "0",
      MILLRACE_MAX_WORKERS: "2",
    });
    client = await server.client();
    warehouses = new Warehouses(new DataFolder(server.dataDir).warehouses, unconfined);
  });
  after(() => server.dispose());

  const quotas = noQuotas;
  const clock = { now: () => Date.now() + ahead, monotonic: () => performance.now() + passed };
  const context = () => ({
    ...{ store: server.store, signals: new Signals(), clock, log: pino({ level: "silent" }), warehouses },
    ...{ warehouseCopies: 2, warehouseTidyHours: 24, warehousePauseDays: 7 },
    disk: new Disk(server.dataDir, 0, clock),
    measures: new WarehouseMeasures({
      store: server.store,
      warehouses,
      serverId: "",
      quotas,
      engines: new Engines(),
    }),
  });
  const row = () => server.store.db.selectFrom("team_stores").selectAll().executeTakeFirstOrThrow();
  const use = () => server.store.write((db) => touchWarehouse(db, 1, new Date(clock.now()).toISOString()));
  const data = (name: string) => join(server.dataDir, "team-stores/1/data", name);
  const run = async (input: ReturnType<typeof save>) => {
    const { job, log } = await runJob(client, input);
    assert.equal(job.status, "COMPLETE", `${job.error_message}\n${log}`);
  };
  const tables = () => {
    const db = new DatabaseSync(data("rows.db"), { readOnly: true });
    const found = db.prepare("select name from sqlite_schema where type = 'table'").all();
    db.close();
    return found.map(({ name }) => String(name));
  };

  it("is copied on the first day and on every day on which it changed; the newest copies are kept", async () => {
    await run(save("first"));
    await copyWarehouses(context()).runOnce();
    assert.equal((await warehouses.copies(1)).length, 1);
    await copyWarehouses(context()).runOnce();
    assert.equal((await warehouses.copies(1)).length, 1, "once a day");
    for (let day = 1; day <= 3; day++) {
      pass(25 * hour);
      await use();
      await copyWarehouses(context()).runOnce();
    }
    const copies = await warehouses.copies(1);
    assert.equal(copies.length, 2);
    assert.ok(Date.parse(copies[0] ?? "") > Date.now() + 70 * hour, "the newest");
    assert.deepEqual(
      (await client.call(routes.listDatasetCopies, { params: { team_name: "main" } })).map((copy) => copy.created_at),
      copies,
    );
  });

  it("is garbage-collected while none of its team's jobs run: remains of killed jobs are removed, datasets are not", async () => {
    const db = new DatabaseSync(data("rows.db"));
    db.exec("create table tmp_abcdef (sys__id integer primary key)");
    db.close();
    pass(25 * hour);
    await use();
    await tidyWarehouses(context()).runOnce();
    assert.ok(!tables().includes("tmp_abcdef"));
    assert.ok(tables().some((name) => name.includes("_first_1_0_0")));
    assert.equal((await row()).paused_at, null);
  });

  it("returns the space of removed versions to the disk, and the team's usage shows it", async () => {
    const db = new DatabaseSync(data("rows.db"));
    db.exec("create table tmp_large (sys__id integer primary key, bytes blob)");
    db.exec("insert into tmp_large (bytes) values (randomblob(20000000))");
    db.exec("pragma wal_checkpoint(truncate)");
    db.close();
    const size = async () => (await stat(data("rows.db"))).size;
    assert.ok((await size()) > 20_000_000);
    pass(25 * hour);
    await use();
    await tidyWarehouses(context()).runOnce();
    assert.ok((await size()) < 2_000_000, `${await size()} bytes are left`);
    assert.ok(tables().some((name) => name.includes("_first_1_0_0")));
    const usage = await client.call(routes.getTeamUsage, { params: { team_name: "main" } });
    assert.ok(usage.datasets.bytes > 0 && usage.datasets.bytes < 4_000_000);
  });

  it("waits for running jobs; a team that is never idle is paused at last, and its jobs start after garbage collection", async () => {
    const gate = join(await mkdtemp(join(tmpdir(), "millrace-gate-")), "open");
    const running = await createJob(client, shell(`while [ ! -e ${gate} ] && [ -e job.sh ]; do sleep 0.05; done`));
    await waitForStatus(client, running.id, ["RUNNING"]);
    const keeping = tidyWarehouses(context());
    const before = (await row()).tidied_at;
    pass(25 * hour);
    await use();
    await keeping.runOnce();
    assert.equal((await row()).paused_at, null, "not yet");
    pass(7 * 24 * hour);
    await keeping.runOnce();
    assert.notEqual((await row()).paused_at, null);
    const waiting = await createJob(client, shell("true"));
    await waitForStatus(client, waiting.id, ["QUEUED"]);
    await writeFile(gate, "");
    await waitForEnd(client, running.id);
    assert.equal((await waitForStatus(client, waiting.id, ["QUEUED"])).status, "QUEUED", "paused");
    await keeping.runOnce();
    assert.notEqual((await row()).tidied_at, before);
    assert.equal((await waitForEnd(client, waiting.id)).status, "COMPLETE");
    await rm(join(gate, ".."), { recursive: true });
  });

  it("of a busy team is not paused because the clock was ahead for a moment", async () => {
    const gate = join(await mkdtemp(join(tmpdir(), "millrace-gate-")), "open");
    const running = await createJob(client, shell(`while [ ! -e ${gate} ] && [ -e job.sh ]; do sleep 0.05; done`));
    await waitForStatus(client, running.id, ["RUNNING"]);
    const keeping = tidyWarehouses(context());
    await keeping.runOnce();
    ahead += 400 * 24 * hour;
    await use();
    await keeping.runOnce();
    assert.equal((await row()).paused_at, null, "a clock that has just been set decides nothing");
    ahead -= 400 * 24 * hour;
    await keeping.runOnce();
    assert.equal((await row()).paused_at, null, "it goes on when the clock is right");
    await writeFile(gate, "");
    await waitForEnd(client, running.id);
    await rm(join(gate, ".."), { recursive: true });
  });

  it("is restored from a copy: later versions are gone, and numbering continues from there", async () => {
    ahead = 0;
    const moment = new Date().toISOString();
    await warehouses.copy(1, moment, 9);
    await run(save("later"));
    const { message } = await client.call(routes.restoreDatasetCopy, {
      params: { team_name: "main" },
      body: { created_at: moment },
    });
    assert.match(message, /Versions created after the copy are lost: 1\./);
    await run(python("import datachain as dc\nassert dc.read_dataset('first').count() == 2\n"));
    await run(save("later"));
  });

  it("is not restored while a job runs, nor from an unknown copy", async () => {
    const { id } = await createJob(client, shell("sleep 30"));
    await waitForStatus(client, id, ["RUNNING"]);
    const ask = (created_at?: string) =>
      server.fetch("/api/teams/main/dataset-copies/restore", { json: created_at ? { created_at } : {} });
    const busy = await ask();
    assert.equal(busy.status, 409);
    assert.match(await busy.text(), /jobs of the team main are running/);
    await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
    await waitForEnd(client, id);
    const unknown = await ask("2020-01-01T00:00:00Z");
    assert.equal(unknown.status, 404);
    assert.match(await unknown.text(), /no copy from 2020-01-01T00:00:00Z\. It has copies from: 20/);
  });

  const config = (dataDir: string) =>
    readConfig(
      {},
      { PATH: withLibrary.PATH, MILLRACE_DATA_DIR: dataDir, MILLRACE_PORT: "0", MILLRACE_ISOLATION: "none" },
    );
  const quiet = { onProgress: () => {} };

  it("is in a backup as of that moment: a restored server has it at once", async () => {
    await warehouses.copy(1, new Date().toISOString(), 9);
    await run(save("after_the_copy"));
    const folder = await mkdtemp(join(tmpdir(), "millrace-backup-"));
    await backup(config(server.dataDir), join(folder, "backup"), { ...quiet, withKey: true });
    const { stores } = await restore(config(join(folder, "data")), join(folder, "backup"), {
      ...quiet,
      cancelQueued: true,
    });
    assert.deepEqual(
      stores.map(({ missing, unreadable }) => [missing, unreadable]),
      [[[], null]],
    );
    const restored = await startInProcess({ ...withLibrary, MILLRACE_DATA_DIR: join(folder, "data") });
    try {
      const other = await restored.client();
      const read =
        "import datachain as dc\nfor name in ['first', 'after_the_copy']:\n  print(dc.read_dataset(name).count())\n";
      const { job, log } = await runJob(other, python(read));
      assert.equal(job.status, "COMPLETE", log);
    } finally {
      await restored.dispose();
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("is in a backup as its newest daily copy if it is damaged, and the backup reports what is missing", async () => {
    const moment = new Date().toISOString();
    await warehouses.copy(1, moment, 9);
    await run(save("not_in_the_copy"));
    const folder = await mkdtemp(join(tmpdir(), "millrace-backup-"));
    const files = ["metadata.db", "metadata.db-wal", "metadata.db-shm"];
    for (const name of files) await rename(data(name), join(folder, name)).catch(() => {});
    try {
      await writeFile(data("metadata.db"), "no database");
      const taken = await backup(config(server.dataDir), join(folder, "backup"), { ...quiet, withKey: false });
      const [part] = taken.stores ?? [];
      assert.deepEqual([part?.from, part?.takenAt, part?.missing.length], ["daily copy", moment, 1]);
      assert.match(part?.why ?? "", /cannot be used: file is not a database/);
      const { problems } = await verify(config(folder), join(folder, "backup"), quiet);
      assert.deepEqual(problems, [], "it says itself what is missing");
      const restored = join(folder, "data");
      const { stores } = await restore(config(restored), join(folder, "backup"), { ...quiet, cancelQueued: true });
      assert.equal(stores[0]?.missing.length, 1);
    } finally {
      await rm(data("metadata.db"));
      for (const name of files) await rename(join(folder, name), data(name)).catch(() => {});
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("is waited for while another job locks it, and the job fails with a clear reason if something else is in its place", async () => {
    const mark = data("library");
    await rm(mark);
    await promisify(execFile)("mkfifo", [mark]);
    const { job, log } = await runJob(client, save("piped"));
    assert.equal(job.status, "FAILED");
    assert.match(log, /library is not a plain file.*replace the warehouse with its newest daily copy/);
    await rm(mark);
    const db = new DatabaseSync(data("metadata.db"));
    const { id } = await createJob(client, python("if False:\n    import datachain\nimport time\ntime.sleep(1)\n"));
    await waitForStatus(client, id, ["RUNNING"]);
    db.exec("begin immediate");
    await new Promise((resolve) => setTimeout(resolve, 4000));
    assert.equal((await waitForStatus(client, id, ["RUNNING"])).status, "RUNNING", "its end waits");
    db.exec("commit");
    db.close();
    assert.equal((await waitForEnd(client, id)).status, "COMPLETE");
  });

  it("is refused to a library that is older than the one that last wrote it", async () => {
    await writeFile(data("library"), "99.1.0\n");
    const { id } = await createJob(client, save("old"));
    const job = await waitForEnd(client, id);
    assert.equal(job.status, "FAILED");
    assert.match(await readLog(client, id), /last written with datachain 99\.1\.0, and this job has 0\.62\.0/);
  });
});

describe("the space of removed versions", () => {
  const gibibyte = 1024 ** 3;
  /** Warehouses and disks of any size: a mock, because no machine has them all. */
  async function compacted({ store, free }: { store: number; free: number }) {
    const dataDir = await mkdtemp(join(tmpdir(), "millrace-keep-"));
    const own = await openStore(storeIn(dataDir));
    const done: string[] = [];
    const lines: string[] = [];
    const warehouses = {
      tidy: async () => void done.push("tidied"),
      compact: async () => void done.push("compacted"),
      length: () => store,
      bytes: async () => store,
    } as unknown as Warehouses;
    const disk = { isLow: async (more = 0) => free - more < gibibyte } as Disk;
    const quotas = noQuotas;
    const measures = new WarehouseMeasures({ store: own, warehouses, serverId: "", quotas, engines: new Engines() });
    const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
    await prepareStore(own, systemClock.now());
    for (const ago of [48 * hour, 0])
      await own.write((db) => touchWarehouse(db, 1, new Date(Date.now() - ago).toISOString()));
    await tidyWarehouses({
      ...{ store: own, signals: new Signals(), clock: systemClock, log, disk, warehouses, measures },
      ...{ warehouseCopies: 0, warehouseTidyHours: 24, warehousePauseDays: 7 },
    }).runOnce();
    const { paused_at, tidied_at } = await own.db.selectFrom("team_stores").selectAll().executeTakeFirstOrThrow();
    assert.ok(paused_at === null && Date.parse(tidied_at ?? "") > Date.now() - hour, "the team goes on");
    await own.close();
    await rm(dataDir, { recursive: true });
    return [...done, ...lines];
  }

  it("is returned if the disk has room for the warehouse twice", async () => {
    assert.deepEqual(await compacted({ store: 10 * gibibyte, free: 22 * gibibyte }), ["tidied", "compacted"]);
  });
  const isNot = ["tidied", "the warehouse was not compacted: it is too large, or the disk has too little free space"];
  it("is not returned if that would fill the disk", async () => {
    assert.deepEqual(await compacted({ store: 10 * gibibyte, free: 20 * gibibyte }), isNot);
  });
  it("is not returned if the warehouse is larger than 50 GiB, however large the disk is", async () => {
    assert.deepEqual(await compacted({ store: 50 * gibibyte, free: 9000 * gibibyte }), ["tidied", "compacted"]);
    assert.deepEqual(await compacted({ store: 51 * gibibyte, free: 9000 * gibibyte }), isNot);
  });
});
