/** Loops with an injected clock: time passes without a sleep. */
import assert from "node:assert/strict";
import { access, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, describe, it } from "node:test";
import type { Job, JobInput } from "@millrace/contract";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { unconfined } from "@millrace/testing/millrace/unconfined.ts";
import { pino } from "pino";
import { packName, uploadName } from "../../src/blobs/blob-names.ts";
import type { Blobs } from "../../src/blobs/blobs.ts";
import { Packs } from "../../src/blobs/packs.ts";
import { operator } from "../../src/domain/access/audit.ts";
import type { Principal, Team } from "../../src/domain/access/principals.ts";
import { cancelJob, createJob, type JobsContext } from "../../src/domain/jobs/jobs.ts";
import { prepareLocalCluster, prepareStore } from "../../src/domain/lifecycle/first-start.ts";
import { day, iso } from "../../src/domain/time/clock.ts";
import { type Engine, EngineUnreachable, type JobSpec } from "../../src/engines/engine.ts";
import { Engines } from "../../src/engines/registry.ts";
import { acceptResults, type Result } from "../../src/execution/end-attempt.ts";
import { dispatchJobs } from "../../src/loops/dispatch-jobs.ts";
import { exportDatasets } from "../../src/loops/export-datasets.ts";
import { fireTasks } from "../../src/loops/fire-tasks.ts";
import { sweep } from "../../src/loops/sweep.ts";
import { DataFolder } from "../../src/machine/data-folder.ts";
import { Disk } from "../../src/machine/disk.ts";
import { readFaults } from "../../src/machine/faults.ts";
import { ServerMetrics } from "../../src/metrics/server-metrics.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { versionIdOf } from "../../src/store/queries/datasets/dataset-versions.ts";
import { findExport, insertExport } from "../../src/store/queries/datasets/exports.ts";
import { openAttempt, openAttempts } from "../../src/store/queries/jobs/attempts.ts";
import { insertEndedAttempt } from "../../src/store/queries/jobs/ended-attempts.ts";
import { insertFile } from "../../src/store/queries/jobs/files.ts";
import { moveJob } from "../../src/store/queries/jobs/job-moves.ts";
import { getJob } from "../../src/store/queries/jobs/jobs.ts";
import { usageOf } from "../../src/store/queries/people/team-usage.ts";
import { insertTeam } from "../../src/store/queries/people/teams.ts";
import { Signals } from "../../src/turns/signals.ts";
import { Warehouses } from "../../src/warehouses/warehouses.ts";
import { putVersion } from "../support/datasets.ts";
import { blobsIn } from "../support/folder-blobs.ts";
import { keyRing } from "../support/keys.ts";
import { localCluster } from "../support/local-cluster.ts";
import { noQuotas as quotas } from "../support/quotas.ts";

const start = Date.UTC(2030, 0, 1);

