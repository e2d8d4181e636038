/** Long texts of jobs, stored once per team: part of the suite that runs on SQLite and on PostgreSQL. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { ApiError, type Job, type JobInput, type Pipeline } from "@millrace/contract";
import { recordAllMade, recordMade } from "@millrace/testing/millrace/lineage.ts";
import { sql } from "kysely";
import { pino } from "pino";
import { operator } from "../../src/domain/access/audit.ts";
import type { Principal, Team } from "../../src/domain/access/principals.ts";
import { readUsage } from "../../src/domain/access/quotas.ts";
import { cancelJob, createJob, fireTask, getTeamJob } from "../../src/domain/jobs/jobs.ts";
import { newJobId } from "../../src/domain/lifecycle/job-ids.ts";
import { cancelPipeline, rerunPipeline, triggerPipeline } from "../../src/domain/pipelines/pipelines.ts";
import { updateSettings } from "../../src/domain/pipelines/update-pipeline-settings.ts";
import { advanceBackfill } from "../../src/domain/schedules/backfill-progress.ts";
import { createTeamBackfill } from "../../src/domain/schedules/backfills.ts";
import { fireTaskTick } from "../../src/domain/schedules/task-firings.ts";
import { day, iso } from "../../src/domain/time/clock.ts";
import { Engines } from "../../src/engines/registry.ts";
import { removeOldTexts } from "../../src/loops/retention.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { textBytesOf } from "../../src/store/queries/datasets/dataset-versions.ts";
import {
  getJob,
  getShortJob,
  getShortJobs,
  insertJobs,
  type NewJob,
  type ShortJob,
} from "../../src/store/queries/jobs/jobs.ts";
import { removeUnused } from "../../src/store/queries/jobs/texts.ts";
import { insertMembership } from "../../src/store/queries/people/memberships.ts";
import { insertTeam } from "../../src/store/queries/people/teams.ts";
import { runsOf } from "../../src/store/queries/pipelines/pipelines.ts";
import { Signals } from "../../src/turns/signals.ts";
import { countStore } from "../support/counted-reads.ts";
import { keyRing } from "../support/keys.ts";
import { noQuotas as quotas } from "../support/quotas.ts";

const now = Date.UTC(2030, 0, 1);
const keys = keyRing();
const KiB = 1024;

/** A unique text of the given length. */
const script = (mark: string, length = 100 * KiB) => `# ${mark}\n`.padEnd(length, "#");
/** Its size in the store, as JSON. */
const bytesOf = (text: string) => Buffer.byteLength(JSON.stringify(text));

const isRefused = (code: string, pattern: RegExp) => (error: unknown) =>
  error instanceof ApiError && error.code === code && pattern.test(error.message);

