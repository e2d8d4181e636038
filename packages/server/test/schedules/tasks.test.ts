/** Listing, changing and pausing tasks, and what fires next, on both databases, with a clock that the test sets. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { type Job, routes, type Upcoming } from "@millrace/contract";
import type { Team } from "../../src/domain/access/principals.ts";
import { upcomingOf } from "../../src/domain/schedules/upcoming.ts";
import { iso } from "../../src/domain/time/clock.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { type FiringGround, type OpenGround, openGround, turnsOf } from "../support/firing-ground.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { refused } from "../support/people.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

for (const kind of ["SQLite", "PostgreSQL"] as const)
  describe(`tasks on ${kind}`, () => {
    let opened: OpenGround | undefined;
    let store: Store;
    let ground: FiringGround;
    let team: Team;
    let counter = 0;
    before(async () => {
      opened = await openGround(kind);
      ({ ground, store } = opened);
    });
    after(() => opened?.close());

    /** Creates a task in its own team, starting at midnight. */
    beforeEach(async () => {
      await store.write((db) => db.deleteFrom("tasks").execute());
      ground.now = Math.ceil(ground.now / day) * day;
      team = await ground.team(`team-${++counter}`);
    });

    const make = (rest: Parameters<FiringGround["job"]>[1]) => ground.job(team, { query_name: "nightly.sh", ...rest });
    const pass = async (milliseconds: number) => {
      ground.now += milliseconds;
      await turnsOf(ground.loop("tasks"));
    };
    const firings = async (task: Job) => (await ground.firings([task]))[0] ?? [];
    const at = (milliseconds: number) => iso(ground.now + milliseconds);

    it("show their cron, time zone, next runs, and the jobs that they created", async () => {
      const task = await make({ cron_expression: "0 3 * * *" });
      const started = ground.now;
      await pass(3 * hour);
      const shown = await ground.readTask(team, task);
      assert.deepEqual(shown, {
        id: task.id,
        name: "nightly.sh",
        created_by: "admin",
        owner: "admin",
        created_at: iso(started),
        cron_expression: "0 3 * * *",
        start_after: null,
        timezone: "UTC",
        is_paused: false,
        next_run: at(day),
        fired: 1,
        skipped: 0,
        last_error: null,
        next_runs: [1, 2, 3, 4, 5].map((days) => at(days * day)),
      });
    });

    it("are listed newest first, page by page, for one team only", async () => {
      const made: Job[] = [];
      for (let count = 0; count < 5; count++) made.push(await make({ cron_expression: "@daily" }));
      await ground.job(await ground.team(`other-${counter}`), { cron_expression: "@daily" });
      const ids: string[] = [];
      for (let cursor: string | undefined; ; ) {
        const { tasks, next } = await ground.listTasks(team, { limit: 2, ...(cursor ? { cursor } : {}) });
        ids.push(...tasks.map(({ id }) => id));
        if (next === undefined) break;
        cursor = next;
      }
      assert.deepEqual(ids, made.map(({ id }) => id).reverse());
    });

    it("with a time zone fire by its clock, also across clock changes; the jobs that they create have none", async () => {
      ground.now = Math.max(ground.now, Date.UTC(2031, 2, 29));
      const task = await make({ cron_expression: "30 2 * * *", timezone: "Europe/Berlin" });
      assert.equal(task.timezone, "Europe/Berlin");
      await pass(1.5 * hour);
      // 02:30 does not exist on that day: the task fires at the first moment after the gap.
      await pass(23.5 * hour);
      assert.deepEqual(await firings(task), ["2031-03-29T01:30:00.000Z", "2031-03-30T01:00:00.000Z"]);
      assert.equal((await ground.readTask(team, task)).next_run, "2031-03-31T00:30:00.000Z");
      const children = await store.db.selectFrom("jobs").select("spec").where("parent_job_id", "=", task.id).execute();
      for (const { spec } of children) assert.ok(!spec.includes('"timezone"'), spec);
    });

    it("read a start_after without an offset in their time zone", async () => {
      const task = await make({ start_after: "2099-07-01T08:00", timezone: "Europe/Berlin" });
      assert.equal(task.start_after, "2099-07-01T06:00:00.000Z");
    });

    it("that are paused do not fire, and continue from the next tick; none is made up", async () => {
      const task = await make({ cron_expression: "0 * * * *" });
      const paused = await ground.updateTask(team, task, { is_paused: true });
      assert.deepEqual([paused.is_paused, paused.next_run, paused.next_runs], [true, null, []]);
      await pass(3 * hour + minute);
      assert.deepEqual(await firings(task), []);
      const resumed = await ground.updateTask(team, task, { is_paused: false });
      assert.deepEqual([resumed.is_paused, resumed.next_run], [false, at(59 * minute)]);
      await pass(59 * minute);
      assert.equal((await firings(task)).length, 1);
    });

    it("that fire once do not fire while paused, and need a new time once theirs has passed", async () => {
      const task = await make({ start_after: at(hour) });
      await ground.updateTask(team, task, { is_paused: true });
      await pass(2 * hour);
      assert.deepEqual(await firings(task), []);
      await assert.rejects(ground.updateTask(team, task, { is_paused: false }), /passed while it was paused/);
      const resumed = await ground.updateTask(team, task, { is_paused: false, start_after: at(hour) });
      assert.equal(resumed.next_run, at(hour));
      await pass(hour);
      assert.equal((await firings(task)).length, 1);
      await assert.rejects(ground.readTask(team, task), /no task .* or the task has ended/);
    });

    it("that are paused or changed between being seen as due and being fired do not fire", async () => {
      for (const changes of [
        { is_paused: true },
        { start_after: at(day) },
        { start_after: "", cron_expression: "@daily" },
      ]) {
        const task = await make({ start_after: at(hour) });
        const seen = at(hour);
        ground.now += hour;
        const { next_run } = await ground.updateTask(team, task, changes);
        assert.equal(await ground.fireTick(task, seen), undefined);
        assert.deepEqual([await firings(task), (await ground.readTask(team, task)).next_run], [[], next_run]);
      }
    });

    it("that are changed fire by their new cron, time zone and name; the job shows them", async () => {
      const query = "x".repeat(20_000);
      const task = await make({ cron_expression: "0 3 * * *", query, tags: ["a"] });
      const changes = { cron_expression: " 0  4 * * * ", timezone: "Asia/Tokyo", name: "renamed" };
      const changed = await ground.updateTask(team, task, changes);
      assert.deepEqual(
        [changed.name, changed.cron_expression, changed.timezone, changed.next_run],
        ["renamed", "0 4 * * *", "Asia/Tokyo", at(19 * hour)],
      );
      await pass(19 * hour);
      const [child] = await store.db.selectFrom("jobs").selectAll().where("parent_job_id", "=", task.id).execute();
      assert.equal(child?.name, "renamed");
      const [shown] = await store.db.selectFrom("jobs").selectAll().where("id", "=", task.id).execute();
      assert.match(shown?.spec ?? "", /^\{"tags":\["a"\].*"cron_expression":"0 4 \* \* \*"/);
      assert.equal(shown?.cut, '["query"]', "what is long stays where it is");
    });

    it("that are changed in other fields keep their next run, even while overdue", async () => {
      const task = await make({ cron_expression: "0 3 * * *" });
      ground.now += 5 * hour;
      const { next_run } = await ground.updateTask(team, task, { name: "renamed", is_paused: null });
      assert.equal(next_run, at(-2 * hour));
    });

    it("say why they did not fire, and how often, until they do", async () => {
      const task = await make({ cron_expression: "* * * * *" });
      await ground.setQuotas(team, { max_queued: 1 });
      await ground.job(team, {});
      for (const skipped of [1, 2]) {
        await pass(minute);
        const shown = await ground.readTask(team, task);
        assert.deepEqual([shown.skipped, shown.fired], [skipped, 0]);
        assert.match(shown.last_error ?? "", /quota/);
      }
      await ground.setQuotas(team, { max_queued: 10 });
      await pass(minute);
      const shown = await ground.readTask(team, task);
      assert.deepEqual([shown.skipped, shown.fired, shown.last_error], [2, 1, null]);
    });

    it("that are cancelled while paused are removed", async () => {
      const task = await make({ cron_expression: "* * * * *" });
      await ground.updateTask(team, task, { is_paused: true });
      await ground.cancelTask(team, task);
      await assert.rejects(ground.readTask(team, task), { code: "not_found" });
    });

    it("that are paused or changed while a server fires them lose or double no tick", async () => {
      const tasks = await ground.tasks(team, 20);
      ground.now += minute;
      await Promise.all([
        turnsOf(ground.loop("tasks")),
        ...tasks.map((task) => ground.updateTask(team, task, { is_paused: true })),
        turnsOf(ground.loop("tasks")),
      ]);
      for (const [index, fired] of (await ground.firings(tasks)).entries()) {
        const shown = await ground.readTask(team, tasks[index] as Job);
        assert.equal(shown.is_paused, true, "nobody moved it on after it was paused");
        assert.equal(fired.length, shown.fired);
        assert.ok(fired.length <= 1);
      }
    });

    describe("what fires next", () => {
      const all = async (limit: number, withSchedules = true) => {
        const pages: Upcoming[][] = [];
        for (let cursor: string | undefined; ; ) {
          const { items, next } = await upcomingOf(store.db, team, { limit, cursor, withSchedules });
          pages.push(items);
          assert.ok(pages.length < 20, "the same page again and again");
          if (next === undefined) return pages;
          cursor = next;
        }
      };

      it("lists schedules and tasks together by time, each once, without paused ones", async () => {
        const pipeline = await ground.pipeline(team);
        const schedule = await ground.schedule(team, pipeline, "late", { cron_expression: "0 5 * * *" });
        const paused = await ground.schedule(team, pipeline, "paused");
        await ground.pauseSchedule(team, paused.id, true);
        const early = await make({ cron_expression: "0 3 * * *", timezone: "Europe/London" });
        await ground.updateTask(team, await make({ cron_expression: "* * * * *" }), { is_paused: true });
        const once = await make({ start_after: at(9 * hour), query_name: "once" });
        const [items = []] = await all(10);
        // The pipeline's own job waits until the end of the century.
        assert.equal(items.pop()?.at, "2099-01-01T00:00:00.000Z");
        assert.deepEqual(
          items.map((item) => [item.kind, item.id, item.name, item.following === null]),
          [
            ["task", early.id, "nightly.sh", false],
            ["schedule", String(schedule.id), "late", false],
            ["task", once.id, "once", true],
          ],
        );
        assert.equal(items[1]?.following, iso(Date.parse(schedule.next_run ?? "") + day));
        assert.deepEqual([items[0]?.timezone, items[0]?.cron_expression], ["Europe/London", "0 3 * * *"]);
        assert.ok((await all(10, false)).flat().every((item) => item.kind === "task"));
      });

      it("is paged in any page size, even if many fire at one moment, and reads only one page of each kind", async () => {
        const pipeline = await ground.pipeline(team);
        for (const name of ["a", "b", "c"]) await ground.schedule(team, pipeline, name, { cron_expression: "@daily" });
        for (let count = 0; count < 4; count++) await make({ cron_expression: "@daily" });
        const [whole = []] = await all(100);
        assert.equal(whole.length, 8);
        for (const limit of [1, 2, 3, 7]) {
          const pages = await all(limit);
          assert.deepEqual(pages.flat(), whole);
          assert.equal(pages.length, Math.ceil(8 / limit));
        }
        let rows = 0;
        const counter = {
          transformQuery: <T>({ node }: { node: T }) => node,
          transformResult: async <T extends { rows: unknown[] }>({ result }: { result: T }) => {
            rows += result.rows.length;
            return result;
          },
        };
        const counted = store.db.withPlugin(counter as never);
        await upcomingOf(counted, team, { limit: 2, cursor: undefined, withSchedules: true });
        assert.equal(rows, 6);
      });

      it("refuses an invalid cursor", async () => {
        for (const cursor of ["", "x", "2030-01-01T00:00:00.000Z~task~1", "2030-01-01T00:00:00.000Z~schedule~x"])
          await assert.rejects(upcomingOf(store.db, team, { limit: 1, cursor, withSchedules: true }), {
            code: "invalid",
          });
      });
    });
  });

