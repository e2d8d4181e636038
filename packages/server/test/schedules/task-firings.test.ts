/**
 * Many tasks and schedules at once, on both databases: how they share commits, the order among teams, and what quotas
 * refuse.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StatementSync } from "node:sqlite";
import { after, afterEach, before, describe, it, type TestContext } from "node:test";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";
import { iso } from "../../src/domain/time/clock.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { FiringGround, turnsOf } from "../support/firing-ground.ts";
import { chances, mortal } from "../support/mortal-servers.ts";

const minute = 60_000;

/** Counts how often the store got writes while it had none. */
function countingBatches(store: Store): { store: Store; batches: () => number } {
  let open = 0;
  let batches = 0;
  const write: Store["write"] = async (work) => {
    if (open++ === 0) batches++;
    try {
      return await store.write(work);
    } finally {
      open--;
    }
  };
  return { store: { ...store, write }, batches: () => batches };
}

for (const kind of ["SQLite", "PostgreSQL"] as const)
  describe(`tasks and schedules on ${kind}`, () => {
    let postgres: TestPostgres | undefined;
    let dataDir: string;
    let databaseUrl = "";
    let store: Store;
    let ground: FiringGround;
    before(async () => {
      dataDir = await mkdtemp(join(tmpdir(), "millrace-firings-"));
      if (kind === "PostgreSQL") {
        postgres = await startPostgres();
        databaseUrl = await postgres.createDatabase();
      }
      store = await openStore(storeIn(dataDir, databaseUrl));
      ground = new FiringGround(store, dataDir);
      await ground.prepare();
    });
    after(async () => {
      ground.metrics.close();
      await store.close();
      await postgres?.stop();
      await rm(dataDir, { recursive: true });
    });

    /** Stops everything that a test has created from firing. */
    afterEach(() => clear());
    const clear = () =>
      store.write(async (db) => {
        await db.deleteFrom("tasks").execute();
        await db.updateTable("schedules").set({ next_run: null }).execute();
      });

    it("200 due tasks fire in a few rounds without a pause, 50 at a time", async () => {
      const tasks = await ground.tasks(await ground.team("many"), 200);
      ground.now += minute;
      const { store: counted, batches } = countingBatches(store);
      const turns = await turnsOf(ground.loop("tasks", counted));
      assert.ok(turns <= 6, `${turns} turns`);
      assert.ok(batches() <= 5, `${batches()} batches`);
      assert.deepEqual(
        await ground.firings(tasks),
        tasks.map(() => [iso(ground.now)]),
      );
    });

    // PostgreSQL groups commits internally, without a way to observe it.
    const onSqlite = kind === "SQLite" ? it : () => {};
    onSqlite("200 due tasks share a few commits", async (t: TestContext) => {
      await ground.tasks(await ground.team("shared"), 200);
      ground.now += minute;
      // A batch of writes ends by time; here time does not pass.
      t.mock.method(performance, "now", () => 0);
      const run = t.mock.method(StatementSync.prototype, "run");
      await turnsOf(ground.loop("tasks"));
      const commits = run.mock.calls.filter((call) => (call.this as StatementSync).sourceSQL === "commit").length;
      assert.ok(commits > 0 && commits <= 10, `${commits} commits`);
    });

    it("every other team's tasks fire in the first round, even if one team has hundreds of due tasks", async () => {
      const crowd = await ground.tasks(await ground.team("crowd"), 150);
      const teams = [];
      for (let count = 0; count < 12; count++) teams.push(await ground.team(`small ${count}`));
      ground.now += minute;
      // Due later than all of the first team's.
      const others = (await Promise.all(teams.map((team) => ground.tasks(team, 6)))).flat();
      ground.now += minute;
      const loop = ground.loop("tasks");
      await loop.runOnce();
      const firstOf = async () => (await ground.firings(others)).map((times) => times.length);
      const count = (await firstOf()).reduce((sum, times) => sum + times, 0);
      assert.equal(count, 12 * 5, "a share of five for each of thirteen teams");
      assert.equal((await ground.firings(crowd)).flat().length, 5);
      await turnsOf(loop);
      assert.deepEqual(
        await firstOf(),
        others.map(() => 1),
      );
      assert.deepEqual(
        (await ground.firings(crowd)).map((times) => times.length),
        crowd.map(() => 1),
      );
    });

    it("tasks that cannot fire delay no other task of their team, however many there are, and are retried", async () => {
      const team = await ground.team("broken");
      const broken = await ground.tasks(team, 120);
      ground.now += minute;
      const good = await ground.tasks(team, 3);
      ground.now += minute;
      const ids = broken.map(({ id }) => id);
      const specs = await store.db.selectFrom("jobs").select(["id", "spec"]).where("id", "in", ids).execute();
      await store.write((db) => db.updateTable("jobs").set({ spec: "no JSON" }).where("id", "in", ids).execute());
      const loop = ground.loop("tasks");
      const turns = await turnsOf(loop);
      assert.ok(turns <= 6, `${turns} turns: nothing is tried again without a pause`);
      assert.deepEqual(
        (await ground.firings(good)).map((times) => times.length),
        [1, 1, 1],
      );
      assert.equal((await ground.firings(broken)).flat().length, 0);
      const mended = specs[0];
      await store.write((db) =>
        db
          .updateTable("jobs")
          .set({ spec: mended?.spec ?? "" })
          .where("id", "=", mended?.id ?? "")
          .execute(),
      );
      await turnsOf(loop);
      assert.equal((await ground.firings(broken)).flat().length, 1);
    });

    it("every tick fires once with two servers that die before and after their commits", async () => {
      const teams = [await ground.team("first"), await ground.team("second")];
      const tasks = (await Promise.all(teams.map((team) => ground.tasks(team, 40)))).flat();
      const second = kind === "PostgreSQL" ? await openStore(storeIn(dataDir, databaseUrl)) : store;
      const stores = [store, second];
      const chance = chances(20);
      let deaths = 0;
      const start = (of: Store) => {
        const life = mortal(chance)(of);
        return { ...life, loop: ground.loop("tasks", life.store) };
      };
      const isDue = async () =>
        (await store.db.selectFrom("tasks").select("job_id").where("next_run", "<=", iso(ground.now)).execute())
          .length > 0;
      let servers = stores.map(start);
      const ticks: string[] = [];
      for (let tick = 0; tick < 3; tick++) {
        ground.now += minute;
        ticks.push(iso(ground.now));
        while (await isDue()) {
          await Promise.allSettled(servers.map(({ loop }) => loop.runOnce()));
          deaths += servers.filter(({ isDead }) => isDead()).length;
          servers = servers.map((server, index) => (server.isDead() ? start(stores[index] as Store) : server));
        }
      }
      assert.ok(deaths > 3, `${deaths} deaths`);
      assert.deepEqual(
        await ground.firings(tasks),
        tasks.map(() => ticks),
      );
      if (second !== store) await second.close();
    });

    it("every other team's schedules fire in the first round, and one team's many schedules follow without a pause", async () => {
      const [crowd, other] = [await ground.team("nightly"), await ground.team("single")];
      const pipeline = await ground.pipeline(crowd);
      for (let count = 0; count < 70; count++) await ground.schedule(crowd, pipeline, `of the crowd ${count}`);
      ground.now += minute;
      await ground.schedule(other, await ground.pipeline(other), "the only one");
      ground.now += minute;
      const { store: counted, batches } = countingBatches(store);
      const loop = ground.loop("schedules", counted);
      await loop.runOnce();
      assert.equal(await ground.started(other), 1);
      assert.equal(await ground.started(crowd), 25, "half of the turn");
      await turnsOf(loop);
      assert.equal(await ground.started(crowd), 70);
      assert.ok(batches() <= 5, `${batches()} batches`);
    });

    describe("quotas", () => {
      const refusedTask =
        /team .* has 3 tasks .*as many as its quota allows \(max_tasks, MILLRACE_TEAM_TASKS\)\. Cancel .*or ask/;

      it("beyond max_tasks a task is refused, also among concurrent ones; other jobs and other teams are not", async () => {
        const team = await ground.team("tasked", { max_tasks: 3 });
        const results = await Promise.allSettled([...Array(12)].map(() => ground.tasks(team, 1)));
        assert.equal(results.filter(({ status }) => status === "fulfilled").length, 3);
        await assert.rejects(ground.tasks(team, 1), refusedTask);
        await assert.rejects(ground.job(team, { start_after: "2031-01-01T00:00:00Z" }), refusedTask);
        await ground.job(team, {});
        await ground.tasks(await ground.team("untasked"), 4);
        await clear();
        await ground.tasks(team, 1);
      });

      it("beyond max_schedules a schedule is refused, also among concurrent ones, and nothing is created", async () => {
        const team = await ground.team("scheduled", { max_schedules: 3 });
        const pipeline = await ground.pipeline(team);
        const results = await Promise.allSettled(
          [...Array(12)].map((_, index) => ground.schedule(team, pipeline, `schedule ${index}`)),
        );
        assert.equal(results.filter(({ status }) => status === "fulfilled").length, 3);
        await assert.rejects(
          ground.schedule(team, pipeline, "one more"),
          /has 3 schedules, as many as its quota allows \(max_schedules, MILLRACE_TEAM_SCHEDULES\)\. Delete .*or ask/,
        );
        const templates = store.db.selectFrom("pipelines").select("id").where("team_id", "=", team.id);
        assert.equal((await templates.where("schedule_id", "is not", null).execute()).length, 3);
        await ground.setQuotas(team, { max_schedules: 4 });
        await ground.schedule(team, pipeline, "one more");
      });

      const script = { query: "import datachain", query_type: "PYTHON" } as const;

      it("over max_dataset_bytes tasks that use the library are refused, and continue when there is room", async () => {
        const team = await ground.team("full", { max_dataset_bytes: 1000 });
        const [uses] = await ground.tasks(team, 1, script);
        const once = await ground.job(team, { ...script, start_after: iso(ground.now) });
        const [other] = await ground.tasks(team, 1);
        const tasks = [uses, once, other].map((job) => job as NonNullable<typeof job>);
        const fired = async () => (await ground.firings(tasks)).map((times) => times.length);
        await ground.setDatasets(team, 2000);
        const loop = ground.loop("tasks");
        ground.now += minute;
        await turnsOf(loop);
        assert.deepEqual(await fired(), [0, 0, 1]);
        const skipped = ground.metrics.ticksSkipped.family().samples;
        assert.deepEqual(skipped.find(({ labels }) => labels?.["team"] === String(team.id))?.value, 2, "counted");
        const runs = await store.db.selectFrom("tasks").select("next_run").where("team_id", "=", team.id).execute();
        assert.deepEqual(runs, Array(3).fill({ next_run: iso(ground.now + minute) }));
        await ground.setDatasets(team, 1000);
        ground.now += minute;
        await turnsOf(loop);
        assert.deepEqual(await fired(), [1, 1, 2]);
      });

      it("over max_dataset_bytes a tick of a schedule is refused, and the schedule says why", async () => {
        const team = await ground.team("over", { max_dataset_bytes: 1000 });
        const { id } = await ground.schedule(team, await ground.pipeline(team), "nightly");
        const loop = ground.loop("schedules");
        const told = async () =>
          (await store.db.selectFrom("schedules").select("last_error").where("id", "=", id).executeTakeFirst())
            ?.last_error;
        await ground.setDatasets(team, 2000);
        ground.now += minute;
        await turnsOf(loop);
        assert.match((await told()) ?? "", /warehouse of the team over takes .*quota is 1000 bytes/);
        assert.equal(await ground.started(team), 0);
        await ground.setDatasets(team, 1000);
        ground.now += minute;
        await turnsOf(loop);
        assert.deepEqual([await told(), await ground.started(team)], [null, 1]);
        await ground.pauseSchedule(team, id, true);
        await ground.setDatasets(team, 2000);
        await assert.rejects(ground.pauseSchedule(team, id, false), /warehouse of the team over takes/);
        await ground.setDatasets(team, 1000);
        assert.equal((await ground.pauseSchedule(team, id, false)).is_paused, false);
      });
    });
  });
