/** Schedules that a dataset fires: once after a quiet period, for all new versions together, and never in a cycle. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Client, type CreatePipelineScheduleInput, type PipelineSchedule, routes } from "@millrace/contract";
import { readJob, readLog } from "@millrace/testing/millrace/jobs.ts";
import { foundOf, makeDataset, recordMade } from "@millrace/testing/millrace/lineage.ts";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";
import type { Team } from "../../src/domain/access/principals.ts";
import { recordCollected } from "../../src/domain/datasets/record-collected.ts";
import { iso } from "../../src/domain/time/clock.ts";
import type { Loop } from "../../src/loops/loop.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { FiringGround, turnsOf } from "../support/firing-ground.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { chances, mortal } from "../support/mortal-servers.ts";
import { refused } from "../support/people.ts";
import { trigger, waitForPipelineEnd } from "../support/pipelines.ts";

const second = 1000;

for (const kind of ["SQLite", "PostgreSQL"] as const)
  describe(`a schedule that a dataset fires, on ${kind}`, () => {
    let postgres: TestPostgres | undefined;
    let dataDir: string;
    let store: Store;
    let ground: FiringGround;
    let loop: Loop;
    let patch = 0;
    before(async () => {
      dataDir = await mkdtemp(join(tmpdir(), "millrace-triggers-"));
      if (kind === "PostgreSQL") postgres = await startPostgres();
      store = await openStore(storeIn(dataDir, (await postgres?.createDatabase()) ?? ""));
      ground = new FiringGround(store, dataDir);
      await ground.prepare();
      loop = ground.loop("triggers");
    });
    after(async () => {
      ground.metrics.close();
      await store.close();
      await postgres?.stop();
      await rm(dataDir, { recursive: true });
    });

    /** Creates a team with a pipeline that creates `target`, and datasets of others. */
    async function world(name: string) {
      const team = await ground.team(name);
      const pipeline = await ground.pipeline(team);
      await recordMade(store, null, "raw", { teamId: team.id });
      const fired = (trigger_dataset: string, rest: Partial<CreatePipelineScheduleInput> = {}) =>
        ground.schedule(team, pipeline, rest.schedule_name ?? "fired", {
          ...{ cron_expression: null, trigger_dataset, quiet_seconds: 60 },
          ...rest,
        });
      return { team, pipeline, fired };
    }

    const newVersion = () => ({ uuid: randomUUID(), version: `2.0.${++patch}` });

    /** Registers a version like the end of a job, in the same transaction. */
    const make = ({ id: teamId }: Team, name: string, jobId: string = randomUUID(), version = newVersion()) =>
      store.write((db) => {
        const found = { versions: [foundOf({ ...version, name, jobId })], jobs: [], removed: [], teamId };
        return recordCollected(db, jobId, found, iso(ground.now));
      });

    const pass = async (seconds: number) => {
      ground.now += seconds * second;
      await turnsOf(loop);
    };
    const runsOf = ({ id }: PipelineSchedule) =>
      store.db
        .selectFrom("pipelines")
        .select(["id", "scheduled_at", "chain"])
        .where("schedule_id", "=", id)
        .where("is_template", "=", 0)
        .orderBy("id")
        .execute();
    const firings = async (schedule: PipelineSchedule) => (await runsOf(schedule)).length;
    const complete = () =>
      store.write((db) =>
        db
          .updateTable("pipelines")
          .set({ status: "COMPLETED", open_runs: 0 })
          .where("status", "=", "RUNNING")
          .execute(),
      );

    it("fires once after the dataset's quiet period, however many versions arrived", async () => {
      const { team, fired } = await world("quiet");
      const schedule = await fired("raw");
      assert.deepEqual([schedule.trigger_dataset, schedule.next_run], ["@admin.default.raw", null]);
      await pass(600);
      assert.equal(await firings(schedule), 0, "versions that were there do not count");
      await make(team, "raw");
      await pass(40);
      await make(team, "raw");
      const waits = await ground.readSchedule(team, schedule.id);
      assert.match(waits.trigger_version ?? "", /^@admin\.default\.raw@2\.0\.\d+$/);
      assert.equal(waits.trigger_due_at, iso(ground.now + 60 * second));
      await pass(59);
      assert.equal(await firings(schedule), 0);
      await pass(1);
      const [run, ...more] = await runsOf(schedule);
      assert.equal(more.length, 0);
      assert.equal(run?.scheduled_at, waits.trigger_due_at, "which is its moment");
      await pass(600);
      assert.equal(await firings(schedule), 1);
      const over = await ground.readSchedule(team, schedule.id);
      assert.deepEqual([over.trigger_version, over.trigger_due_at, over.fired], [null, null, 1]);
    });

    it("does not fire for other datasets, other teams, known versions, or while it is paused", async () => {
      const { team, fired } = await world("others");
      const schedule = await fired("raw", { quiet_seconds: 0 });
      await recordMade(store, null, "other", { teamId: team.id });
      await make(team, "other");
      await make((await world("elsewhere")).team, "raw");
      await pass(1);
      assert.equal(await firings(schedule), 0);
      await make(team, "raw");
      await ground.pauseSchedule(team, schedule.id, true);
      await make(team, "raw");
      await ground.pauseSchedule(team, schedule.id, false);
      await pass(1);
      assert.equal(await firings(schedule), 0, "what came before the pause and in it is not made up for");
      const version = newVersion();
      await make(team, "raw", undefined, version);
      await pass(1);
      await complete();
      await make(team, "raw", undefined, version);
      await pass(1);
      assert.equal(await firings(schedule), 1, "found again, it is not new");
    });

    it("waits for the end of its run, and then fires once, unless both may run", async () => {
      const { team, fired } = await world("busy");
      const skip = await fired("raw", { schedule_name: "skip", quiet_seconds: 0 });
      const allow = await fired("raw", { schedule_name: "allow", quiet_seconds: 0, overlap: "allow" });
      for (let times = 0; times < 3; times++) {
        await make(team, "raw");
        await pass(1);
      }
      assert.deepEqual([await firings(skip), await firings(allow)], [1, 3]);
      await complete();
      await pass(1);
      assert.deepEqual([await firings(skip), await firings(allow)], [2, 3]);
    });

    it("also fires at its times if it has any", async () => {
      const { team, fired } = await world("both");
      const schedule = await fired("raw", { cron_expression: "* * * * *", quiet_seconds: 0, overlap: "allow" });
      assert.notEqual(schedule.next_run, null);
      await make(team, "raw");
      await pass(1);
      assert.equal(await firings(schedule), 1);
      ground.now += 60 * second;
      await turnsOf(ground.loop("schedules"));
      assert.equal(await firings(schedule), 2);
      await store.write((db) => db.updateTable("schedules").set({ next_run: null }).execute());
    });

    it("is not fired by versions of its own runs, of runs that these led to, or of jobs that those create", async () => {
      const { team, fired } = await world("chain");
      for (const name of ["one", "two"]) await recordMade(store, null, name, { teamId: team.id });
      const first = await fired("raw", { schedule_name: "first", quiet_seconds: 0, overlap: "allow" });
      const next = await fired("one", { schedule_name: "next", quiet_seconds: 0, overlap: "allow" });
      const last = await fired("two", { schedule_name: "last", quiet_seconds: 0, overlap: "allow" });
      const counts = async () => [await firings(first), await firings(next), await firings(last)];
      const jobOf = async (schedule: PipelineSchedule) => {
        const run = (await runsOf(schedule)).at(-1)?.id ?? "";
        const query = store.db.selectFrom("pipeline_runs").select("created_job_id").where("pipeline_id", "=", run);
        return (await query.executeTakeFirstOrThrow()).created_job_id ?? "";
      };
      await make(team, "raw");
      await pass(1);
      await make(team, "raw", await jobOf(first));
      await pass(1);
      assert.deepEqual(await counts(), [1, 0, 0], "its own");
      await make(team, "one", await jobOf(first));
      await pass(1);
      await make(team, "two", await jobOf(next));
      await pass(1);
      assert.deepEqual(await counts(), [1, 1, 1]);
      for (const name of ["raw", "one", "two"]) await make(team, name, await jobOf(last));
      await pass(1);
      assert.deepEqual(await counts(), [1, 1, 1], "all of them led to it");
      const created = await ground.job(team, {}, await jobOf(last));
      await make(team, "raw", created.id);
      const triggered = await ground.trigger(team, await jobOf(last));
      await make(team, "one", triggered.job_runs[0]?.created_job_id ?? "");
      await pass(1);
      assert.deepEqual(await counts(), [1, 1, 1], "jobs and pipelines that a run created");
      const failed = await ground.trigger(team);
      const failedJob = failed.job_runs[0]?.created_job_id ?? "";
      await ground.endJob(failedJob, "FAILED");
      const again = await ground.rerun(team, failed.name, await jobOf(last));
      const anew = again.job_runs[0]?.created_job_id ?? "";
      assert.notEqual(anew, failedJob);
      await make(team, "raw", anew);
      await pass(1);
      assert.deepEqual(await counts(), [1, 1, 1], "pipelines of others that a run started again");
      await make(team, "raw");
      await make(team, "one");
      await pass(1);
      assert.deepEqual(await counts(), [2, 2, 1], "whatever else makes it fires it");
    });

    it("fires once for each quiet period, even with two servers that die around their commits", async () => {
      const { team, fired } = await world("mortal");
      const schedule = await fired("raw", { overlap: "allow", quiet_seconds: 1 });
      const live = mortal(chances(200));
      const begin = () => {
        const life = live(store);
        return { life, loop: ground.loop("triggers", life.store) };
      };
      let servers = [begin(), begin()];
      let deaths = 0;
      const due: string[] = [];
      for (let round = 0; round < 30; round++) {
        await make(team, "raw");
        await make(team, "raw");
        due.push(iso(ground.now + second));
        for (let turn = 0; turn < 8; turn++) {
          ground.now += second;
          await Promise.allSettled(servers.map((one) => one.loop.runOnce()));
          deaths += servers.filter(({ life }) => life.isDead()).length;
          servers = servers.map((one) => (one.life.isDead() ? begin() : one));
        }
      }
      assert.ok(deaths > 5, `${deaths} deaths`);
      const moments = (await runsOf(schedule)).map(({ scheduled_at }) => scheduled_at);
      assert.deepEqual(moments, due);
    });

    it("says why it could not fire, and fires when it can", async () => {
      const { team, fired } = await world("refused");
      const schedule = await fired("raw", { quiet_seconds: 0 });
      await ground.setQuotas(team, { max_dataset_bytes: 1000 });
      await ground.setDatasets(team, 2000);
      await make(team, "raw");
      await pass(1);
      assert.match((await ground.readSchedule(team, schedule.id)).last_error ?? "", /warehouse of the team refused/);
      await ground.setDatasets(team, 0);
      await pass(1);
      assert.equal(await firings(schedule), 0, "not at once again");
      await pass(60);
      const now = await ground.readSchedule(team, schedule.id);
      assert.deepEqual([now.fired, now.last_error], [1, null]);
    });

    it("fires even if the clock was far ahead when the version arrived", async () => {
      const { team, fired } = await world("ahead");
      const schedule = await fired("raw");
      const right = ground.now;
      ground.now += 400 * 86_400 * second;
      await make(team, "raw");
      ground.now = right;
      await turnsOf(ground.loop("triggers"));
      assert.equal(await firings(schedule), 1);
    });

    it("drops what waits when its dataset is changed, and does not fire after its dataset is removed", async () => {
      const { team, fired } = await world("changed");
      await recordMade(store, null, "other", { teamId: team.id });
      const schedule = await fired("raw", { quiet_seconds: 0 });
      await make(team, "raw");
      await ground.updateSchedule(team, { schedule_id: schedule.id, trigger_dataset: "other" });
      await pass(1);
      assert.equal(await firings(schedule), 0);
      await make(team, "other");
      await pass(1);
      assert.equal(await firings(schedule), 1);
      await assert.rejects(ground.updateSchedule(team, { schedule_id: schedule.id, trigger_dataset: "" }), {
        code: "invalid",
        message: /Without any of these, no run would ever start/,
      });
      await ground.updateSchedule(team, { schedule_id: schedule.id, trigger_dataset: "", cron_expression: "@yearly" });
      await make(team, "other");
      await pass(1);
      assert.equal(await firings(schedule), 1);
    });
  });