export function textConformance(storeOf: () => Store, openAgain: () => Promise<Store>): void {
  const signals = new Signals();
  const contextOf = (store = storeOf(), texts = 0) => ({
    ...{ store, keys, signals, quotas: { ...quotas, texts }, timezone: "UTC", jobPaths: [], publicUrl: () => "" },
  });

  /** A separate team for each test, with its operations. */
  async function inTeam(name: string) {
    const id = await storeOf().write(async (db) => {
      const made = (await insertTeam(db, { name, created_at: iso(now) } as never)) ?? 0;
      await insertMembership(db, made, 1, "admin");
      return made;
    });
    const team: Team = { id, name, role: "admin" };
    const via = { kind: "session", hash: "" } as const;
    const principal: Principal = { userId: 1, username: "admin", isAdmin: true, via, scopes: [], teams: [team] };
    const call = { principal, actor: operator, team };
    const create = async (input: Partial<JobInput>, texts = 0): Promise<Job> =>
      JSON.parse(
        await createJob(
          contextOf(storeOf(), texts),
          { ...call, input: { query: ":", query_type: "SHELL", ...input }, idempotencyKey: undefined },
          now,
        ),
      );
    return {
      ...{ team, call, create },
      /** Registers a dataset of this name as created by the job. */
      async make(dataset: string, input: Partial<JobInput>): Promise<Job> {
        const job = await create(input);
        await cancelJob(contextOf(), { actor: operator, team }, job.id, now);
        await recordMade(storeOf(), job.id, dataset, { teamId: id });
        return job;
      },
      trigger: (datasets: string[], store?: Store) =>
        triggerPipeline(contextOf(store), call, { datasets, review: true }, now),
      /** The usage as counted from the rows, and as the quota counts it. */
      async bytes(): Promise<number> {
        const total = sql<number>`coalesce(sum(octet_length(text)), 0)`.as("bytes");
        const rows = await storeOf().db.selectFrom("texts").select(total).where("team_id", "=", id).execute();
        const versions = await storeOf()
          .db.selectFrom("dataset_versions")
          .selectAll()
          .where("team_id", "=", id)
          .execute();
        const ofVersions = versions.reduce((sum, version) => sum + textBytesOf(version), 0);
        const variables = sql<number>`coalesce(sum(length(environment)), 0)`.as("bytes");
        const [ofJobs] = await storeOf()
          .db.selectFrom("jobs")
          .select(variables)
          .where("team_id", "=", id)
          .where(sql<boolean>`length(environment) > 8192`)
          .execute();
        const { texts } = await readUsage(storeOf().db, id, quotas);
        const counted = Number(rows[0]?.bytes) + Number(ofJobs?.bytes);
        assert.equal(texts.bytes, counted + ofVersions, "what the quota counts is what is there");
        return texts.bytes - ofVersions;
      },
    };
  }
  type InTeam = Awaited<ReturnType<typeof inTeam>>;

  const queryOf = async (id: string | null | undefined) =>
    (JSON.parse((await getJob(storeOf().db, id ?? ""))?.spec ?? "{}") as Job).query;
  const drafts = ({ job_runs }: Pipeline) => job_runs.map(({ created_job_id }) => created_job_id as string);
  const sweep = (time: number, logDays = 90) =>
    removeOldTexts({
      ...{ store: storeOf(), clock: { now: () => time, monotonic: () => time }, log: pino({ level: "silent" }) },
      ...{ engines: new Engines(), logDays, auditDays: 0, deliveryDays: 30 },
    });
  const endOf = (id: string, time: number) =>
    storeOf().write((db) =>
      db
        .updateTable("jobs")
        .set({ status: "COMPLETE", finished_at: iso(time) })
        .where("id", "=", id)
        .execute(),
    );

  it("stores a long script once per team: for jobs with the same script, triggers, reruns and jobs of a task", async () => {
    const { create, make, trigger, bytes, call } = await inTeam("shared");
    const scripts = ["a", "b", "c"].map((mark) => script(mark));
    for (const [index, query] of scripts.entries()) await make(`made-${index}`, { query });
    const once = scripts.reduce((sum, text) => sum + bytesOf(text), 0);
    assert.equal(await bytes(), once);

    const pipelines: Pipeline[] = [];
    for (let times = 0; times < 10; times++) pipelines.push(await trigger(["made-0", "made-1", "made-2"]));
    const [first] = pipelines as [Pipeline];
    await cancelPipeline(contextOf(), call, first, now);
    await rerunPipeline(contextOf(), call, first, now);
    const again = await runsOf(storeOf().db, first.pipeline_id);
    const task = await create({ query: scripts[0] as string, cron_expression: "0 * * * *" });
    const moment = { scheduled_at: iso(now), scheduled_timezone: "UTC" };
    for (let times = 0; times < 10; times++)
      await storeOf().write(async (db) =>
        fireTask({ db, now }, keys, (await getShortJob(db, task.id)) as ShortJob, moment),
      );
    await create({ query: scripts[1] as string, rerun_from_job_id: task.id });

    assert.equal(await bytes(), once, "nothing was added");
    for (const [index, id] of drafts(pipelines[9] as Pipeline).entries())
      assert.equal(await queryOf(id), scripts[index]);
    for (const [index, { created_job_id }] of again.entries())
      assert.equal(await queryOf(created_job_id), scripts[index]);
    const child = storeOf().db.selectFrom("jobs").select("id").where("parent_job_id", "=", task.id);
    assert.equal(await queryOf((await child.executeTakeFirst())?.id), scripts[0]);
  });

  it("shares nothing between teams, so that nobody can find out whether another team has a text", async () => {
    const [one, other] = [await inTeam("one"), await inTeam("other")];
    const query = script("the same");
    await one.create({ query });
    await other.create({ query });
    assert.deepEqual([await one.bytes(), await other.bytes()], [bytesOf(query), bytesOf(query)]);
  });

  it("stores a setting for all runs of a pipeline once, beside each run's own script", async () => {
    const { make, trigger, bytes, call } = await inTeam("settings");
    for (const mark of ["a", "b", "c"])
      await make(mark, { query: script(mark), requirements: script(`own ${mark}`, 9000) });
    const before = await bytes();
    const pipeline = await trigger(["a", "b", "c"]);
    const requirements = `${script("all", 9000)}\nx`;
    const selector = { pipeline_id: pipeline.pipeline_id };
    await updateSettings(contextOf(), call, { ...selector, requirements }, now);
    assert.equal(await bytes(), before + bytesOf(requirements));
    for (const [index, id] of drafts(pipeline).entries()) {
      const spec = JSON.parse((await getJob(storeOf().db, id))?.spec ?? "") as Job;
      assert.deepEqual([spec.query, spec.requirements], [script("abc"[index] as string), requirements]);
    }
    // After the setting is removed, each run has its own script again, and the sweep frees the setting's text.
    await updateSettings(contextOf(), call, { ...selector, requirements: "" }, now);
    await sweep(now);
    assert.equal(await bytes(), before);
    const spec = JSON.parse((await getJob(storeOf().db, drafts(pipeline)[0] ?? ""))?.spec ?? "") as Job;
    assert.equal(spec.requirements, script("own a", 9000));
  });

  it("triggers a pipeline of hundreds of runs with a few statements, without reading long texts, and yields to others", async () => {
    const { team, call, create } = await inTeam("trigger");
    const count = 600;
    const job = await create({ query: script("alike", 1024 * KiB), tags: ["t"] });
    const row = (await getShortJob(storeOf().db, job.id)) as ShortJob;
    const copies: NewJob[] = Array.from({ length: count }, () => {
      const id = newJobId(now);
      return { ...row, id, spec: JSON.stringify({ ...JSON.parse(row.spec), id }) };
    });
    await storeOf().write((db) => insertJobs(db, copies));
    const names = copies.map((_, index) => `d-${index}`);
    const made = copies.map(({ id: jobId }, index) => ({ jobId, name: names[index] as string }));
    await recordAllMade(storeOf(), made, { teamId: team.id });
    const counted = countStore(storeOf());
    let turns = 0;
    let over = false;
    const countTurn = (): void => {
      turns++;
      if (!over) setImmediate(countTurn);
    };
    const pipeline = await counted.store
      .write(async (db) => {
        setImmediate(countTurn);
        const inside = { ...counted.store, db, write: <T>(work: (db: Store["db"]) => Promise<T>) => work(db) };
        return triggerPipeline(contextOf(inside as Store), call, { datasets: names }, now);
      })
      .finally(() => {
        over = true;
      });
    assert.equal(pipeline.total, count);
    assert.ok(counted.statements() <= 60, `${counted.statements()} statements`);
    assert.ok(counted.bytes() <= count * 40 * KiB, `${counted.bytes()} bytes`);
    assert.ok(turns >= 4, `${turns} turns`);
    const queued = storeOf().db.selectFrom("queue").select(["job_id", "priority"]).where("team_id", "=", team.id);
    assert.equal((await queued.execute()).length, count + 1);

    const changed = countStore(storeOf());
    const settings = { pipeline_id: pipeline.pipeline_id, priority: 1, environment: "A=1", requirements: "fresh" };
    await updateSettings(contextOf(changed.store), call, settings, now);
    assert.ok(changed.statements() <= 100, `${changed.statements()} statements change the settings`);
    assert.equal((await queued.execute()).filter(({ priority }) => priority === 1).length, count);
    const rewritten = await getShortJobs(storeOf().db, drafts(pipeline));
    assert.deepEqual(new Set(rewritten.map(({ spec }) => (JSON.parse(spec) as Job).requirements)), new Set(["fresh"]));
  });

  it("refuses a text beyond the quota and stores nothing of it; texts that the store already has are free", async () => {
    const { create, make, trigger, bytes } = await inTeam("quota");
    const query = script("fits");
    const quota = bytesOf(query) + 10 * KiB;
    await make("made", { query });
    const why =
      /take 100 KiB, another 100 KiB would be added, and the quota of the team is 110 KiB \(max_text_bytes, MILLRACE_TEAM_TEXTS\)/;
    await assert.rejects(create({ query: script("too much") }, quota), isRefused("wrong_state", why));
    assert.equal(await bytes(), bytesOf(query));
    await create({ query }, quota);
    await create({ query: "short" }, quota);
    await trigger(["made"]);
    assert.equal(await bytes(), bytesOf(query));
  });

  it("many concurrent jobs with the same new text store it once, and many with different texts never exceed the quota", async () => {
    const { create, bytes } = await inTeam("rush");
    const query = script("alike");
    await Promise.all(Array.from({ length: 8 }, () => create({ query })));
    assert.equal(await bytes(), bytesOf(query));
    const quota = 3.5 * bytesOf(query);
    const all = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) => create({ query: script(String(index)) }, quota)),
    );
    assert.equal(all.filter(({ status }) => status === "fulfilled").length, 2);
    assert.ok((await bytes()) <= quota);
  });

  /** Texts of a team, in any order. */
  const keysOf = ({ team }: InTeam) =>
    storeOf().db.selectFrom("texts").select(["team_id", "hash"]).where("team_id", "=", team.id).execute();

  it("a text that a job takes while it is being removed always exists for that job", async () => {
    const place = await inTeam("race");
    const { create, bytes } = place;
    const query = script("wanted");
    for (let times = 0; times < 20; times++) {
      const first = await create({ query });
      const [key] = await keysOf(place);
      assert.ok(key);
      await storeOf().write((db) => db.deleteFrom("job_texts").where("job_id", "=", first.id).execute());
      const [job] = await Promise.all([create({ query }), storeOf().write((db) => removeUnused(db, [key]))]);
      assert.equal(await queryOf(job.id), query);
      assert.equal(await bytes(), bytesOf(query));
      await storeOf().write((db) => db.deleteFrom("job_texts").where("job_id", "=", job.id).execute());
    }
  });

  it("a text that a job has taken and not yet committed is not removed by another server", async (t) => {
    const place = await inTeam("two servers");
    const { create, bytes } = place;
    const query = script("held");
    const first = await create({ query });
    const [key] = await keysOf(place);
    assert.ok(key);
    await storeOf().write((db) => db.deleteFrom("job_texts").where("job_id", "=", first.id).execute());
    const other = await openAgain();
    t.after(() => other.close());
    const row = (await getShortJob(storeOf().db, first.id)) as ShortJob;
    const id = newJobId(now);
    let removing: Promise<number> | undefined;
    await storeOf().write(async (db) => {
      await insertJobs(db, [{ ...row, id, spec: JSON.stringify({ id, query }), texts: {} }]);
      removing = other.write((elsewhere) => removeUnused(elsewhere, [key]));
      // On PostgreSQL the sweep finds the text locked and ends; on SQLite it waits for this write.
      if (other.kind === "postgres") await removing;
    });
    assert.equal(await removing, 0);
    assert.equal(await queryOf(id), query);
    assert.equal(await bytes(), bytesOf(query));
  });

  it("frees long texts of jobs that ended long ago, and says so; not those that a pipeline or a task may need again", async () => {
    const { create, make, trigger, bytes, team } = await inTeam("old");
    const alone = await create({ query: script("alone") });
    const maker = await make("made", { query: script("maker") });
    const young = await create({ query: script("young") });
    const task = await create({ query: script("task"), cron_expression: "0 * * * *" });
    const together = await create({ query: script("task") });
    for (const { id } of [alone, maker, together]) await endOf(id, now - 100 * day);
    await endOf(young.id, now - 80 * day);
    const before = await bytes();

    await sweep(now, 0);
    assert.equal(await bytes(), before, "0 days keep them for ever");
    await sweep(now);
    assert.equal(await bytes(), before - bytesOf(script("alone")));
    assert.equal(await queryOf(alone.id), script("alone").slice(0, 8192));
    for (const [{ id }, mark] of [
      [maker, "maker"],
      [young, "young"],
      [task, "task"],
    ] as const)
      assert.equal(await queryOf(id), script(mark));
    const pipeline = await trigger(["made"]);
    assert.equal(await queryOf(drafts(pipeline)[0]), script("maker"));

    const shown = await getTeamJob(contextOf(), team, alone.id);
    assert.deepEqual([shown.cut, shown.query.length], [["query"], 8192]);
    const rerun = (query: string) => create({ query, rerun_from_job_id: alone.id });
    await assert.rejects(
      rerun(shown.query),
      isRefused("wrong_state", /^query: the server has only the beginning of the query of the job/),
    );
    await rerun(script("alone"));
    await rerun("something else");
    // A job without its script is never repeated, not even with the script's beginning.
    await recordMade(storeOf(), alone.id, "late", { teamId: team.id });
    await assert.rejects(
      trigger(["late"]),
      isRefused("invalid", /the script of the job .* was removed, since the job ended long ago/),
    );
  });

  /** Variables that take over 100 KiB in the store, encrypted. */
  const environment = `LONG=${"v".repeat(100 * KiB)}`;

  it("counts long variables for each job that has them: runs, reruns, jobs of a task; short ones do not count", async () => {
    const { create, make, trigger, bytes, call } = await inTeam("variables");
    await create({ environment: "SHORT=1" });
    assert.equal(await bytes(), 0);
    const task = await create({ environment, cron_expression: "0 * * * *" });
    const one = await bytes();
    assert.ok(one > 100 * KiB && one < 150 * KiB, String(one));
    // Those of a run end with a line break.
    const copies = async () => Math.round((await bytes()) / one);
    const moment = { scheduled_at: iso(now), scheduled_timezone: "UTC" };
    await storeOf().write(async (db) =>
      fireTask({ db, now }, keys, (await getShortJob(db, task.id)) as ShortJob, moment),
    );
    assert.equal(await copies(), 2);

    for (const name of ["a", "b"]) await make(name, {});
    const pipeline = await trigger(["a", "b"]);
    const selector = { pipeline_id: pipeline.pipeline_id };
    const set = (value: string, texts = 0) =>
      updateSettings(contextOf(storeOf(), texts), call, { ...selector, environment: value }, now);
    await set(environment);
    assert.equal(await copies(), 4, "each run has them");
    await set(environment);
    assert.equal(await copies(), 4, "once");
    await set("SHORT=1");
    assert.equal(await copies(), 2);
    const why = isRefused(
      "wrong_state",
      /variables of jobs, .* another 266.\d KiB would be added, and the quota of the team is 300 KiB/,
    );
    await assert.rejects(set(environment, 300 * KiB), why);
    assert.equal(await copies(), 2, "nothing of what was refused stays");

    await set(environment);
    await cancelPipeline(contextOf(), call, pipeline, now);
    await rerunPipeline(contextOf(), call, pipeline, now);
    assert.equal(await copies(), 6, "the canceled runs have theirs still");
    await cancelPipeline(contextOf(), call, pipeline, now);
    await assert.rejects(
      rerunPipeline(contextOf(storeOf(), 7 * one), call, pipeline, now),
      isRefused("wrong_state", /max_text_bytes/),
    );
  });

  it("a task, a schedule and a backfill start nothing while their variables would exceed the quota, and say why", async () => {
    const { create, make, trigger, bytes, call } = await inTeam("unattended");
    const task = await create({ environment, start_after: iso(now + 1000) });
    const one = await bytes();
    const context = { keys, quotas: { ...quotas, texts: 1.5 * one } };
    const later = now + 2000;
    const fire = (texts: number) =>
      storeOf().write((db) =>
        fireTaskTick(db, { keys, quotas: { ...quotas, texts } }, { job_id: task.id, next_run: iso(now + 1000) }, later),
      );
    const refused = await fire(1.5 * one);
    assert.ok(refused?.outcome === "refused" && refused.why.includes("max_text_bytes"), JSON.stringify(refused));

    await make("made", { environment });
    const { name } = await trigger(["made"]);
    const span = { from: iso(now - 2 * day), to: iso(now - day), every: "day" };
    const input = { pipeline_name: name, ...span, timezone: "UTC" };
    const { id } = await createTeamBackfill(contextOf(), call, input as never, now);
    const before = await bytes();
    await assert.rejects(
      storeOf().write((db) => advanceBackfill(db, context, id, later)),
      isRefused("wrong_state", /max_text_bytes/),
    );
    assert.equal(await bytes(), before);
    assert.equal(await storeOf().write((db) => advanceBackfill(db, { keys, quotas }, id, later)), true);
    assert.equal(await bytes(), before + one);
  });

  it("frees long variables of jobs that ended long ago, and says so", async () => {
    const { create, make, bytes, team, trigger } = await inTeam("old variables");
    const alone = await create({ environment });
    const both = await create({ environment, query: script("both") });
    const maker = await make("made", { environment });
    const one = ((await bytes()) - bytesOf(script("both"))) / 3;
    for (const { id } of [alone, both, maker]) await endOf(id, now - 100 * day);
    await sweep(now);
    assert.equal(await bytes(), one, "the maker of a version keeps its own");
    const shown = await getTeamJob(contextOf(), team, both.id);
    assert.deepEqual([shown.cut, shown.environment], [["query", "environment"], {}]);
    const rerun = (given: string) => create({ environment: given, rerun_from_job_id: alone.id });
    await assert.rejects(
      rerun(""),
      isRefused("wrong_state", /^environment: the server no longer has the variables of the job/),
    );
    await rerun("OTHER=1");
    await recordMade(storeOf(), alone.id, "late", { teamId: team.id });
    await assert.rejects(
      trigger(["late"]),
      isRefused("invalid", /the variables of the job .* were removed, since the job ended long ago/),
    );
  });
}
