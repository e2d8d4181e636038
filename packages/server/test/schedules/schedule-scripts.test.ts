/** Schedules whose scripts have newer versions: reported, used on request, or used at each firing. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, type CreatePipelineScheduleInput, type PipelineSchedule, routes } from "@millrace/contract";
import { type Made, makeDataset, recordMade } from "@millrace/testing/millrace/lineage.ts";
import { iso } from "../../src/domain/time/clock.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson, refused } from "../support/people.ts";
import { trigger } from "../support/pipelines.ts";

describe("a schedule with newer scripts", () => {
  let server: InProcessServer;
  let client: Client;
  let count = 0;
  before(async () => {
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "2" });
    client = await server.client();
  });
  after(() => server.dispose());

  function world() {
    const prefix = `s${++count}`;
    const full = (name: string) => `${prefix}_${name}`;
    const make = (name: string, version: string, query: string, needs: Made[] = [], by = client) =>
      makeDataset({ store: server.store, client: by }, full(name), query, {
        needs,
        version,
        input: { query_name: `make_${name}.sh` },
      });
    /** A schedule of `final`, which is created from `numbers`. */
    const start = async (rest: Partial<CreatePipelineScheduleInput> = {}, datasets = [full("final")]) => {
      const numbers = await make("numbers", "1.0.0", "echo old");
      const final = await make("final", "1.0.0", "echo final", [numbers]);
      const { name } = await trigger(client, datasets, true);
      const body = { schedule_name: prefix, pipeline_name: name, cron_expression: "0 0 1 1 *", ...rest };
      const { schedule } = await client.call(routes.createSchedule, { body });
      return { numbers, final, schedule };
    };
    return { full, make, start };
  }
  const read = ({ id }: PipelineSchedule) => client.call(routes.getSchedule, { query: { schedule_id: id } });
  const listed = async ({ id }: PipelineSchedule) =>
    (await client.call(routes.listSchedules, { query: {} })).find((one) => one.id === id) ?? assert.fail("not listed");
  const refresh = async ({ id }: PipelineSchedule) =>
    (await client.call(routes.updateSchedule, { body: { schedule_id: id, refresh: true } })).schedule;
  const jobsOf = ({ pipeline }: PipelineSchedule) => pipeline.job_runs.map(({ job_id }) => job_id);

  /** Makes the schedule due a moment ago; resolves when the tick was handled. */
  async function tick(schedule: PipelineSchedule): Promise<PipelineSchedule> {
    const next_run = iso(Date.now() - 1000);
    await server.store.write((db) =>
      db.updateTable("schedules").set({ next_run }).where("id", "=", schedule.id).execute(),
    );
    for (const deadline = Date.now() + 120_000; Date.now() < deadline; ) {
      const now = await read(schedule);
      if (now.next_run !== next_run) return now;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error("the tick was not taken");
  }

  it("says which datasets were created by newer scripts, by whom and when, in the list and by itself", async () => {
    const { make, start, full } = world();
    const { numbers, schedule } = await start();
    assert.deepEqual([schedule.newer_scripts, schedule.follow], [[], "none"]);
    const newer = await make("numbers", "1.0.1", "echo new");
    const { newer_scripts } = await read(schedule);
    assert.deepEqual(
      newer_scripts?.map(({ created_at, ...rest }) => [rest, created_at.slice(0, 4)]),
      [
        [
          {
            dataset: `@admin.default.${full("numbers")}`,
            runs_job_id: numbers.jobId,
            job_id: newer.jobId,
            name: "make_numbers.sh",
            created_by: "admin",
          },
          String(new Date().getUTCFullYear()),
        ],
      ],
    );
    assert.deepEqual((await listed(schedule)).newer_scripts, newer_scripts);
  });

  it("still says so after the next tick has overwritten the new results with old ones", async () => {
    const { make, start, full } = world();
    const { schedule } = await start();
    const newer = await make("numbers", "1.0.1", "echo new");
    const { latest_run } = await tick(schedule);
    const draft = latest_run?.job_runs.find(({ name }) => name === "make_numbers.sh")?.created_job_id;
    await recordMade(server.store, draft ?? assert.fail("no run"), full("numbers"), { version: "1.0.2" });
    assert.deepEqual(
      (await read(schedule)).newer_scripts?.map(({ job_id }) => job_id),
      [newer.jobId],
    );
    assert.deepEqual(jobsOf(await refresh(schedule))[0], newer.jobId, "and takes the newer one");
  });

  it("does not report the same script, run again, as newer", async () => {
    const { make, start } = world();
    const { schedule } = await start();
    await make("numbers", "1.0.1", "echo old");
    assert.deepEqual((await read(schedule)).newer_scripts, []);
  });

  it("reports nothing if versions were named: exactly those were wanted, and a refresh keeps them", async () => {
    const { make, start, full } = world();
    const { numbers, final, schedule } = await start({}, [`${full("final")}@1.0.0`]);
    await make("numbers", "1.0.1", "echo new");
    assert.deepEqual([(await read(schedule)).newer_scripts, (await listed(schedule)).newer_scripts], [null, null]);
    assert.deepEqual(jobsOf(await refresh(schedule)), [numbers.jobId, final.jobId]);
  });

  it("uses the newest scripts and their inputs after a refresh, and keeps its settings and its name", async () => {
    const { make, start, full } = world();
    const { numbers, schedule } = await start();
    const body = { pipeline_name: schedule.pipeline.name, environment: "ADDED=1" };
    await client.call(routes.updatePipelineSettings, { body });
    const raw = await make("raw", "1.0.0", "echo raw");
    const newer = await make("final", "1.0.1", "echo another final", [numbers, raw]);
    const after = await refresh(schedule);
    assert.deepEqual(
      after.pipeline.job_runs.map(({ job_id, parent_job_ids, name }) => [job_id, parent_job_ids.sort(), name]).sort(),
      [
        [numbers.jobId, [], "make_numbers.sh"],
        [raw.jobId, [], "make_raw.sh"],
        [newer.jobId, [numbers.jobId, raw.jobId].sort(), "make_final.sh"],
      ].sort(),
    );
    assert.deepEqual(after.pipeline.datasets, [`@admin.default.${full("final")}@1.0.1`]);
    assert.deepEqual(
      [after.pipeline.name, after.pipeline.environment_variables, after.newer_scripts],
      [schedule.pipeline.name, { ADDED: "1" }, []],
    );
    const [row] = await client.call(routes.listAudit, { query: { action: "schedule.update" } });
    assert.match(row?.detail ?? "", /refresh=true new: make_(raw|final)\.sh \(job /);
    assert.deepEqual(await refresh(after).then(jobsOf), jobsOf(after), "a second one changes nothing");
  });

  it("keeps its jobs while only its own runs repeat them", async () => {
    const { start, full } = world();
    const { schedule } = await start();
    const { latest_run } = await tick(schedule);
    const needs: Made[] = [];
    for (const { name, created_job_id } of latest_run?.job_runs ?? [])
      needs.push(
        await recordMade(server.store, created_job_id, full(name.slice(5, -3)), {
          version: "1.0.1",
          needs: [...needs],
        }),
      );
    assert.deepEqual(jobsOf(await refresh(schedule)), jobsOf(schedule));
  });

  it("with `follow: latest` uses the newest scripts at each firing, and writes an audit row", async () => {
    const { make, start } = world();
    const { schedule, final } = await start({ follow: "latest" });
    assert.equal(schedule.follow, "latest");
    const newer = await make("numbers", "1.0.1", "echo new");
    const fired = await tick(schedule);
    assert.deepEqual(
      fired.latest_run?.job_runs.map(({ job_id }) => job_id),
      [newer.jobId, final.jobId],
    );
    const [row] = await client.call(routes.listAudit, { query: { action: "schedule.refresh" } });
    assert.deepEqual([row?.target, row?.via], [schedule.schedule_name, `schedule ${schedule.schedule_name}`]);
    assert.match(row?.detail ?? "", new RegExp(`new: make_numbers.sh \\(job ${newer.jobId}\\)`));
    const { schedule: again } = await client.call(routes.updateSchedule, {
      body: { schedule_id: schedule.id, follow: "none" },
    });
    assert.equal(again.follow, "none");
  });

  it("does not fire and says why if it follows the latest scripts and the newest lineage cannot be run", async () => {
    const { make, start, full } = world();
    const { schedule, final } = await start({ follow: "latest" });
    await make("numbers", "1.0.1", "echo new", [final]);
    const fired = await tick(schedule);
    assert.deepEqual([fired.fired, fired.latest_run], [0, null]);
    assert.match(fired.last_error ?? "", /need each other's datasets/);
    await refused(refresh(schedule), "invalid", /need each other's datasets/);
    assert.deepEqual(jobsOf(await read(schedule)), jobsOf(schedule), `${full("")} keeps what it had`);
  });

  it("does not apply the code of one person to the newer script of another", async () => {
    const { make, start } = world();
    const { schedule } = await start();
    const body = { pipeline_name: schedule.pipeline.name, environment: "PYTHONSTARTUP=mine.py" };
    await client.call(routes.updatePipelineSettings, { body });
    const other = await addPerson(server, `other${count}`, { team: "main" });
    await make("numbers", "1.0.1", "echo new", [], other.client);
    await refused(refresh(schedule), "wrong_state", /belongs to other\d+ and would run with other\d+'s rights/);
    assert.deepEqual(jobsOf(await read(schedule)), jobsOf(schedule));
  });

  const handOver = ({ id }: PipelineSchedule, owner: string) =>
    client.call(routes.updateSchedule, { body: { schedule_id: id, owner } });

  it("that a person took over uses that person's newer scripts only", async () => {
    const { make, start } = world();
    const { schedule } = await start({ follow: "latest" });
    const heir = await addPerson(server, `heir${count}`, { team: "main" });
    const other = await addPerson(server, `other${count}`, { team: "main" });
    await handOver(schedule, heir.username);
    await make("numbers", "1.0.1", "echo new", [], other.client);
    const why = /belongs to other\d+ and would run with the rights and credentials of heir\d+/;
    await refused(refresh(schedule), "wrong_state", why);
    const { fired, last_error } = await tick(schedule);
    assert.equal(fired, 0);
    assert.match(last_error ?? "", why);
    const own = await make("numbers", "1.0.2", "echo newer", [], heir.client);
    assert.equal(jobsOf(await refresh(schedule))[0], own.jobId);
  });

  it("of the service account uses everybody's newer scripts, even if the creator of the others has left", async () => {
    const { make, start, full } = world();
    const maker = await addPerson(server, `maker${count}`, { team: "main" });
    const other = await addPerson(server, `other${count}`, { team: "main" });
    await start();
    const final = await make("final", "1.0.1", "echo by the maker", [], maker.client);
    const { name } = await trigger(client, [full("final")], true);
    const body = { schedule_name: full("left"), pipeline_name: name, cron_expression: "0 0 1 1 *" };
    const { schedule } = await client.call(routes.createSchedule, { body });
    assert.deepEqual(jobsOf(schedule), [final.jobId]);
    const account = await client.call(routes.createServiceAccount, { params: { team_name: "main" }, body: {} });
    await handOver(schedule, account.username);
    await client.call(routes.updateUser, { params: { username: maker.username }, body: { disabled: true } });
    const raw = await make("raw", "1.0.0", "echo raw", [], other.client);
    await recordMade(server.store, final.jobId, full("final"), { version: "1.0.2", needs: [raw] });
    const after = await refresh(schedule);
    assert.deepEqual(jobsOf(after), [raw.jobId, final.jobId]);
    assert.deepEqual([after.owner.username, after.owner_problem], [account.username, null]);
  });
});