describe("a schedule with a trigger", () => {
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "2" });
    client = await server.client();
  });
  after(() => server.dispose());

  const register = (name: string) => client.call(routes.registerVersion, { body: { name } });
  const create = async (schedule_name: string, pipeline_name: string, trigger_dataset: string) => {
    const body = { schedule_name, pipeline_name, trigger_dataset, quiet_seconds: 0 };
    return (await client.call(routes.createSchedule, { body })).schedule;
  };
  /** A pipeline whose job created this dataset. */
  async function maker(name: string): Promise<string> {
    await makeDataset({ store: server.store, client }, name, "env | grep MILLRACE_SCHEDULED_AT");
    return (await trigger(client, [name], true)).name;
  }

  it("is fired by a version that somebody registers, and its run has a moment", async () => {
    await register("outside");
    const { id } = await create("by hand", await maker("made_by_hand"), "outside");
    await register("outside");
    for (const deadline = Date.now() + 120_000; ; ) {
      const { latest_run, trigger_dataset } = await client.call(routes.getSchedule, { query: { schedule_id: id } });
      assert.equal(trigger_dataset, "@admin.default.outside");
      if (latest_run) {
        const run = await waitForPipelineEnd(client, latest_run.name);
        const job = await readJob(client, run.job_runs[0]?.created_job_id ?? "");
        assert.ok((await readLog(client, job.id)).includes(`MILLRACE_SCHEDULED_AT=${job.scheduled_at}`));
        break;
      }
      assert.ok(Date.now() < deadline, "it did not fire");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });

  it("is refused if its own pipeline creates the dataset, with the cycle named", async () => {
    const pipeline = await maker("itself");
    const own =
      /^trigger_dataset: the schedule would trigger itself: mine makes @admin.default.itself, which fires mine\. A pipeline rebuilds everything .* Create a paused pipeline, remove the run that makes @admin.default.itself/;
    await refused(create("mine", pipeline, "itself"), "invalid", own);
    await register("before");
    const made = await create("mine", pipeline, "before");
    const body = { schedule_id: made.id, trigger_dataset: "itself" };
    await refused(client.call(routes.updateSchedule, { body }), "invalid", own);
    const now = await client.call(routes.getSchedule, { query: { schedule_id: made.id } });
    assert.equal(now.trigger_dataset, "@admin.default.before");
  });

  it("is accepted if the run that creates the dataset was removed from the pipeline", async () => {
    const needs = [await makeDataset({ store: server.store, client }, "upstream", "exit 0")];
    await makeDataset({ store: server.store, client }, "downstream", "exit 0", { needs });
    const { name, job_runs } = await trigger(client, ["downstream"], true);
    await refused(create("down", name, "upstream"), "invalid", /down makes @admin.default.upstream, which fires down/);
    await client.call(routes.removeJobFromPipeline, { body: { name, job_id: job_runs[0]?.job_id ?? "" } });
    const schedule = await create("down", name, "upstream");
    assert.deepEqual(
      schedule.pipeline.job_runs.map((run) => run.name),
      ["downstream.sh"],
    );
  });

  it("is refused if the cycle goes through other schedules, including a paused one", async () => {
    const [a, b, c] = [await maker("a"), await maker("b"), await maker("c")];
    await create("makes b", b, "a");
    const { id } = await create("makes c", c, "b");
    await client.call(routes.updateSchedule, { body: { schedule_id: id, pause_pipeline: true } });
    await refused(
      create("makes a", a, "c"),
      "invalid",
      /trigger itself: makes a makes @admin.default.a, which fires makes b, which makes @admin.default.b, which fires makes c, which makes @admin.default.c, which fires makes a\. /,
    );
    const listed = await client.call(routes.listSchedules, { query: {} });
    assert.ok(!listed.some(({ schedule_name }) => schedule_name === "makes a"));
    await create("d after c", await maker("d"), "c");
  });

  it("is refused for a dataset that does not exist, or with a version", async () => {
    const pipeline = await maker("refusals");
    await refused(create("x", pipeline, "nowhere"), "not_found", /There is no dataset @admin.default.nowhere/);
    await refused(
      create("x", pipeline, "outside@1.0.0"),
      "invalid",
      /^trigger_dataset: expected a dataset name without @version/,
    );
    await refused(create("x", pipeline, "a b"), "invalid", /^trigger_dataset/);
    await refused(create("x", pipeline, ""), "invalid", /Without any of these, no run would ever start/);
  });
});
