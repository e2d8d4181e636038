/** The moment of a run: which tick it is, how a script reads it, and when it is kept. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Client, type PipelineSchedule, routes } from "@millrace/contract";
import { readJob, readLog, runJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { makeDataset, recordMade } from "@millrace/testing/millrace/lineage.ts";
import { planTick, type ScheduleTimes } from "../../src/domain/schedules/schedule-times.ts";
import { iso } from "../../src/domain/time/clock.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { trigger, waitForPipelineEnd } from "../support/pipelines.ts";

describe("the tick that a run is for", () => {
  const daily: ScheduleTimes = { start_after: null, cron_expression: "0 0 * * *", timezone: "UTC" };
  const at = (text: string) => Date.parse(`2026-03-${text}:00Z`);
  const moment = (catch_up: "one" | "none" | "all", tick: string, now: string, times = daily) =>
    planTick({ ...times, catch_up }, iso(at(tick)), at(now)).moment;

  it("is the one that is due, even if it fires some seconds late", () => {
    assert.equal(
      planTick({ ...daily, catch_up: "one" }, iso(at("05T00:00")), at("05T00:00") + 9000).moment,
      iso(at("05T00:00")),
    );
  });

  it("is the newest missed one if one run covers all", () => {
    assert.equal(moment("one", "02T00:00", "05T11:00"), iso(at("05T00:00")));
  });

  it("is each of them in turn if all are made up, from the oldest that still counts", () => {
    assert.equal(moment("all", "02T00:00", "05T11:00"), iso(at("02T00:00")));
    assert.equal(moment("all", "03T00:00", "05T11:00"), iso(at("03T00:00")));
    const hourly = { ...daily, cron_expression: "0 * * * *" };
    assert.equal(moment("all", "01T00:00", "11T00:00", hourly), iso(at("11T00:00") - 99 * 3_600_000));
  });

  it("is the newest if missed ones are dropped and it is on time", () => {
    assert.equal(moment("none", "02T00:00", "05T00:00"), iso(at("05T00:00")));
  });

  it("is the requested time if a one-time run was delayed", () => {
    const once = { start_after: iso(at("02T08:00")), cron_expression: null, timezone: "UTC" };
    assert.equal(moment("one", "02T08:03", "02T08:04", once), iso(at("02T08:00")));
  });
});

describe("the moment of a run", () => {
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "2" });
    client = await server.client();
  });
  after(() => server.dispose());

  const tells = 'env | grep ^MILLRACE_SCHEDULED | sort; echo "params $DATACHAIN_QUERY_PARAMS"';
  const moment = "2026-06-30T22:30:00.000Z";
  const told = [
    `MILLRACE_SCHEDULED_AT=${moment}`,
    "MILLRACE_SCHEDULED_DATE=2026-07-01",
    "MILLRACE_SCHEDULED_TIMEZONE=Europe/Berlin",
  ].join("\n");

  async function fired({ id }: PipelineSchedule): Promise<PipelineSchedule> {
    for (const deadline = Date.now() + 120_000; Date.now() < deadline; ) {
      const schedule = await client.call(routes.getSchedule, { query: { schedule_id: id } });
      if (schedule.latest_run) return schedule;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error("it did not fire");
  }

  /** A schedule in Berlin that is due, and its completed run. */
  async function scheduled(name: string, query: string) {
    await makeDataset({ store: server.store, client }, name, query, {
      input: { params: { scheduled_date: "own", k: 1 } },
    });
    const { name: pipeline_name } = await trigger(client, [name], true);
    const body = { schedule_name: name, pipeline_name, start_after: moment, timezone: "Europe/Berlin" };
    const { schedule } = await client.call(routes.createSchedule, { body });
    const { latest_run } = await fired(schedule);
    return waitForPipelineEnd(client, latest_run?.name ?? "");
  }
  const jobOf = (pipeline: { job_runs: { created_job_id: string | null }[] }) =>
    pipeline.job_runs[0]?.created_job_id ?? assert.fail("no job");

  it("of a schedule reaches its script as variables, with the date in the schedule's time zone, and as parameters", async () => {
    const run = await scheduled("told", tells);
    assert.deepEqual([run.scheduled_at, run.scheduled_timezone], [moment, "Europe/Berlin"]);
    const log = await readLog(client, jobOf(run));
    assert.ok(log.includes(told), log);
    const params = JSON.parse(/params (.*)/.exec(log)?.[1] ?? "");
    const expected = { scheduled_at: moment, scheduled_date: "2026-07-01", scheduled_timezone: "Europe/Berlin" };
    assert.deepEqual(params, { k: 1, ...expected }, "and it wins over a parameter of the same name");
    const job = await readJob(client, jobOf(run));
    assert.deepEqual([job.scheduled_at, job.scheduled_timezone], [moment, "Europe/Berlin"]);
    assert.deepEqual(job.params, { scheduled_date: "own", k: 1 }, "what was asked for is shown as it was");
    const listed = await client.call(routes.listPipelines, { query: { search: "told" } });
    assert.ok(listed.some(({ scheduled_at }) => scheduled_at === moment));
  });

  it("stays the same when the run is repeated, even with other settings", async () => {
    const run = await scheduled("repeated", `${tells}; exit 1`);
    assert.equal(run.status, "FAILED");
    await client.call(routes.updatePipelineSettings, { body: { pipeline_name: run.name, environment: "MORE=1" } });
    await client.call(routes.rerunPipeline, { body: { name: run.name } });
    const again = await waitForPipelineEnd(client, run.name);
    assert.notEqual(jobOf(again), jobOf(run));
    assert.ok((await readLog(client, jobOf(again))).includes(told));
  });

  it("stays the same for runs that have not started when the settings change", async () => {
    const gate = join(server.dataDir, "gate");
    const context = { store: server.store, client };
    const first = await makeDataset(context, "gated", `while [ ! -e ${gate} ]; do sleep 0.02; done`);
    await makeDataset(context, "after_gate", tells, { needs: [first] });
    const { name: pipeline_name } = await trigger(client, ["after_gate"], true);
    const body = { schedule_name: "gated", pipeline_name, start_after: moment, timezone: "Europe/Berlin" };
    const { latest_run } = await fired((await client.call(routes.createSchedule, { body })).schedule);
    const name = latest_run?.name ?? "";
    await client.call(routes.updatePipelineSettings, { body: { pipeline_name: name, environment: "MORE=1" } });
    await writeFile(gate, "");
    const { job_runs } = await waitForPipelineEnd(client, name);
    assert.ok((await readLog(client, job_runs[1]?.created_job_id ?? "")).includes(told));
  });

  it("is not inherited: a pipeline by hand has none, and neither has a schedule created from it", async () => {
    const run = await scheduled("inherited", tells);
    await recordMade(server.store, jobOf(run), "inherited", { version: "1.0.1" });
    const asked = await trigger(client, ["inherited"]);
    assert.equal(asked.scheduled_at, null);
    await waitForPipelineEnd(client, asked.name);
    const log = await readLog(client, jobOf(asked));
    assert.doesNotMatch(log, /MILLRACE_SCHEDULED|scheduled_at/);
    assert.ok(!("scheduled_at" in (await readJob(client, jobOf(asked)))));
    const body = { schedule_name: "copied", pipeline_name: run.name, start_after: "2099-01-01" };
    const { schedule } = await client.call(routes.createSchedule, { body });
    assert.equal(schedule.pipeline.scheduled_at, null);
  });

  it("of a task is its start time, or the tick of its cron expression, in UTC", async () => {
    const { id } = await client.call(routes.createJob, { body: shell(tells, { start_after: moment }) });
    const child = await childOf(id);
    assert.ok(
      (await readLog(client, child)).includes(`MILLRACE_SCHEDULED_AT=${moment}\nMILLRACE_SCHEDULED_DATE=2026-06-30`),
    );
    const cron = await client.call(routes.createJob, { body: shell(tells, { cron_expression: "0 0 1 1 *" }) });
    const year = new Date().getUTCFullYear();
    // As if no server had run for years.
    await server.store.write((db) =>
      db
        .updateTable("tasks")
        .set({ next_run: `${year - 3}-01-01T00:00:00.000Z` })
        .where("job_id", "=", cron.id)
        .execute(),
    );
    const newest = await readJob(client, await childOf(cron.id));
    assert.deepEqual([newest.scheduled_at, newest.scheduled_timezone], [`${year}-01-01T00:00:00.000Z`, "UTC"]);
  });

  it("is missing in a job that is created by hand", async () => {
    const { job, log } = await runJob(client, shell(tells));
    assert.equal(log.trim(), "params");
    assert.ok(!("scheduled_at" in job));
  });

  async function childOf(parent: string): Promise<string> {
    for (const deadline = Date.now() + 120_000; Date.now() < deadline; ) {
      const [child] = await client.call(routes.listJobs, { query: { parent_job_id: parent } });
      if (child) return (await waitForEnd(client, child.id)).id;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error("it did not fire");
  }
});
