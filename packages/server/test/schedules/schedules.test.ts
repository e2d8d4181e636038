/** Schedules over HTTP: created from a pipeline, changed, paused, fired, deleted, and every error. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type Client,
  type CreatePipelineScheduleInput,
  type PipelineSchedule,
  routes,
  type UpdatePipelineScheduleInput,
} from "@millrace/contract";
import { makeDataset } from "@millrace/testing/millrace/lineage.ts";
import { iso } from "../../src/domain/time/clock.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson, refused } from "../support/people.ts";

const past = "2020-01-01T00:00:00.000Z";
const future = "2099-01-01T00:00:00.000Z";

describe("schedules", () => {
  let server: InProcessServer;
  let client: Client;
  let pipeline: string;
  before(async () => {
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "2" });
    client = await server.client();
    await makeDataset({ store: server.store, client }, "nightly", "exit 0");
    pipeline = await trigger("nightly");
    await makeDataset({ store: server.store, client }, "slow", "sleep 60");
  });
  after(() => server.dispose());

  async function trigger(dataset: string): Promise<string> {
    const answer = await client.call(routes.triggerPipeline, { body: { datasets: [dataset], review: true } });
    return answer.pipeline.name;
  }

  let counter = 0;
  const create = async (rest: Partial<CreatePipelineScheduleInput>) => {
    const body = { schedule_name: `schedule ${++counter}`, pipeline_name: pipeline, ...rest };
    const { ok, schedule } = await client.call(routes.createSchedule, { body });
    assert.equal(ok, true);
    return schedule;
  };
  const update = async ({ id }: PipelineSchedule, rest: Omit<UpdatePipelineScheduleInput, "schedule_id">) =>
    (await client.call(routes.updateSchedule, { body: { schedule_id: id, ...rest } })).schedule;
  const read = ({ id }: { id: number }) => client.call(routes.getSchedule, { query: { schedule_id: id } });
  const remove = ({ id }: { id: number }) => client.call(routes.deleteSchedule, { body: { schedule_id: id } });

  async function until(
    schedule: PipelineSchedule,
    wanted: (schedule: PipelineSchedule) => boolean,
  ): Promise<PipelineSchedule> {
    for (const deadline = Date.now() + 120_000; Date.now() < deadline; ) {
      const now = await read(schedule);
      if (wanted(now)) return now;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(JSON.stringify(await read(schedule)));
  }

  /** Makes the schedule due a moment ago; resolves when the tick was handled. */
  async function tick(schedule: PipelineSchedule): Promise<PipelineSchedule> {
    const next_run = iso(Date.now() - 1000);
    await server.store.write((db) =>
      db.updateTable("schedules").set({ next_run }).where("id", "=", schedule.id).execute(),
    );
    return until(schedule, (now) => now.next_run !== next_run);
  }

  const firings = async ({ id }: PipelineSchedule) =>
    server.store.db
      .selectFrom("pipelines")
      .select(["id", "status", "name"])
      .where("schedule_id", "=", id)
      .where("is_template", "=", 0)
      .orderBy("id")
      .execute();

  const cancelRun = async ({ latest_run }: PipelineSchedule) =>
    client.call(routes.cancelPipeline, { body: { name: latest_run?.name ?? "" } });

  describe("a new schedule", () => {
    it("has its own template, a copy of its pipeline, which does not change", async () => {
      const source = await client.call(routes.getPipeline, { query: { name: pipeline } });
      const schedule = await create({ schedule_name: "every night", cron_expression: "30 2 * * *" });
      assert.equal(schedule.schedule_name, "every night");
      assert.equal(schedule.pipeline.is_template, true);
      assert.equal(schedule.pipeline.schedule_name, "every night");
      assert.notEqual(schedule.pipeline.name, pipeline);
      assert.deepEqual(
        schedule.pipeline.job_runs.map(({ job_id, created_job_id }) => [job_id, created_job_id]),
        source.job_runs.map(({ job_id }) => [job_id, null]),
      );
      assert.deepEqual(await client.call(routes.getPipeline, { query: { name: pipeline } }), source);
      const listed = await client.call(routes.listPipelines, { query: {} });
      assert.ok(!listed.some(({ name }) => name === schedule.pipeline.name), "templates are not listed");
      await remove(schedule);
    });

    it("shows its creator, its next run and its policies", async () => {
      const schedule = await create({ cron_expression: " 0  0 1 1 * ", timezone: "Europe/Berlin", overlap: "wait" });
      const year = new Date().getUTCFullYear() + 1;
      const { next_run, next_runs, created_by, ...rest } = await read(schedule);
      assert.deepEqual(created_by, { username: "admin", first_name: "", last_name: "" });
      assert.equal(next_run, `${year - 1}-12-31T23:00:00.000Z`);
      assert.deepEqual(
        next_runs,
        [0, 1, 2, 3, 4].map((years) => `${year - 1 + years}-12-31T23:00:00.000Z`),
      );
      assert.equal(rest.cron_expression, "0 0 1 1 *");
      assert.deepEqual([rest.timezone, rest.overlap, rest.catch_up], ["Europe/Berlin", "wait", "one"]);
      assert.deepEqual([rest.is_paused, rest.latest_run, rest.last_error, rest.start_after], [false, null, null, null]);
      await remove(schedule);
    });

    it("can be previewed: the next five ticks of its times, in its time zone", async () => {
      const query = { cron_expression: " 30  2 * * * ", timezone: "Europe/Berlin", start_after: "2030-01-01" };
      const preview = await client.call(routes.previewSchedule, { query });
      assert.deepEqual(preview, {
        cron_expression: "30 2 * * *",
        timezone: "Europe/Berlin",
        start_after: "2029-12-31T23:00:00.000Z",
        next_runs: [1, 2, 3, 4, 5].map((date) => `2030-01-0${date}T01:30:00.000Z`),
      });
      const once = await client.call(routes.previewSchedule, { query: { start_after: future } });
      assert.deepEqual(once.next_runs, [future]);
      const attempt = (query: { cron_expression?: string; timezone?: string }) =>
        client.call(routes.previewSchedule, { query });
      await refused(attempt({ cron_expression: "61 * * * *" }), "invalid", /^cron_expression: expected five/);
      await refused(attempt({ cron_expression: "@daily", timezone: "Mars" }), "invalid", /^timezone: /);
      await refused(attempt({}), "invalid", /^cron_expression: expected at least one/);
    });

    it("without policies has UTC, skip and one", async () => {
      const schedule = await create({ cron_expression: "@daily", timezone: null, overlap: null, catch_up: null });
      assert.deepEqual([schedule.timezone, schedule.overlap, schedule.catch_up], ["UTC", "skip", "one"]);
      assert.match(schedule.next_run ?? "", /T00:00:00.000Z$/);
      await remove(schedule);
    });

    it("with a cron expression and start_after first fires at a tick that is not before it", async () => {
      const schedule = await create({ cron_expression: "0 3 * * *", start_after: "2099-05-01T03:00:00Z" });
      assert.equal(schedule.next_run, "2099-05-01T03:00:00.000Z");
      const later = await create({ cron_expression: "0 3 * * *", start_after: "2099-05-01T03:00:01Z" });
      assert.equal(later.next_run, "2099-05-02T03:00:00.000Z");
      for (const each of [schedule, later]) await remove(each);
    });

    it("reads a start_after without an offset in its own time zone", async () => {
      const schedule = await create({ start_after: "2099-07-01T08:00", timezone: "Europe/Berlin" });
      assert.equal(schedule.start_after, "2099-07-01T06:00:00.000Z");
      await remove(schedule);
    });

    it("with start_after alone fires once, at once if that time has passed", async () => {
      const { next_run, next_runs } = await create({ start_after: future });
      assert.deepEqual([next_run, next_runs], [future, [future]]);
      const schedule = await until(await create({ start_after: past }), ({ latest_run }) => latest_run !== null);
      assert.equal(schedule.next_run, null, "it is over");
      assert.equal(schedule.latest_run?.schedule_name, schedule.schedule_name);
      assert.equal((await firings(schedule)).length, 1);
      await remove(schedule);
    });
  });

  describe("an invalid schedule is refused, and nothing is created", () => {
    const refusals: [string, Partial<CreatePipelineScheduleInput>, "invalid" | "not_found" | "wrong_state", RegExp][] =
      [
        ["with neither cron nor start_after", {}, "invalid", /at least one of cron_expression, start_after and/],
        ["with both empty", { cron_expression: " ", start_after: "" }, "invalid", /at least one of cron_expression/],
        [
          "with a broken cron expression",
          { cron_expression: "61 * * * *" },
          "invalid",
          /cron_expression: expected five/,
        ],
        ["with six fields", { cron_expression: "0 0 0 * * *" }, "invalid", /cron_expression: expected five/],
        ["with a word for cron", { cron_expression: "constructor" }, "invalid", /cron_expression: expected five/],
        [
          "with a date that never comes",
          { cron_expression: "0 0 31 2 *" },
          "invalid",
          /an expression that matches at least one date/,
        ],
        ["with a broken start_after", { start_after: "tomorrow" }, "invalid", /start_after: expected a time/],
        [
          "with a start_after that no tick follows",
          { cron_expression: "@daily", start_after: "9999-01-01T00:00Z" },
          "invalid",
          /before the year 3000/,
        ],
        [
          "with an unknown time zone",
          { cron_expression: "@daily", timezone: "Mars/Base" },
          "invalid",
          /IANA time zone/,
        ],
        ["with an offset for a zone", { cron_expression: "@daily", timezone: "+01:00" }, "invalid", /IANA time zone/],
        ["with an unknown overlap", { cron_expression: "@daily", overlap: "maybe" as "skip" }, "invalid", /overlap/],
        ["with an unknown catch_up", { cron_expression: "@daily", catch_up: "some" as "one" }, "invalid", /catch_up/],
        [
          "without a name",
          { cron_expression: "@daily", schedule_name: "  " },
          "invalid",
          /schedule_name: expected a name/,
        ],
        [
          "of a pipeline that is not there",
          { cron_expression: "@daily", pipeline_name: "no-such" },
          "not_found",
          /There is no pipeline no-such in the team main/,
        ],
        [
          "of a name that is taken",
          { cron_expression: "@daily", schedule_name: "taken" },
          "wrong_state",
          /already has a schedule taken/,
        ],
      ];
    let taken: PipelineSchedule;
    before(async () => {
      taken = await create({ schedule_name: "taken", cron_expression: "@yearly" });
    });
    after(() => remove(taken));
    for (const [what, input, code, message] of refusals)
      it(what, async () => {
        const count = async () => (await server.store.db.selectFrom("pipelines").select("id").execute()).length;
        const before = await count();
        await refused(create(input), code, message);
        assert.equal(await count(), before);
      });
  });

  describe("an update", () => {
    let schedule: PipelineSchedule;
    before(async () => {
      schedule = await create({ cron_expression: "0 3 * * *", start_after: future, timezone: "Europe/Berlin" });
    });
    after(() => remove(schedule));

    it("leaves absent and null fields unchanged", async () => {
      const same = await update(schedule, {
        schedule_name: null,
        start_after: null,
        cron_expression: null,
        timezone: null,
        overlap: null,
        catch_up: null,
        pause_pipeline: null,
      });
      assert.deepEqual({ ...same, updated_at: "" }, { ...schedule, updated_at: "" });
    });

    it("renames, but not to a name that is in use", async () => {
      const renamed = await update(schedule, { schedule_name: "renamed" });
      assert.equal(renamed.schedule_name, "renamed");
      assert.equal(renamed.pipeline.schedule_name, "renamed");
      const other = await create({ schedule_name: "other", cron_expression: "@yearly" });
      await refused(update(other, { schedule_name: "renamed" }), "wrong_state", /already has a schedule renamed/);
      assert.equal((await update(other, { schedule_name: "other" })).schedule_name, "other", "its own name is its own");
      await remove(other);
    });

    it("of times recalculates the next run", async () => {
      assert.equal(schedule.next_run, "2099-01-01T02:00:00.000Z");
      assert.equal((await update(schedule, { cron_expression: "0 4 * * *" })).next_run, "2099-01-01T03:00:00.000Z");
      assert.equal((await update(schedule, { timezone: "UTC" })).next_run, "2099-01-01T04:00:00.000Z");
      assert.equal((await update(schedule, { start_after: "2098-01-01T12:00Z" })).next_run, "2098-01-02T04:00:00.000Z");
    });

    it("removes start_after, cron or the time zone with an empty string, but not both times", async () => {
      const sooner = await update(schedule, { start_after: "", timezone: "" });
      assert.deepEqual([sooner.start_after, sooner.timezone], [null, "UTC"]);
      assert.ok((sooner.next_run ?? "") < iso(Date.now() + 86_400_000));
      await refused(
        update(schedule, { cron_expression: "" }),
        "invalid",
        /Without any of these, no run would ever start/,
      );
      const once = await update(schedule, { cron_expression: "", start_after: future });
      assert.deepEqual([once.cron_expression, once.next_run], [null, future]);
    });

    it("that is invalid changes nothing", async () => {
      const before = await read(schedule);
      await refused(
        update(schedule, { schedule_name: "x", cron_expression: "nonsense" }),
        "invalid",
        /cron_expression/,
      );
      assert.deepEqual(await read(schedule), before);
    });
  });

  describe("a pause", () => {
    it("stops every tick; afterwards the schedule continues from the next one, and none is made up", async () => {
      const schedule = await create({ cron_expression: "0 3 * * *" });
      const paused = await update(schedule, { pause_pipeline: true });
      assert.deepEqual([paused.is_paused, paused.next_run, paused.next_runs], [true, null, []]);
      assert.equal((await update(schedule, { cron_expression: "0 4 * * *" })).next_run, null, "it stays paused");
      const again = await update(schedule, { pause_pipeline: false });
      assert.match(again.next_run ?? "", /T04:00:00.000Z$/);
      assert.equal(again.is_paused, false);
      assert.deepEqual(await firings(schedule), []);
      await remove(schedule);
    });

    it("pauses the schedule's running pipelines as well as its firings, and its end resumes both", async () => {
      const slow = await trigger("slow");
      const made = await create({ pipeline_name: slow, cron_expression: "@yearly", overlap: "allow" });
      await tick(made);
      const schedule = await tick(made);
      const states = async () => (await firings(schedule)).map(({ status }) => status);
      assert.deepEqual(await states(), ["RUNNING", "RUNNING"]);
      const paused = await update(schedule, { pause_pipeline: true });
      assert.deepEqual([paused.is_paused, paused.next_run, paused.latest_run?.status], [true, null, "PAUSED"]);
      assert.deepEqual(await states(), ["PAUSED", "PAUSED"]);
      await update(schedule, { schedule_name: "still paused" });
      assert.deepEqual(await states(), ["PAUSED", "PAUSED"], "an update that does not say so leaves them");
      const again = await update(schedule, { pause_pipeline: false });
      assert.deepEqual([again.is_paused, again.latest_run?.status], [false, "RUNNING"]);
      assert.ok(again.next_run);
      assert.deepEqual(await states(), ["RUNNING", "RUNNING"]);
      for (const { name } of await firings(schedule)) await client.call(routes.cancelPipeline, { body: { name } });
      await update(schedule, { pause_pipeline: true });
      assert.deepEqual(await states(), ["CANCELED", "CANCELED"], "what is over stays so");
      const rows = await client.call(routes.listAudit, { query: { action: "pipeline.pause", limit: 2 } });
      assert.deepEqual(
        rows.map(({ detail }) => detail),
        Array(2).fill(`with the schedule ${made.schedule_name}`),
      );
      await remove(schedule);
    });

    describe("of more pipelines than one write changes", () => {
      const count = 7;
      let schedule: PipelineSchedule;
      const statuses = async () => new Set((await firings(schedule)).map(({ status }) => status));
      before(async () => {
        const { client: theirs } = await addPerson(server, "sleeper", { team: "main" });
        await makeDataset({ store: server.store, client: theirs }, "sleeping", "sleep 60");
        const pipeline_name = await trigger("sleeping");
        schedule = await create({ pipeline_name, cron_expression: "@yearly", overlap: "allow" });
        for (let fired = 0; fired < count; fired++) schedule = await tick(schedule);
      });
      after(async () => {
        for (const { name } of await firings(schedule)) await client.call(routes.cancelPipeline, { body: { name } });
        await remove(schedule);
      });

      it("pauses and resumes them all", async () => {
        assert.deepEqual([(await firings(schedule)).length, await statuses()], [count, new Set(["RUNNING"])]);
        await update(schedule, { pause_pipeline: true });
        assert.deepEqual(await statuses(), new Set(["PAUSED"]));
        await update(schedule, { pause_pipeline: false });
        assert.deepEqual(await statuses(), new Set(["RUNNING"]));
      });

      it("is finished by the server if the one that began it was killed", async () => {
        const switching = JSON.stringify({ userId: null, username: "admin", via: "test", address: "" });
        const changes = { is_paused: 1, next_run: null, switching };
        await server.store.write((db) =>
          db.updateTable("schedules").set(changes).where("id", "=", schedule.id).execute(),
        );
        while ((await statuses()).has("RUNNING")) await new Promise((resolve) => setTimeout(resolve, 20));
        assert.deepEqual(await statuses(), new Set(["PAUSED"]));
      });

      it("refuses to resume them if one of them cannot be, and changes nothing", async () => {
        await client.call(routes.removeMember, { params: { team_name: "main", username: "sleeper" }, query: {} });
        const before = await read(schedule);
        await refused(
          update(schedule, { pause_pipeline: false, schedule_name: "resumed" }),
          "wrong_state",
          /^The pipeline .* cannot be resumed: the job .* belongs to sleeper, who is not in the team/,
        );
        assert.deepEqual(await read(schedule), before);
        assert.deepEqual([before.is_paused, await statuses()], [true, new Set(["PAUSED"])]);
      });
    });

    it("of a one-time schedule past its time leaves it finished until it gets a new time", async () => {
      const schedule = await create({ start_after: future });
      await update(schedule, { pause_pipeline: true });
      await server.store.write((db) =>
        db.updateTable("schedules").set({ start_after: past }).where("id", "=", schedule.id).execute(),
      );
      const over = await update(schedule, { pause_pipeline: false });
      assert.deepEqual([over.is_paused, over.next_run], [false, null]);
      assert.equal((await update(schedule, { start_after: future })).next_run, future);
      await remove(schedule);
    });
  });

  describe("a firing", () => {
    it("is a new pipeline that runs at once and becomes the newest run", async () => {
      const schedule = await tick(await create({ cron_expression: "@yearly" }));
      const { latest_run } = await until(schedule, (now) => now.latest_run?.status === "COMPLETED");
      assert.equal(latest_run?.is_template, false);
      assert.equal(latest_run?.completed, 1);
      assert.equal(latest_run?.created_by, "admin");
      assert.equal((await read(schedule)).fired, 1);
      const listed = await client.call(routes.listPipelines, { query: {} });
      assert.ok(
        listed.some(({ name }) => name === latest_run?.name),
        "it is listed like any other",
      );
      const [item] = (await client.call(routes.listSchedules, { query: {} })).filter(({ id }) => id === schedule.id);
      const { outcome, pipeline_name, pipeline_status } = item?.last_firing ?? {};
      assert.deepEqual([outcome, pipeline_name, pipeline_status], ["fired", latest_run?.name, "COMPLETED"]);
      await remove(schedule);
    });

    it("has the settings of the template", async () => {
      const schedule = await create({ cron_expression: "@yearly" });
      const body = { pipeline_name: schedule.pipeline.name, priority: 2, environment: "B=two" };
      await client.call(routes.updatePipelineSettings, { body });
      const { latest_run, pipeline: template } = await tick(schedule);
      assert.deepEqual([latest_run?.priority, latest_run?.environment_variables], [2, { B: "two" }]);
      const viewer = await addPerson(server, "viewer", { team: "main", role: "viewer" });
      const seen = await viewer.client.call(routes.getSchedule, { query: { schedule_id: schedule.id } });
      assert.deepEqual(seen.pipeline.environment_variables, { B: "***" }, "viewers see names only");
      assert.deepEqual(template.environment_variables, { B: "two" });
      await remove(schedule);
    });
  });

  describe("a tick while the last run is still active", () => {
    const slow = async (overlap: "skip" | "wait" | "allow") => {
      const schedule = await create({ cron_expression: "@yearly", overlap, pipeline_name: await trigger("slow") });
      return tick(schedule);
    };
    const finish = async (schedule: PipelineSchedule) => {
      for (const { name, status } of await firings(schedule))
        if (status === "RUNNING") await client.call(routes.cancelPipeline, { body: { name } });
      await remove(schedule);
    };

    it("is dropped with `skip`", async () => {
      const schedule = await slow("skip");
      const after = await tick(schedule);
      assert.equal(after.latest_run?.name, schedule.latest_run?.name);
      await cancelRun(schedule);
      assert.notEqual((await tick(schedule)).latest_run?.name, schedule.latest_run?.name);
      assert.equal((await firings(schedule)).length, 2);
      await finish(schedule);
    });

    it("runs in parallel with `allow`", async () => {
      const schedule = await slow("allow");
      await tick(schedule);
      await tick(schedule);
      const running = (await firings(schedule)).filter(({ status }) => status === "RUNNING");
      assert.equal(running.length, 3);
      await finish(schedule);
    });

    it("waits for the end of the run with `wait`, and fires once however many ticks came", async () => {
      const schedule = await slow("wait");
      const { waiting_since } = await tick(schedule);
      assert.ok(waiting_since);
      assert.equal((await tick(schedule)).waiting_since, waiting_since, "the first of them waits");
      assert.equal((await firings(schedule)).length, 1);
      await cancelRun(schedule);
      const after = await until(schedule, (now) => now.latest_run?.name !== schedule.latest_run?.name);
      assert.equal(after.waiting_since, null);
      assert.equal((await firings(schedule)).length, 2);
      await finish(schedule);
    });

    it("is dropped when the schedule is paused or its policy changes", async () => {
      const schedule = await slow("wait");
      assert.ok((await tick(schedule)).waiting_since);
      assert.equal((await update(schedule, { overlap: "skip" })).waiting_since, null);
      await update(schedule, { overlap: "wait" });
      assert.ok((await tick(schedule)).waiting_since);
      assert.equal((await update(schedule, { pause_pipeline: true })).waiting_since, null);
      await finish(schedule);
    });
  });

  describe("a tick that cannot be fired", () => {
    const auditOf = async ({ schedule_name }: PipelineSchedule) =>
      (await client.call(routes.listAudit, { query: { action: "schedule.fail" } })).filter(
        ({ target }) => target === schedule_name,
      );

    it("because the queue is full is reported by the schedule and the audit, once, and the next one fires", async () => {
      const schedule = await create({ cron_expression: "@yearly" });
      const quota = (max_queued: number | null) =>
        server.store.write((db) => db.updateTable("teams").set({ max_queued }).where("id", "=", 1).execute());
      await quota(1);
      await server.store.write((db) =>
        db
          .insertInto("queue")
          .values({ job_id: "filler", team_id: 1, cluster_id: 999, priority: 5, slots: 1, passed_over: 0 })
          .execute(),
      );
      const held = await tick(await tick(schedule));
      assert.match(held.last_error ?? "", /has 1 waiting jobs, as many as its quota allows/);
      assert.equal(held.latest_run, null);
      assert.ok(held.next_run, "it goes on");
      const once = await create({ start_after: past });
      const postponed = await until(once, (now) => now.last_error !== null);
      assert.ok((postponed.next_run ?? "") > iso(Date.now()), "what runs once is tried again");
      const [entry, ...more] = await auditOf(schedule);
      assert.deepEqual([entry?.via, more], [`schedule ${schedule.schedule_name}`, []]);
      await server.store.write((db) => db.deleteFrom("queue").where("job_id", "=", "filler").execute());
      await quota(null);
      const { last_error, latest_run } = await tick(schedule);
      assert.equal(last_error, null);
      assert.ok(latest_run);
      for (const each of [schedule, once]) await remove(each);
    });

    it("because a job's creator has left creates a FAILED pipeline, and the schedule says why", async () => {
      const person = await addPerson(server, "leaver", { team: "main" });
      await makeDataset({ store: server.store, client: person.client }, "leaving", "exit 0");
      const schedule = await create({ cron_expression: "@yearly", pipeline_name: await trigger("leaving") });
      await client.call(routes.removeMember, { params: { team_name: "main", username: "leaver" }, query: {} });
      const { latest_run, last_error, next_run } = await tick(schedule);
      assert.equal(latest_run?.status, "FAILED");
      assert.match(last_error ?? "", /belongs to leaver, who is not in the team/);
      assert.ok(next_run);
      await remove(schedule);
    });

    /** Reads from the list: a schedule with a broken template cannot be shown. */
    async function errorOf(schedule: PipelineSchedule): Promise<string | null> {
      for (const deadline = Date.now() + 120_000; Date.now() < deadline; ) {
        const items = await client.call(routes.listSchedules, { query: {} });
        const item = items.find(({ id }) => id === schedule.id);
        if (item?.last_error) return item.last_error;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return null;
    }

    it("because of an internal error reveals no details and delays no other schedule", async () => {
      const broken = await create({ cron_expression: "@yearly" });
      await server.store.write((db) =>
        db
          .updateTable("pipelines")
          .set({ settings: "not JSON /secret/path" })
          .where("id", "=", broken.pipeline.pipeline_id)
          .execute(),
      );
      const next_run = iso(Date.now() - 1000);
      const other = await create({ cron_expression: "@yearly" });
      await server.store.write((db) =>
        db.updateTable("schedules").set({ next_run }).where("id", "in", [broken.id, other.id]).execute(),
      );
      assert.ok((await until(other, (now) => now.latest_run !== null)).latest_run);
      assert.equal(await errorOf(broken), "The server could not start the run; its log has the details.");
      for (const each of [broken, other]) await remove(each);
    });
  });

  it("a list shows schedules by name, without templates and runs", async () => {
    const made: PipelineSchedule[] = [];
    for (const schedule_name of ["b", "a", "c"]) made.push(await create({ schedule_name, cron_expression: "@yearly" }));
    const listed = (await client.call(routes.listSchedules, { query: {} })).filter(({ id }) =>
      made.some((one) => one.id === id),
    );
    assert.deepEqual(
      listed.map(({ schedule_name }) => schedule_name),
      ["a", "b", "c"],
    );
    assert.deepEqual(
      listed
        .flatMap((item) => Object.keys(item))
        .filter((key) => ["latest_run", "pipeline", "next_runs"].includes(key)),
      [],
    );
    for (const each of made) await remove(each);
  });

  it("deleting a schedule deletes its template, and does not touch running pipelines", async () => {
    const schedule = await tick(
      await create({ schedule_name: "gone", cron_expression: "@yearly", pipeline_name: await trigger("slow") }),
    );
    assert.deepEqual(await remove(schedule), { ok: true });
    await refused(read(schedule), "not_found", /There is no schedule \d+ in the team main/);
    await refused(update(schedule, { overlap: "wait" }), "not_found");
    await refused(remove(schedule), "not_found");
    const name = schedule.pipeline.name;
    await refused(client.call(routes.getPipeline, { query: { name } }), "not_found");
    const running = await client.call(routes.getPipeline, { query: { name: schedule.latest_run?.name ?? "" } });
    assert.deepEqual([running.status, running.schedule_name], ["RUNNING", null]);
    await cancelRun(schedule);
    await create({ schedule_name: "gone", cron_expression: "@yearly" }).then(remove);
  });

  it("every change writes an audit entry", async () => {
    const schedule = await create({ schedule_name: "audited", cron_expression: "@yearly" });
    await update(schedule, { pause_pipeline: true, overlap: "wait" });
    await remove(schedule);
    const entries = (await client.call(routes.listAudit, { query: { action: "schedule" } })).filter(
      ({ target }) => target === "audited",
    );
    assert.deepEqual(
      entries.map(({ action, detail, team_name }) => [action, detail, team_name]),
      [
        ["schedule.delete", "", "main"],
        ["schedule.update", "pause_pipeline=true overlap=wait", "main"],
        ["schedule.create", pipeline, "main"],
      ],
    );
  });

  it("metrics count ticks by outcome", async () => {
    const text = await (await server.fetch("/metrics")).text();
    for (const outcome of ["fired", "skipped", "waits", "failed"])
      assert.match(text, new RegExp(`millrace_schedule_ticks_total\\{team="main",outcome="${outcome}"\\} [1-9]`));
  });
});