describe("loops", () => {
  let dataDir: string;
  let store: Store;
  let now = start;
  const clock = { now: () => now, monotonic: () => now };
  const log = pino({ level: "silent" });
  const signals = new Signals();
  const keys = keyRing();
  const metrics = new ServerMetrics();
  after(() => metrics.close());
  let disk: Disk;
  let jobs: JobsContext;
  const team: Team = { id: 1, name: "main", role: "admin" };
  const principal: Principal = {
    userId: 1,
    username: "admin",
    isAdmin: true,
    via: { kind: "session", hash: "" },
    scopes: [],
    teams: [team],
  };

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "millrace-loops-"));
    store = await openStore(storeIn(dataDir));
    disk = new Disk(dataDir, 0, clock);
    await prepareStore(store, now);
    await prepareLocalCluster(store, 1, "none");
    jobs = { store, keys, signals, quotas, timezone: "UTC", jobPaths: [], publicUrl: () => "" };
  });
  after(async () => {
    await store.close();
    await rm(dataDir, { recursive: true });
  });

  const tasksContext = () => ({ store, keys, signals, clock, log, metrics, disk, quotas });
  const create = async (rest: Partial<JobInput>) => {
    const input: JobInput = { query: "", query_type: "SHELL", ...rest };
    return JSON.parse(
      await createJob(jobs, { principal, actor: operator, team, input, idempotencyKey: undefined }, now),
    ) as Job;
  };
  const firings = async (parent: string) =>
    (
      await store.db.selectFrom("jobs").select("created_at").where("parent_job_id", "=", parent).orderBy("id").execute()
    ).map((j) => j.created_at);

  it("fire a cron task at every tick of a year, once each, also with two servers", async () => {
    const task = await create({ cron_expression: "30 4 * * 1" });
    const servers = [fireTasks(tasksContext()), fireTasks(tasksContext())];
    for (; now < start + 365 * day; now += 3_600_000) await Promise.all(servers.map((loop) => loop.runOnce()));
    const expected = [];
    for (let time = start; time < start + 365 * day; time += day) {
      if (new Date(time).getUTCDay() === 1) expected.push(iso(time + 5 * 3_600_000));
    }
    assert.deepEqual(await firings(task.id), expected);
    await cancelJob(jobs, { actor: operator, team }, task.id, now);
  });

  it("fire one job after an outage, not one per missed tick", async () => {
    const task = await create({ cron_expression: "@hourly" });
    const loop = fireTasks(tasksContext());
    now += 100 * 3_600_000;
    await loop.runOnce();
    await loop.runOnce();
    assert.equal((await firings(task.id)).length, 1);
    now += 3_600_000;
    await loop.runOnce();
    assert.equal((await firings(task.id)).length, 2);
    await cancelJob(jobs, { actor: operator, team }, task.id, now);
    now += 24 * 3_600_000;
    await loop.runOnce();
    assert.equal((await firings(task.id)).length, 2, "a cancelled task fires no more");
  });

  it("accept the results that can be written, and report which: the folders of the others are still needed", async () => {
    const ids = [(await create({})).id, (await create({})).id];
    const at = { created_at: iso(now), signalled_at: null };
    const held = { cluster_id: 1, slots: 1, server_id: "s", boot_id: "b", ...at };
    const results = ids.map((id, index): Result => {
      // No database accepts an object as a text.
      const changes = { error_stack: index === 0 ? ({} as string) : null };
      return { fence: { id, attempt: 1 }, status: "COMPLETE", signalled: false, changes };
    });
    await store.write(async (db) => {
      for (const id of ids) {
        await moveJob(db, { id, from: ["CREATED"], to: "INIT", fence: 0, changes: { attempt: 1 } });
        await openAttempt(db, { job_id: id, team_id: 1, attempt: 1, ...held });
      }
    });
    const accepted = await acceptResults({ store, signals, clock, log, metrics }, results);
    assert.deepEqual(accepted, [results[1]]);
    assert.deepEqual(
      (await openAttempts(store.db, "s")).map(({ job_id }) => job_id),
      [ids[0]],
    );
  });

  it("resubmit a job that an engine did not accept, however many attempts have run before", async () => {
    const { id } = await create({ retries: 9 });
    const ended = { exit_code: 1, error_message: "", error_stack: null, started_at: iso(now), finished_at: iso(now) };
    await store.write(async (db) => {
      await db.updateTable("jobs").set({ attempt: 7, retried: 7, status: "QUEUED" }).where("id", "=", id).execute();
      await insertEndedAttempt(db, { job_id: id, attempt: 7, ...ended, next_at: iso(now) });
      await db.deleteFrom("queue").where("job_id", "!=", id).execute();
      await db.deleteFrom("attempts").execute();
    });
    const submitted: string[] = [];
    // A mock, because no real engine fails like this on demand.
    const engine = {
      submit: async ({ key }: JobSpec) => {
        submitted.push(key);
        if (submitted.length === 1) throw new Error("too many open files");
        return null;
      },
      withdraw: async () => true,
      cleanup: async () => {},
    } as unknown as Engine;
    const place = { blobs: blobsIn(dataDir), publicUrl: () => "", libraryVersion: "" };
    const engines = new Engines([[1, engine]]);
    const loop = dispatchJobs(
      {
        ...{ store, engines, keys, signals, clock, log, metrics, disk, faults: readFaults(""), quotas },
        ...{ serverId: "s", ...place },
      },
      localCluster,
    );
    await loop.runOnce();
    assert.deepEqual(submitted, [`${id}.8`, `${id}.9`]);
    const job = await getJob(store.db, id);
    assert.deepEqual([job?.status, job?.retried], ["INIT", 7]);
  });

  it("give slots back where copies of files were deleted before the start, and fail no job for it, however often", async () => {
    const row = { team_id: 1, user_id: 1, filename: "f", size: 1, sha256: "", created_at: iso(now), attached_at: null };
    const file = await store.write((db) => insertFile(db, { ...row, blob: "elsewhere" }));
    await store.write(async (db) => {
      await db.deleteFrom("queue").execute();
      await db.deleteFrom("attempts").execute();
    });
    const { id } = await create({ files: [String(file)] });
    const deletions = Array.from({ length: 6 }, () => ["a path", undefined]).flat();
    const here = [...deletions, undefined];
    // No real copy is deleted just between claim and start on demand.
    const blobs = { isLocal: false, copyOf: async () => here.shift() } as unknown as Blobs;
    const engine = {
      submit: () => assert.fail("it was started without its file"),
      withdraw: async () => true,
      cleanup: async () => {},
    } as unknown as Engine;
    const loop = dispatchJobs(
      {
        ...{ store, engines: new Engines([[1, engine]]), keys, signals, clock, log, metrics, disk, quotas },
        ...{ faults: readFaults(""), serverId: "s", blobs, publicUrl: () => "", libraryVersion: "" },
      },
      localCluster,
    );
    await loop.runOnce();
    assert.deepEqual(await openAttempts(store.db, "s"), []);
    const queued = await store.db.selectFrom("queue").select(["job_id", "waits_for"]).execute();
    assert.deepEqual(queued, [{ job_id: id, waits_for: "files" }]);
    assert.deepEqual(here, [], "the files were looked for at each claim and each start");
  });

  it("start nothing on an engine that did not answer, and withdraw nothing, because the job may have arrived", async () => {
    await store.write(async (db) => {
      await db.deleteFrom("queue").execute();
      await db.deleteFrom("attempts").execute();
    });
    await prepareLocalCluster(store, 2, "none");
    const { id } = await create({});
    const submitted: string[] = [];
    let isAway = true;
    // A mock, because no real engine becomes unreachable between two calls on demand.
    const engine = {
      submit: async ({ key }: JobSpec) => {
        submitted.push(key);
        if (isAway) throw new EngineUnreachable("no answer");
        return null;
      },
      observe: async () => new Map(),
      withdraw: () => assert.fail("it was taken back"),
    } as unknown as Engine;
    const engines = new Engines([[1, engine]]);
    const place = { blobs: blobsIn(dataDir), publicUrl: () => "", libraryVersion: "" };
    const loop = dispatchJobs(
      {
        ...{ store, engines, keys, signals, clock, log, metrics, disk, faults: readFaults(""), quotas },
        ...{ serverId: "s", ...place },
      },
      localCluster,
    );
    await loop.runOnce();
    const next = await create({});
    await loop.runOnce();
    assert.deepEqual(submitted, [`${id}.1`]);
    assert.deepEqual(
      (await openAttempts(store.db, "s")).map(({ job_id }) => job_id),
      [id],
      "what it may have stays open",
    );
    isAway = false;
    await engines.ask(1, ({ observe }) => observe([]));
    await loop.runOnce();
    assert.deepEqual(submitted, [`${id}.1`, `${next.id}.1`]);
    await prepareLocalCluster(store, 1, "none");
  });

  it("hand an engine no more attempts than it takes at a time, however many slots are free", async () => {
    await store.write(async (db) => {
      await db.deleteFrom("queue").execute();
      await db.deleteFrom("attempts").execute();
    });
    await prepareLocalCluster(store, 10, "none");
    for (let job = 0; job < 5; job++) await create({});
    const submitted: string[] = [];
    // A mock, because the engines with such a limit need a cluster.
    const engine = {
      inFlight: 3,
      submit: async ({ jobId }: JobSpec) => {
        submitted.push(jobId);
        return null;
      },
    } as unknown as Engine;
    const place = { blobs: blobsIn(dataDir), publicUrl: () => "", libraryVersion: "" };
    const loop = dispatchJobs(
      {
        ...{ store, engines: new Engines([[1, engine]]), keys, signals, clock, log, metrics, disk, quotas },
        ...{ faults: readFaults(""), serverId: "s", ...place },
      },
      localCluster,
    );
    await loop.runOnce();
    await loop.runOnce();
    assert.equal(submitted.length, 3);
    await store.write((db) =>
      db
        .deleteFrom("attempts")
        .where("job_id", "=", submitted[0] ?? "")
        .execute(),
    );
    await loop.runOnce();
    assert.equal(submitted.length, 4);
    await prepareLocalCluster(store, 1, "none");
  });

  it("write export files for all teams in rotation, even if one has many and large ones", async () => {
    const other = (await store.write((db) => insertTeam(db, { name: "other", created_at: iso(now) }))) ?? 0;
    const wanted = [
      ...["a", "b", "c", "d", "e"].map((name) => ({ name, teamId: 1, files: 100 })),
      { name: "small", teamId: other, files: 1 },
    ];
    for (const { name, teamId, files } of wanted) {
      const uuid = await putVersion(store, name, { teamId, rows_table: name, num_objects: files });
      const version_id = (await versionIdOf(store.db, teamId, uuid)) ?? 0;
      const row = { id: name, team_id: teamId, version_id, status: "pending", num_files: files } as const;
      await store.write((db) => insertExport(db, { ...row, files_done: 0, error: null, created_at: iso(now++) }));
    }
    const served: string[] = [];
    const warehouses = {
      exportRows: async (_team: number, { table }: { table: string }, path: string) => {
        served.push(table);
        await writeFile(path, "");
      },
    } as unknown as Warehouses;
    const loop = exportDatasets({ store, signals, clock, disk, log, warehouses, blobs: blobsIn(dataDir), quotas });
    for (let turn = 0; turn < 6; turn++) {
      await loop.runOnce();
      await loop.settled();
    }
    assert.deepEqual(served.slice(0, 2).sort(), ["a", "small"], "side by side");
    assert.deepEqual(served.slice(2), ["b", "c", "d", "e", "a"]);
  });

  it("write export files of other teams while the warehouse of one is locked", async () => {
    await store.write((db) => db.deleteFrom("exports").execute());
    const other = (await store.write((db) => insertTeam(db, { name: "waiting", created_at: iso(now) }))) ?? 0;
    for (const [name, teamId] of [
      ["locked-1", 1],
      ["locked-2", 1],
      ["free", other],
    ] as const) {
      const uuid = await putVersion(store, name, { teamId, rows_table: name, num_objects: 1 });
      const version_id = (await versionIdOf(store.db, teamId, uuid)) ?? 0;
      const row = { id: name, team_id: teamId, version_id, status: "pending", num_files: 1 } as const;
      await store.write((db) => insertExport(db, { ...row, files_done: 0, error: null, created_at: iso(now++) }));
    }
    const unlocked = Promise.withResolvers<void>();
    const asked: string[] = [];
    const warehouses = {
      exportRows: async (team: number, { table }: { table: string }, path: string) => {
        asked.push(table);
        if (team === 1) await unlocked.promise;
        await writeFile(path, "");
      },
    } as unknown as Warehouses;
    const loop = exportDatasets({ store, signals, clock, disk, log, warehouses, blobs: blobsIn(dataDir), quotas });
    const statusOf = async (id: string) => (await findExport(store.db, id))?.status;
    const completed = async (id: string) => {
      for (; (await statusOf(id)) !== "complete"; await new Promise(setImmediate)) await loop.runOnce();
    };
    await completed("free");
    assert.deepEqual(asked.toSorted(), ["free", "locked-1"], "one file of a team at a time");
    unlocked.resolve();
    await completed("locked-2");
    await loop.settled();
  });

  it("write no more export files than a team's quota: the export fails with that reason, and its files are deleted", async () => {
    await store.write((db) => db.deleteFrom("exports").execute());
    const uuid = await putVersion(store, "much", { rows_table: "much", num_objects: 100 });
    const version_id = (await versionIdOf(store.db, 1, uuid)) ?? 0;
    const row = { id: "much", team_id: 1, version_id, status: "pending", num_files: 100, files_done: 0 } as const;
    await store.write((db) => insertExport(db, { ...row, error: null, created_at: iso(now) }));
    const warehouses = {
      exportRows: (_team: number, _rows: object, path: string) => writeFile(path, Buffer.alloc(1024 ** 2, 1)),
    } as unknown as Warehouses;
    const folder = join(dataDir, "exports", "much");
    const room = { ...quotas, exports: 3 * 1024 ** 2 };
    const loop = exportDatasets({
      store,
      signals,
      clock,
      disk,
      log,
      warehouses,
      blobs: blobsIn(dataDir),
      quotas: room,
    });
    for (let turn = 0; turn < 4; turn++) {
      await loop.runOnce();
      await loop.settled();
    }
    const { status, files_done, error } = (await findExport(store.db, "much")) ?? {};
    assert.deepEqual([status, files_done], ["failed", 3]);
    assert.match(
      error ?? "",
      /exports take 3 MiB, and their quota is 3 MiB \(max_export_bytes, MILLRACE_TEAM_EXPORTS\)/,
    );
    await assert.rejects(access(folder));
    assert.equal((await usageOf(store.db, 1)).exports, 0);
  });

  it("pause when an export file cannot be written: no other is begun, and one warning is logged", async () => {
    await store.write((db) => db.deleteFrom("exports").execute());
    const uuid = await putVersion(store, "unlucky", { rows_table: "unlucky", num_objects: 1 });
    const version_id = (await versionIdOf(store.db, 1, uuid)) ?? 0;
    const row = { id: "unlucky", team_id: 1, version_id, status: "pending", num_files: 1, files_done: 0 } as const;
    await store.write((db) => insertExport(db, { ...row, error: null, created_at: iso(now) }));
    let tries = 0;
    let isFull = true;
    const warehouses = {
      exportRows: async (_team: number, _rows: object, path: string) => {
        tries++;
        if (isFull) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
        await writeFile(path, "");
      },
    } as unknown as Warehouses;
    const lines: string[] = [];
    const told = pino({ level: "info" }, { write: (line: string) => lines.push(JSON.parse(line).msg) });
    const loop = exportDatasets({
      ...{ store, signals, clock, disk, warehouses, quotas },
      ...{ blobs: blobsIn(dataDir), log: told },
    });
    const run = async () => {
      for (let turn = 0; turn < 3; turn++) {
        await loop.runOnce();
        await loop.settled();
      }
    };
    await run();
    assert.equal(tries, 1);
    now += 1000;
    await run();
    assert.equal(tries, 2);
    isFull = false;
    now += 2000;
    await run();
    assert.equal((await findExport(store.db, "unlucky"))?.status, "complete");
    assert.deepEqual(lines, [
      "could not write a file of an export; trying again",
      "files of exports can be written again",
    ]);
  });

  const noPacks = () => new Packs(blobsIn(dataDir), 0, clock.now);
  const sweeper = (packs: Packs, engines = new Engines()) =>
    sweep({
      store,
      engines,
      clock,
      log,
      serverId: "s",
      unusedFileDays: 7,
      logDays: 0,
      envDays: 30,
      auditDays: 0,
      deliveryDays: 30,
      warehouseReplacedDays: 0,
      warehouses: new Warehouses(new DataFolder(dataDir).warehouses, unconfined),
      blobs: blobsIn(dataDir),
      packs,
      exports: { life: day },
    });

  it("clean up what is left of an attempt by the engine of its cluster, although others find it, too", async () => {
    const { id, compute_cluster_id } = await create({});
    const [unknown, own] = ["unknown.1", `${id}.1`];
    const cleaned: string[] = [];
    const engineNamed = (name: string) =>
      ({
        find: async () => [own, unknown],
        cleanup: async (key: string) => void cleaned.push(`${name} ${key}`),
      }) satisfies Partial<Engine> as unknown as Engine;
    const loop = sweeper(
      noPacks(),
      new Engines([
        [compute_cluster_id ?? 0, engineNamed("own")],
        [1000, engineNamed("other")],
      ]),
    );
    await loop.runOnce();
    await loop.settled?.();
    assert.deepEqual(cleaned.sort(), [`other ${unknown}`, `own ${own}`, `own ${unknown}`].sort());
  });

  it("delete files that no job uses after the documented time", async () => {
    const filePath = (blob: string) => join(dataDir, uploadName(blob));
    const row = { team_id: 1, user_id: 1, filename: "f", size: 1, sha256: "", created_at: iso(now), attached_at: null };
    const [used] = await store.write(async (db) => [
      await insertFile(db, { ...row, blob: "used" }),
      await insertFile(db, { ...row, blob: "unused" }),
    ]);
    for (const blob of ["used", "unused"])
      await blobsIn(dataDir).put(uploadName(blob), Readable.from([Buffer.from("x")]));
    await create({ files: [String(used)] });
    const loop = sweeper(noPacks());
    await loop.runOnce();
    await access(filePath("unused"));
    now += 8 * day;
    await loop.runOnce();
    await access(filePath("used"));
    await assert.rejects(access(filePath("unused")));
  });

  it("delete packed virtualenvs that nobody has used for the documented time", async () => {
    const packs = new Packs(blobsIn(dataDir), 100, clock.now);
    const id = { team: 1, person: null, environment: "e".repeat(40) };
    await packs.store(id, Readable.from([Buffer.from("x")]), 10);
    const path = join(dataDir, packName(1, null, id.environment));
    await utimes(path, new Date(now), new Date(now));
    const loop = sweeper(packs);
    await loop.runOnce();
    now += 29 * day;
    await loop.runOnce();
    await access(path);
    now += 2 * day;
    await loop.runOnce();
    await assert.rejects(access(path));
  });
});
