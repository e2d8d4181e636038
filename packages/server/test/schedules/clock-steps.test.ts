/** A clock that was wrong for a while: what it changed is corrected, and nothing is lost, doubled or deleted by it. */
import assert from "node:assert/strict";
import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Readable } from "node:stream";
import { after, beforeEach, describe, it } from "node:test";
import type { Job, JobInput } from "@millrace/contract";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { unconfined } from "@millrace/testing/millrace/unconfined.ts";
import { pino } from "pino";
import { uploadName } from "../../src/blobs/blob-names.ts";
import { Packs } from "../../src/blobs/packs.ts";
import { operator } from "../../src/domain/access/audit.ts";
import { createJob } from "../../src/domain/jobs/jobs.ts";
import { prepareLocalCluster, prepareStore } from "../../src/domain/lifecycle/first-start.ts";
import { newJobId, timeOfJobId } from "../../src/domain/lifecycle/job-ids.ts";
import { mendedRun, type ScheduleTimes } from "../../src/domain/schedules/schedule-times.ts";
import { day, iso } from "../../src/domain/time/clock.ts";
import type { Attempt, Engine } from "../../src/engines/engine.ts";
import { Ages } from "../../src/engines/local/attempt/ages.ts";
import { Engines } from "../../src/engines/registry.ts";
import { ClockAdvice } from "../../src/loops/clock-advice.ts";
import { fireTasks } from "../../src/loops/fire-tasks.ts";
import { type FollowContext, followAttempts } from "../../src/loops/follow-attempts.ts";
import { copyWarehouses } from "../../src/loops/keep-warehouses.ts";
import { sweep } from "../../src/loops/sweep.ts";
import { DataFolder } from "../../src/machine/data-folder.ts";
import { Disk } from "../../src/machine/disk.ts";
import { readFaults } from "../../src/machine/faults.ts";
import { ServerMetrics } from "../../src/metrics/server-metrics.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { touchWarehouse, updateWarehouse } from "../../src/store/queries/datasets/warehouses.ts";
import { openAttempt } from "../../src/store/queries/jobs/attempts.ts";
import { insertFile } from "../../src/store/queries/jobs/files.ts";
import { readClockMark } from "../../src/store/queries/schedules/clock-marks.ts";
import { Signals } from "../../src/turns/signals.ts";
import { makeRoomFor } from "../../src/warehouses/copy-names.ts";
import { Warehouses } from "../../src/warehouses/warehouses.ts";
import { blobsIn } from "../support/folder-blobs.ts";
import { keyRing } from "../support/keys.ts";
import { localCluster } from "../support/local-cluster.ts";
import { noQuotas as quotas } from "../support/quotas.ts";
import { ScheduledYear } from "../support/scheduled-year.ts";

const minute = 60_000;
const hour = 60 * minute;
const start = Date.UTC(2030, 0, 1, 0, 0, 30);