describe("tasks over HTTP", () => {
  let server: InProcessServer;
  before(async () => {
    server = await startInProcess({});
  });
  after(() => server.dispose());

  it("are read, changed, refused and audited; a viewer's time zone is part of the profile", async () => {
    const client = await server.client();
    const body = {
      query: "exit 0",
      query_type: "SHELL",
      cron_expression: "@yearly",
      timezone: "Europe/Berlin",
    } as const;
    const { id } = await client.call(routes.createJob, { body });
    const params = { job_id: id.toUpperCase() };
    const task = await client.call(routes.updateTask, { params, body: { name: "yearly", is_paused: true } });
    assert.deepEqual([task.name, task.timezone, task.is_paused], ["yearly", "Europe/Berlin", true]);
    assert.deepEqual(await client.call(routes.getTask, { params, query: {} }), task);
    assert.deepEqual(
      (await client.call(routes.listTasks, { query: {} })).map((item) => item.id),
      [id],
    );
    assert.deepEqual(await client.call(routes.listUpcoming, { query: {} }), []);
    await client.call(routes.updateTask, { params, body: { is_paused: false } });
    const [next] = await client.call(routes.listUpcoming, { query: { limit: 1 } });
    assert.match(next?.at ?? "", /-12-31T23:00:00\.000Z$/);
    const [job] = await client.call(routes.listJobs, { query: { job_id: id } });
    assert.deepEqual([job?.name, job?.timezone, job?.next_run], ["yearly", "Europe/Berlin", next?.at]);
    const audited = await client.call(routes.listAudit, { query: { action: "task.update" } });
    assert.deepEqual(
      audited.map(({ target, detail }) => [target, detail]),
      [
        [id, "is_paused=false"],
        [id, "name=yearly is_paused=true"],
      ],
    );
    const profile = await client.call(routes.updateProfile, { body: { timezone: "asia/tokyo" } });
    assert.equal(profile.timezone, "Asia/Tokyo");
    assert.equal((await client.call(routes.updateProfile, { body: { timezone: "" } })).timezone, null);
  });

  it("that are invalid are refused, and nothing is changed", async () => {
    const client = await server.client();
    const body = { query: "exit 0", query_type: "SHELL" } as const;
    const once = await client.call(routes.createJob, { body: { ...body, start_after: "2099-01-01T00:00:00Z" } });
    const plain = await client.call(routes.createJob, { body });
    const params = { job_id: once.id };
    const before = await client.call(routes.getTask, { params, query: {} });
    for (const changes of [
      { cron_expression: "61 * * * *" },
      { timezone: "Mars" },
      { start_after: "whenever" },
      { start_after: "" },
    ])
      await refused(client.call(routes.updateTask, { params, body: changes }), "invalid");
    await refused(client.call(routes.updateTask, { params: { job_id: plain.id }, body: {} }), "not_found");
    await refused(client.call(routes.getTask, { params: { job_id: plain.id }, query: {} }), "not_found");
    await refused(
      client.call(routes.createJob, { body: { ...body, cron_expression: "@daily", timezone: "X" } }),
      "invalid",
    );
    await refused(client.call(routes.updateProfile, { body: { timezone: "X" } }), "invalid");
    await refused(client.call(routes.listUpcoming, { query: { cursor: "x" } }), "invalid");
    assert.deepEqual(await client.call(routes.getTask, { params, query: {} }), before);
  });
});
