/** The health of a schedule and the outcomes of its ticks, on both databases, with a clock that the test sets. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { type CreatePipelineScheduleInput, mostFirings, type PipelineSchedule } from "@millrace/contract";
import type { Team } from "../../src/domain/access/principals.ts";
import { healthOf } from "../../src/domain/schedules/schedule-health.ts";
import { iso } from "../../src/domain/time/clock.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { type FiringGround, type OpenGround, openGround, turnsOf } from "../support/firing-ground.ts";

const minute = 60_000;
const hour = 60 * minute;

describe("the health of a schedule", () => {
  const now = Date.UTC(2030, 0, 1, 12);
  const fine = {
    is_paused: 0,
    next_run: iso(now + hour),
    skips_in_row: 0,
    skip_reason: null,
    failures_in_row: 0,
    failure_reason: null,
  };
  const failing = { failures_in_row: 3, failure_reason: "river-mill: load failed." };
  const skipping = { skips_in_row: 1, skip_reason: "the run river-mill is still going." };
  for (const [title, facts, health, reason] of [
    ["is ok, and then needs no reason", {}, "ok", null],
    ["is ok when it is over", { next_run: null }, "ok", null],
    ["is ok within a minute of its time", { next_run: iso(now - minute + 1) }, "ok", null],
    ["is overdue from a minute after it", { next_run: iso(now - minute) }, "overdue", /, 1 minute ago, but has not/],
    ["tells delays below two hours in minutes", { next_run: iso(now - 119 * minute) }, "overdue", /, 119 minutes ago/],
    ["below two days in hours", { next_run: iso(now - 47 * hour) }, "overdue", /, 47 hours ago/],
    ["and longer ones in days", { next_run: iso(now - 49 * hour) }, "overdue", /, 2 days ago/],
    ["is failing after runs that failed", failing, "failing", /^The last 3 runs failed: river-mill: load failed\.$/],
    ["is skipping after a tick that was dropped", skipping, "skipping", /^The last tick started no run: the run/],
    ["is failing rather than skipping", { ...failing, ...skipping }, "failing", /load failed/],
    ["is overdue rather than failing", { ...failing, next_run: iso(now - hour) }, "overdue", /60 minutes ago/],
    ["is paused rather than anything else", { ...failing, ...skipping, is_paused: 1 }, "paused", /until it is resumed/],
  ] as const)
    it(title, () => {
      const found = healthOf({ ...fine, ...facts }, now);
      assert.equal(found.health, health);
      if (reason === null) assert.equal(found.reason, null);
      else assert.match(found.reason ?? "", reason);
    });
});

for (const kind of ["SQLite", "PostgreSQL"] as const)
  describe(`the firings of a schedule on ${kind}`, () => {
    let opened: OpenGround | undefined;
    let store: Store;
    let ground: FiringGround;
    let team: Team;
    let pipeline: string;
    let counter = 0;
    before(async () => {
      opened = await openGround(kind);
      ({ ground, store } = opened);
    });
    after(() => opened?.close());

    /** Creates a schedule in its own team, without anything else that fires, starting at a full hour. */
    beforeEach(async () => {
      await store.write((db) => db.updateTable("schedules").set({ next_run: null, waiting_since: null }).execute());
      ground.now = Math.ceil(ground.now / hour) * hour;
      team = await ground.team(`team-${++counter}`);
      pipeline = await ground.pipeline(team);
    });

    const make = (rest: Partial<CreatePipelineScheduleInput> = {}) => ground.schedule(team, pipeline, "it", rest);
    const read = ({ id }: PipelineSchedule) => ground.readSchedule(team, id);
    /** Lets time pass without a server; then a server fires what is due. */
    async function pass(schedule: PipelineSchedule, milliseconds: number): Promise<PipelineSchedule> {
      ground.now += milliseconds;
      await turnsOf(ground.loop("schedules"));
      return read(schedule);
    }
    const told = ({ firings }: PipelineSchedule) => firings.map(({ outcome, ticks }) => [outcome, ticks]);

    it("name their tick, the pipeline that started and how it ended", async () => {
      const schedule = await make();
      const first = iso(ground.now + minute);
      const fired = await pass(schedule, minute);
      await ground.endRun(fired, "COMPLETE");
      assert.deepEqual((await read(schedule)).firings, [
        {
          tick: first,
          ticks: 1,
          at: first,
          late_seconds: 0,
          outcome: "fired",
          reason: null,
          pipeline_name: fired.latest_run?.name,
          pipeline_status: "COMPLETED",
          finished_at: iso(ground.now),
        },
      ]);
      assert.equal((await read(schedule)).health, "ok");
    });

    it("say why ticks were skipped, and how many; the next one that starts ends it", async () => {
      const schedule = await make();
      const running = await pass(schedule, minute);
      await pass(schedule, minute);
      const skipping = await pass(schedule, minute);
      assert.deepEqual(told(skipping), [
        ["skipped", 1],
        ["skipped", 1],
        ["fired", 1],
      ]);
      const name = running.latest_run?.name;
      assert.equal(skipping.firings[0]?.reason, `the run ${name} is still going (overlap is skip).`);
      assert.deepEqual([skipping.health, skipping.skipped], ["skipping", 2]);
      assert.deepEqual(skipping.last_firing, skipping.firings[0]);
      assert.deepEqual((await ground.listSchedules(team))[0]?.last_firing, skipping.firings[0]);
      assert.match(skipping.health_reason ?? "", /^The last 2 ticks started no run: the run .* is still going/);
      await ground.endRun(running, "COMPLETE");
      const fired = await pass(schedule, minute);
      assert.deepEqual([fired.health, fired.health_reason, fired.skipped], ["ok", null, 2]);
    });

    it("show that a run failed, and the schedule is failing until a run completes, not until one starts", async () => {
      const schedule = await make();
      for (const count of [1, 2]) {
        await ground.endRun(await pass(schedule, minute), "FAILED", "no such table");
        const failing = await read(schedule);
        assert.equal(failing.health, "failing");
        assert.match(failing.health_reason ?? "", count === 1 ? /^The last run failed: / : /^The last 2 runs failed: /);
        assert.match(failing.health_reason ?? "", /no such table/);
        assert.equal(failing.firings[0]?.pipeline_status, "FAILED");
      }
      const again = await pass(schedule, minute);
      assert.equal(again.health, "failing", "it has only begun");
      await ground.endRun(again, "COMPLETE");
      assert.deepEqual([(await read(schedule)).health, (await read(schedule)).health_reason], ["ok", null]);
    });

    it("whose run somebody cancels do not change the health of the schedule", async () => {
      const schedule = await make();
      await ground.cancelRun(await pass(schedule, minute), team);
      assert.equal((await read(schedule)).health, "ok");
      await ground.endRun(await pass(schedule, minute), "FAILED");
      await ground.cancelRun(await pass(schedule, minute), team);
      const failing = await read(schedule);
      assert.deepEqual([failing.health, failing.firings[0]?.pipeline_status], ["failing", "CANCELED"]);
    });

    it("say why a tick could not fire at all", async () => {
      const schedule = await make();
      await ground.setQuotas(team, { max_queued: 1 });
      await ground.job(team, {});
      const refused = await pass(schedule, minute);
      assert.deepEqual(told(refused), [["failed", 1]]);
      assert.match(refused.firings[0]?.reason ?? "", /quota/);
      assert.deepEqual([refused.health, refused.skipped], ["failing", 0]);
      assert.match(refused.health_reason ?? "", /^The last run failed: .*quota/);
    });

    it("of a waiting tick are one: it waits, then it starts late; ticks in between were skipped", async () => {
      const schedule = await make({ overlap: "wait" });
      const running = await pass(schedule, minute);
      const waiting = await pass(schedule, minute);
      assert.deepEqual([told(waiting)[0], waiting.health], [["waits", 1], "ok"]);
      const tick = waiting.firings[0]?.tick;
      assert.equal((await pass(schedule, minute)).health, "skipping", "a tick was dropped: one waits already");
      await ground.endRun(running, "COMPLETE");
      const began = await pass(schedule, 30_000);
      assert.deepEqual(told(began), [
        ["skipped", 1],
        ["fired", 1],
        ["fired", 1],
      ]);
      assert.match(began.firings[0]?.reason ?? "", /^the tick of .* waits already/);
      const { tick: meant, late_seconds, reason, pipeline_name } = began.firings[1] ?? {};
      assert.deepEqual([meant, late_seconds, reason], [tick, 90, null]);
      assert.equal(pipeline_name, began.latest_run?.name);
      assert.deepEqual([began.health, began.skipped], ["ok", 1]);
    });

    it("of a waiting tick that never fires say that the schedule was paused", async () => {
      const schedule = await make({ overlap: "wait" });
      await pass(schedule, minute);
      await pass(schedule, minute);
      const paused = await ground.pauseSchedule(team, schedule.id, true);
      assert.deepEqual([told(paused)[0], paused.firings[0]?.reason], [["skipped", 1], "the schedule was paused."]);
      assert.deepEqual([paused.health, paused.skipped], ["paused", 1]);
    });

    it("after an outage are one for all ticks with `one`, with the number of ticks and the delay", async () => {
      const schedule = await make({ cron_expression: "0 * * * *" });
      ground.now += 5 * hour;
      assert.equal((await read(schedule)).health, "overdue");
      const fired = await pass(schedule, 0);
      assert.deepEqual(told(fired), [["fired", 5]]);
      assert.equal(fired.firings[0]?.late_seconds, 4 * 3600);
      assert.deepEqual([fired.health, fired.skipped], ["ok", 0]);
    });

    it("after an outage were missed with `none`, except one that is on time", async () => {
      const schedule = await make({ cron_expression: "0 * * * *", catch_up: "none" });
      const missed = await pass(schedule, 3 * hour + 30 * minute);
      assert.deepEqual(told(missed), [["missed", 3]]);
      assert.match(missed.firings[0]?.reason ?? "", /no server ran.*catch_up is none/);
      assert.deepEqual([missed.health, missed.skipped], ["skipping", 3]);
      const onTime = await pass(schedule, 2 * hour + 30 * minute);
      assert.deepEqual(told(onTime).slice(0, 2), [
        ["fired", 1],
        ["missed", 2],
      ]);
      assert.deepEqual([onTime.firings[0]?.late_seconds, onTime.health, onTime.skipped], [0, "ok", 5]);
    });

    it("after an outage with `all` are one per tick, and those beyond 100 were missed, counted up to 100", async () => {
      const schedule = await make({ cron_expression: "* * * * *", catch_up: "all", overlap: "allow" });
      const fired = await pass(schedule, 300 * minute);
      assert.deepEqual([fired.fired, fired.skipped], [100, 100]);
      assert.ok(fired.firings.every(({ outcome, ticks }) => outcome === "fired" && ticks === 1));
    });

    it(`are kept per schedule, the newest ${mostFirings}, and are deleted with it`, async () => {
      const schedule = await make({ overlap: "allow", catch_up: "all" });
      const other = await ground.schedule(team, pipeline, "other", { overlap: "allow" });
      await pass(schedule, minute);
      await pass(schedule, (mostFirings + 4) * minute);
      const { firings, fired } = await read(schedule);
      assert.deepEqual([fired, firings.length], [mostFirings + 5, mostFirings]);
      const ticks = firings.map(({ tick }) => tick);
      assert.deepEqual(ticks, [...ticks].sort().reverse());
      assert.equal(ticks[0], iso(ground.now));
      assert.equal((await read(other)).firings.length, 2);
      const kept = () => store.db.selectFrom("firings").select("id").where("schedule_id", "=", schedule.id).execute();
      assert.equal((await kept()).length, mostFirings);
      await ground.deleteSchedule(team, schedule.id);
      assert.equal((await kept()).length, 0);
    });

    it("are in the transaction that fires: a server that dies before the commit leaves neither", async () => {
      const schedule = await make();
      ground.now += minute;
      const died = new Error("killed");
      const dying: Store = {
        ...store,
        write: (work) =>
          store.write(async (db) => {
            await work(db);
            throw died;
          }),
      };
      await turnsOf(ground.loop("schedules", dying));
      const { firings, fired, next_run } = await read(schedule);
      assert.deepEqual([firings, fired, next_run], [[], 0, iso(ground.now)]);
      assert.deepEqual(told(await pass(schedule, 0)), [["fired", 1]]);
    });

    it("do not slow a list down: it shows the health of any number of schedules with the same number of queries", async () => {
      await ground.schedule(team, pipeline, "a");
      const alone = await countedList();
      for (const name of ["b", "c"]) await ground.schedule(team, pipeline, name);
      ground.now += minute;
      await turnsOf(ground.loop("schedules"));
      const all = await countedList();
      assert.deepEqual([all.healths, all.statements], [["ok", "ok", "ok"], alone.statements]);
    });

    async function countedList() {
      let statements = 0;
      const counter = {
        transformQuery: <T>({ node }: { node: T }) => node,
        transformResult: async <T>({ result }: { result: T }) => {
          statements++;
          return result;
        },
      };
      const counted = { ...store, db: store.db.withPlugin(counter) };
      const healths = (await ground.listSchedules(team, counted)).map(({ health }) => health);
      return { healths, statements };
    }
  });