describe("a clock that was wrong", () => {
  let dataDir: string;
  let store: Store;
  /** How far the wall clock is off. */
  let wrong = 0;
  let passed = 0;
  const clock = { now: () => start + passed + wrong, monotonic: () => passed };
  const log = pino({ level: "silent" });
  const metrics = new ServerMetrics();
  const signals = new Signals();
  const keys = keyRing();
  const opened: (() => Promise<void>)[] = [];

  beforeEach(async () => {
    wrong = 0;
    passed = 0;
    dataDir = await mkdtemp(join(tmpdir(), "millrace-clock-"));
    store = await openStore(storeIn(dataDir));
    const [folder, own] = [dataDir, store];
    opened.push(async () => {
      await own.close();
      await rm(folder, { recursive: true });
    });
    await prepareStore(store, clock.now());
    await prepareLocalCluster(store, 1, "none");
  });
  after(async () => {
    metrics.close();
    for (const close of opened) await close();
  });

  const tasks = () =>
    fireTasks({ store, keys, signals, clock, log, metrics, disk: new Disk(dataDir, 0, clock), quotas });
  async function task(cron_expression: string): Promise<Job> {
    const team = { id: 1, name: "main", role: "admin" } as const;
    const via = { kind: "session", hash: "" } as const;
    const principal = { userId: 1, username: "admin", isAdmin: true, via, scopes: [], teams: [team] };
    const input: JobInput = { query: "", query_type: "SHELL", cron_expression };
    const context = { store, keys, signals, quotas, timezone: "UTC", jobPaths: [], publicUrl: () => "" };
    return JSON.parse(
      await createJob(context, { principal, actor: operator, team, input, idempotencyKey: undefined }, clock.now()),
    );
  }
  const nextRun = async (id: string) =>
    (await store.db.selectFrom("tasks").select("next_run").where("job_id", "=", id).executeTakeFirst())?.next_run;
  const firings = async (id: string) =>
    (
      await store.db
        .selectFrom("jobs")
        .select("created_at")
        .where("parent_job_id", "=", id)
        .orderBy("created_at")
        .execute()
    ).map(({ created_at }) => created_at.slice(0, 16));
  /** Lets time pass, half a minute at a time. */
  async function run(loop: { runOnce(): Promise<void> }, duration: number): Promise<void> {
    for (const end = passed + duration; passed < end; passed += minute / 2) await loop.runOnce();
  }

  describe("fires", () => {
    it("nothing while it is wrong for seconds, and misses nothing afterwards", async () => {
      const { id } = await task("0 * * * *");
      const loop = tasks();
      await run(loop, 10 * minute);
      wrong = 400 * day;
      await loop.runOnce();
      passed += 10_000;
      await loop.runOnce();
      wrong = 0;
      await run(loop, 3 * hour);
      assert.deepEqual(await firings(id), ["2030-01-01T01:00", "2030-01-01T02:00", "2030-01-01T03:00"]);
    });

    it("while it is wrong for long, and continues at the next tick when it is right again", async () => {
      const { id } = await task("0 * * * *");
      const loop = tasks();
      await run(loop, 10 * minute);
      wrong = 400 * day;
      await run(loop, 5 * minute);
      assert.equal((await firings(id)).length, 1, "for the time that seemed to have gone by");
      assert.equal((await nextRun(id))?.slice(0, 4), "2031");
      wrong = 0;
      await run(loop, 2 * hour);
      const real = (await firings(id)).filter((time) => time < "2031");
      assert.deepEqual(real, ["2030-01-01T01:00", "2030-01-01T02:00"]);
    });

    it("in the same way if the server restarts in between, or if another server had the wrong clock", async () => {
      const { id } = await task("0 3 * * *");
      await store.write((db) =>
        db
          .updateTable("tasks")
          .set({ next_run: iso(start + 400 * day) })
          .execute(),
      );
      await tasks().runOnce();
      assert.equal(await nextRun(id), "2030-01-01T03:00:00.000Z");
    });

    it("no tick twice if it is set back a little", async () => {
      const { id } = await task("* * * * *");
      const loop = tasks();
      await run(loop, 10 * minute);
      const before = await firings(id);
      wrong = -5 * minute;
      await run(loop, 10 * minute);
      const ticks = await firings(id);
      assert.equal(new Set(ticks).size, ticks.length, ticks.join(" "));
      assert.deepEqual(ticks.slice(0, before.length), before);
      assert.ok(ticks.length > before.length, "and it goes on");
    });

    for (const behind of [day, 109 * minute])
      for (const isStarted of [true, false])
        it(`no tick twice if it is ${behind / minute} minutes behind for a while, ${isStarted ? "at the start of a server" : "while a server runs"}`, async () => {
          const { id } = await task("0 * * * *");
          const running = tasks();
          await run(running, 25 * hour);
          const before = await firings(id);
          assert.equal(before.length, 25);
          wrong = -behind;
          const loop = isStarted ? tasks() : running;
          await run(loop, 5 * minute);
          assert.equal(
            (await nextRun(id))?.slice(0, 16),
            "2030-01-02T02:00",
            "it waits for the tick that it waited for",
          );
          wrong = 0;
          await run(loop, 2 * hour);
          assert.deepEqual(await firings(id), [...before, "2030-01-02T02:00", "2030-01-02T03:00"]);
        });

    it("no tick of a schedule twice if every missed one is made up", async () => {
      const year = new ScheduledYear(dataDir, start);
      const plan = { expression: "0 * * * *", timezone: "UTC", overlap: "allow", catch_up: "all", takes: 0 } as const;
      const [id] = (await year.prepare(store, [plan])) as [number];
      const pass = async (server: { runOnce(): Promise<void> }, duration: number) => {
        for (const end = year.now + duration; year.now < end; year.now += minute / 2) await server.runOnce();
      };
      await pass(year.server(store), 25 * hour);
      assert.equal((await year.firings(store, id)).length, 25);
      year.wrong = -day;
      const server = year.server(store);
      await pass(server, 5 * minute);
      year.wrong = 0;
      await pass(server, 2 * hour);
      year.close();
      assert.equal((await year.firings(store, id)).length, 27);
    });

    it("at most once a minute, and again within two, if it is repeatedly wrong for seconds", async () => {
      const { id } = await task("* * * * *");
      let loop = tasks();
      const go = async (duration: number) => {
        for (const end = passed + duration; passed < end; passed += 500) await loop.runOnce();
      };
      for (const fault of [400 * day, -hour, -day, 400 * day, -hour]) {
        await go(70_000);
        wrong = fault;
        await go(4500);
        wrong = 0;
        await go(70_000);
        loop = tasks();
      }
      const ticks = await firings(id);
      assert.equal(new Set(ticks).size, ticks.length, ticks.join(" "));
      const moments = [start, ...ticks.map((tick) => Date.parse(`${tick}Z`)), clock.now()];
      const gaps = moments.slice(1).map((moment, index) => moment - (moments[index] ?? 0));
      assert.ok(Math.max(...gaps) <= 2 * minute, ticks.join(" "));
    });

    it("nothing if it is set while the server waits for the store, and its time then is not recorded", async () => {
      const advice = new ClockAdvice({ store, clock, log });
      const setMeanwhile = async () => {
        wrong = 400 * day;
      };
      assert.equal(await advice.mayAct(setMeanwhile), false, "set between the look and the end of the mending");
      wrong = 0;
      passed += minute;
      assert.equal(await advice.mayAct(), false, "not settled yet");
      passed += minute;
      assert.equal(await advice.mayAct(), true);
      wrong = 400 * day;
      await advice.note(iso(start + passed + minute));
      assert.equal(
        (await readClockMark(store.db, "fired"))?.slice(0, 4),
        "2030",
        "set between the look and the firing",
      );
      wrong = 0;
      assert.equal(await new ClockAdvice({ store, clock, log }).mayAct(), true, "a server that starts then goes on");
    });

    it("again after a day if it stays behind a trusted time", async () => {
      const { id } = await task("0 * * * *");
      const loop = tasks();
      await run(loop, 10 * minute);
      wrong = 400 * day;
      await run(loop, 26 * hour);
      wrong = 0;
      await run(loop, 23 * hour);
      const isReal = (time: string) => time < "2031";
      assert.deepEqual((await firings(id)).filter(isReal), []);
      await run(loop, 3 * hour);
      assert.deepEqual((await firings(id)).filter(isReal), ["2030-01-03T03:00", "2030-01-03T04:00"]);
    });

    it("in the same way after an outage of some hours with it ahead for minutes at the start", async () => {
      const { id } = await task("0 * * * *");
      await run(tasks(), 90 * minute);
      passed += 5 * hour;
      wrong = 3 * day;
      const loop = tasks();
      await run(loop, 5 * minute);
      wrong = 0;
      await run(loop, 2 * hour);
      const real = (await firings(id)).filter((time) => time < "2030-01-02");
      assert.deepEqual(real, ["2030-01-01T01:00", "2030-01-01T07:00", "2030-01-01T08:00"]);
    });
  });

  describe("does not change a next run that is right", () => {
    const at = (text: string) => Date.parse(`${text}Z`);
    const times = (rest: Partial<ScheduleTimes>): ScheduleTimes => ({
      start_after: null,
      cron_expression: null,
      timezone: "UTC",
      ...rest,
    });
    const now = at("2030-01-01T10:30:00");
    for (const [what, schedule, run, mended] of [
      ["the next tick", times({ cron_expression: "0 * * * *" }), "2030-01-01T11:00", undefined],
      [
        "the one after it, as after a step back",
        times({ cron_expression: "0 * * * *" }),
        "2030-01-01T12:00",
        undefined,
      ],
      ["two ticks too far", times({ cron_expression: "0 * * * *" }), "2030-01-01T13:00", "2030-01-01T11:00"],
      ["the next of a year", times({ cron_expression: "@yearly" }), "2031-01-01T00:00", undefined],
      ["one of another year", times({ cron_expression: "@yearly" }), "2032-01-01T00:00", "2031-01-01T00:00"],
      [
        "after start_after",
        times({ cron_expression: "@daily", start_after: iso(at("2040-05-05T00:00")) }),
        "2040-05-05T00:00",
        undefined,
      ],
      [
        "what runs once, at its time",
        times({ start_after: iso(at("2040-05-05T00:00")) }),
        "2040-05-05T00:00",
        undefined,
      ],
      [
        "what runs once, and was put off",
        times({ start_after: iso(at("2029-05-05T00:00")) }),
        "2031-01-01T00:00",
        "2029-05-05T00:00",
      ],
    ] as const)
      it(`${what}: ${mended ? "is corrected" : "stays"}`, () => {
        assert.equal(mendedRun(schedule, iso(at(run)), now), mended && iso(at(mended)));
      });
  });

  describe("deletes nothing", () => {
    const exists = (path: string) =>
      access(path).then(
        () => true,
        () => false,
      );
    const sweeper = () =>
      sweep({
        store,
        engines: new Engines(),
        clock,
        log,
        serverId: "",
        blobs: blobsIn(dataDir),
        packs: new Packs(blobsIn(dataDir), 0, clock.now),
        unusedFileDays: 7,
        logDays: 90,
        auditDays: 365,
        deliveryDays: 30,
        warehouseReplacedDays: 7,
        warehouses: new Warehouses(new DataFolder(dataDir).warehouses, unconfined),
        envDays: 30,
        exports: { life: day },
      });
    async function upload(): Promise<string> {
      const row = { team_id: 1, user_id: 1, filename: "f", size: 1, sha256: "", attached_at: null };
      await store.write((db) => insertFile(db, { ...row, blob: "fresh", created_at: iso(clock.now()) }));
      await store.write((db) =>
        db
          .insertInto("sessions")
          .values({ hash: "h", user_id: 1, created_at: iso(clock.now()), expires_at: iso(clock.now() + day) })
          .execute(),
      );
      await blobsIn(dataDir).put(uploadName("fresh"), Readable.from([Buffer.from("x")]));
      return join(dataDir, uploadName("fresh"));
    }
    const sessions = async () => (await store.db.selectFrom("sessions").select("hash").execute()).length;

    it("while it is wrong, and continues when it is right again", async () => {
      const file = await upload();
      const loop = sweeper();
      await loop.runOnce();
      wrong = 400 * day;
      for (let i = 0; i < 20; i++, passed += hour) await loop.runOnce();
      assert.deepEqual([await exists(file), await sessions()], [true, 1]);
      wrong = 0;
      for (let i = 0; i < 9 * 24; i++, passed += hour) await loop.runOnce();
      assert.deepEqual([await exists(file), await sessions()], [false, 0], "after its real time");
    });

    it("when a server starts with it", async () => {
      const file = await upload();
      await sweeper().runOnce();
      wrong = 400 * day;
      const loop = sweeper();
      for (let i = 0; i < 20; i++, passed += hour) await loop.runOnce();
      assert.deepEqual([await exists(file), await sessions()], [true, 1]);
      for (let i = 0; i < 6; i++, passed += hour) await loop.runOnce();
      assert.equal(await exists(file), false, "one that stays is believed after a day");
    });

    it("for an hour after the machine was asleep, as every night; then old files are deleted", async () => {
      const file = await upload();
      const loop = sweeper();
      await loop.runOnce();
      for (let night = 0; night < 10; night++) {
        wrong += 14 * hour;
        await loop.runOnce();
        // The file is a week old in the eighth night, and is deleted an hour after that.
        assert.equal(await exists(file), night < 8, `on waking up after night ${night + 1}`);
        for (let awake = 0; awake < 9; awake++) {
          passed += hour;
          await loop.runOnce();
        }
        passed += hour;
      }
      assert.deepEqual([await exists(file), await sessions()], [false, 0]);
    });

    it("at first in a server that was down for some days, which then continues at once", async () => {
      const file = await upload();
      await sweeper().runOnce();
      passed += 6 * day;
      await sweeper().runOnce();
      assert.equal(await exists(file), true);
      passed += 2 * day;
      await sweeper().runOnce();
      assert.equal(await exists(file), false);
    });
  });

  describe("copies warehouses of teams", () => {
    const keeping = { warehouseTidyHours: 0, warehousePauseDays: 0 };
    const files = ["metadata.db", "rows.db"];
    /** Writes a warehouse that contains this text, such as the current day. */
    async function storeOf(warehouses: Warehouses, text: string): Promise<void> {
      const { metadata, rows } = warehouses.use(1);
      for (const path of [metadata, rows]) {
        const db = new DatabaseSync(path);
        db.exec("create table if not exists days (day text)");
        db.prepare("insert into days values (?)").run(text);
        db.close();
      }
      await store.write((db) => touchWarehouse(db, 1, iso(clock.now())));
    }
    const newestDay = (folder: string) => {
      const db = new DatabaseSync(join(folder, files[1] as string), { readOnly: true });
      const row = db.prepare("select day from days order by rowid desc limit 1").get();
      db.close();
      return row?.["day"];
    };
    const copyAt = (moment: string) => join(dataDir, "team-stores/1/copies", moment);

    for (const warehouseCopies of [1, 2])
      it(`in order if it was ahead for a while: of ${warehouseCopies} copies the newest is the last made`, async () => {
        const warehouses = new Warehouses(new DataFolder(dataDir).warehouses, unconfined);
        const disk = new Disk(dataDir, 0, clock);
        const loop = copyWarehouses({ store, signals, clock, log, disk, warehouses, warehouseCopies, ...keeping });
        const copyDay = async (text: string) => {
          await storeOf(warehouses, text);
          await run(loop, 2 * minute);
          passed += day;
        };
        try {
          await copyDay("first");
          wrong = 400 * day;
          await storeOf(warehouses, "ahead");
          await loop.runOnce();
          assert.equal((await warehouses.copies(1)).length, 1, "none while it has just been set");
          await run(loop, 2 * minute);
          assert.match((await warehouses.copies(1))[0] ?? "", /^2031/);
          wrong = 0;
          for (const text of ["second", "third"]) {
            await copyDay(text);
            const copies = await warehouses.copies(1);
            assert.equal(copies.length, warehouseCopies);
            assert.deepEqual(copies.toSorted().reverse(), copies);
            assert.ok(
              copies.every((moment) => moment < iso(clock.now())),
              copies.join(" "),
            );
            assert.equal(newestDay(copyAt(copies[0] as string)), text);
            if (warehouseCopies > 1)
              assert.equal(newestDay(copyAt(copies[1] as string)), text === "second" ? "ahead" : "second");
          }
        } finally {
          warehouses.close();
        }
      });

    it("with names of the same and of later moments, without losing any", async () => {
      const folder = join(dataDir, "copies");
      const at = (time: string) => `2030-01-01T00:00:${time}Z`;
      const before = [at("10.997"), at("10.999"), at("11.000"), "2031-01-01T00:00:00.000Z", "2032-01-01T00:00:00.000Z"];
      for (const [index, name] of before.entries()) {
        await mkdir(join(folder, name), { recursive: true });
        await writeFile(join(folder, name, "age"), String(index));
      }
      makeRoomFor(at("11.000"), folder);
      const names = (await readdir(folder)).sort();
      assert.deepEqual(names, [at("10.995"), at("10.996"), at("10.997"), at("10.998"), at("10.999")]);
      const ages = await Promise.all(names.map((name) => readFile(join(folder, name, "age"), "utf8")));
      assert.deepEqual(ages, ["0", "1", "2", "3", "4"]);
    });
  });

  it("does not prevent daily copies of warehouses", async () => {
    const copied: string[] = [];
    const warehouses = {
      copy: async (_team: number, moment: string) => void copied.push(moment),
      length: () => 0,
    } as unknown as Warehouses;
    const disk = new Disk(dataDir, 0, clock);
    const keeping = { warehouseCopies: 3, warehouseTidyHours: 0, warehousePauseDays: 0 };
    const loop = copyWarehouses({ store, signals, clock, log, disk, warehouses, ...keeping });
    await store.write((db) => touchWarehouse(db, 1, iso(clock.now())));
    await store.write((db) => updateWarehouse(db, 1, { backed_up_at: iso(clock.now() + 400 * day) }));
    await loop.runOnce();
    await loop.runOnce();
    assert.deepEqual(copied, [iso(clock.now())]);
  });

  it("does not shorten the grace period of a canceled job", async () => {
    const { id } = await task("0 * * * *");
    const forced: boolean[] = [];
    // A job that does not end; no process is needed for that.
    const engine = {
      observe: async (attempts: readonly Attempt[]) =>
        new Map(attempts.map(({ key }) => [key, { state: "RUNNING", steps: [], querying: true }])),
      cancel: async (_attempt: Attempt, force: boolean) => void forced.push(force),
    } as unknown as Engine;
    await store.write(async (db) => {
      await db.updateTable("jobs").set({ status: "CANCELING" }).where("id", "=", id).execute();
      const at = { created_at: iso(clock.now()), signalled_at: null };
      const held = { cluster_id: 1, slots: 1, server_id: "here", boot_id: "b", ...at };
      await openAttempt(db, { job_id: id, team_id: 1, attempt: 1, ...held });
    });
    const observing = () =>
      followAttempts(
        {
          ...{
            store,
            keys,
            signals,
            clock,
            log,
            metrics,
            engines: new Engines([[1, engine]]),
            faults: readFaults(""),
            disk: new Disk(dataDir, 0, clock),
          },
          ...{
            warehouses: {} as Warehouses,
            serverId: "here",
            hints: new Set(),
            collecting: new Map(),
            cancelGrace: 10,
          },
        } as FollowContext,
        localCluster,
      );
    const loop = observing();
    await loop.runOnce();
    for (wrong of [hour, -hour, 0]) await loop.runOnce();
    passed += 9000;
    await loop.runOnce();
    assert.deepEqual(forced, [false, false, false, false, false]);
    passed += 1000;
    await loop.runOnce();
    assert.equal(forced.at(-1), true);
    await observing().runOnce();
    assert.equal(forced.at(-1), false, "the next server knows only the wall clock's word, and gives the time again");
  });

  it("does not change the age of a job, nor break the order of ids", () => {
    const ages = new Ages(clock.monotonic);
    const begun = clock.now();
    const byWallClock = () => clock.now() - begun;
    assert.equal(ages.of("a", byWallClock), 0);
    wrong = 400 * day;
    passed += 1000;
    assert.equal(ages.of("a", byWallClock), 1000);
    wrong = -400 * day;
    assert.equal(ages.of("b", byWallClock), 0, "first seen by a clock that is behind");
    assert.equal(ages.of("a", byWallClock), 1000);

    const far = start + 900 * day;
    const first = newJobId(far);
    assert.equal(timeOfJobId(first), far);
    const second = newJobId(far - 10);
    assert.ok(second > first, "a small step back keeps the order");
    assert.ok(newJobId(start) > second, "so does a large one: lists show the newest job first");
  });
});
