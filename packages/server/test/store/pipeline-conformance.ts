/** Store conformance for pipelines: part of the suite that runs on SQLite and on PostgreSQL. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { JobStatus, PipelineStatus } from "@millrace/contract";
import { recordMade } from "@millrace/testing/millrace/lineage.ts";
import { operator } from "../../src/domain/access/audit.ts";
import type { Call } from "../../src/domain/access/call.ts";
import type { JobsContext } from "../../src/domain/jobs/jobs.ts";
import { cancelPipelineRuns, endJob } from "../../src/domain/lifecycle/end-job.ts";
import { newJobId } from "../../src/domain/lifecycle/job-ids.ts";
import { findWork } from "../../src/domain/ownership/work.ts";
import { makeTemplate, runTemplate } from "../../src/domain/pipelines/new-pipeline.ts";
import { newerScripts } from "../../src/domain/pipelines/newer-scripts.ts";
import { pipelineDocument } from "../../src/domain/pipelines/pipeline-documents.ts";
import { upstreamGraph } from "../../src/domain/pipelines/pipeline-upstream.ts";
import { rerunPipeline } from "../../src/domain/pipelines/pipelines.ts";
import { refreshTemplate } from "../../src/domain/schedules/refresh-schedule.ts";
import { encryptPipelineEnvironment } from "../../src/domain/secrets/encryption.ts";
import { iso } from "../../src/domain/time/clock.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { newestMade } from "../../src/store/queries/datasets/newest-made.ts";
import { getJob } from "../../src/store/queries/jobs/jobs.ts";
import { dequeue } from "../../src/store/queries/jobs/queue.ts";
import { updateUser } from "../../src/store/queries/people/users.ts";
import { listPipelines } from "../../src/store/queries/pipelines/pipeline-lists.ts";
import { makersOf } from "../../src/store/queries/pipelines/pipeline-sources.ts";
import {
  countEdges,
  deleteRun,
  edgesOf,
  findRun,
  getPipeline,
  insertPipeline,
  movePipeline,
  type PipelineRow,
  runsOf,
  updatePipeline,
} from "../../src/store/queries/pipelines/pipelines.ts";
import { Signals } from "../../src/turns/signals.ts";
import {
  type Built,
  blankPipeline,
  buildPipeline,
  builtKeys as keys,
  now,
  type Shape,
} from "../support/built-pipelines.ts";
import { countReads, countStore } from "../support/counted-reads.ts";
import { noQuotas } from "../support/quotas.ts";

export function pipelineConformance(storeOf: () => Store): void {
  const build = (shape: Shape, status?: PipelineStatus, rest?: Partial<PipelineRow>) =>
    buildPipeline(storeOf(), shape, { status, rest });
  const shown = async (id: string) => {
    const row = await getPipeline(storeOf().db, id);
    return pipelineDocument(storeOf().db, row as PipelineRow, { keys, showsValues: true });
  };
  const statesOf = async (id: string) =>
    Object.fromEntries((await shown(id)).job_runs.map((run) => [run.name, run.status]));
  const draftOf = async ({ row }: Built, name: string) =>
    (await runsOf(storeOf().db, row.id)).find((run) => run.name === name)?.created_job_id as string;
  /** Marks a job as completed, as if it had run. */
  const end = async (id: string, to: "COMPLETE" | "FAILED" = "COMPLETE") => {
    const store = storeOf();
    await store.write(async (db) => {
      await dequeue(db, id);
      await db.updateTable("jobs").set({ status: "RUNNING" }).where("id", "=", id).execute();
    });
    return store.write((db) => endJob(db, { id, from: ["RUNNING"], to }, now));
  };

  it("starts a run once, however many of its parents end at the same moment", async () => {
    const parents = ["a", "b", "c", "d", "e", "f", "g", "h"];
    const leaves = Object.fromEntries(parents.map((name) => [name, []]));
    const built = await build({ ...leaves, child: parents });
    const drafts = await Promise.all(parents.map((name) => draftOf(built, name)));
    await Promise.all(drafts.map((id) => end(id)));
    const child = await draftOf(built, "child");
    assert.equal((await getJob(storeOf().db, child))?.status, "CREATED");
    const waiting = await storeOf().db.selectFrom("queue").select("job_id").where("job_id", "=", child).execute();
    assert.equal(waiting.length, 1);
    await end(child);
    const { status, completed } = await shown(built.row.id);
    assert.deepEqual([status, completed], ["COMPLETED", 9]);
  });

  it("accepts the end of a job once", async () => {
    const built = await build({ a: [], b: ["a"] });
    const a = await draftOf(built, "a");
    assert.equal(await end(a), true);
    const again = await storeOf().write((db) => endJob(db, { id: a, from: ["RUNNING"], to: "COMPLETE" }, now));
    assert.equal(again, false);
    assert.equal((await getPipeline(storeOf().db, built.row.id))?.open_runs, 1);
  });

  it("fails a pipeline with a run: runs that have not started are canceled, started ones finish", async () => {
    const built = await build({ bad: [], begun: [], waiting: [], below: ["bad"] });
    const begun = await draftOf(built, "begun");
    await storeOf().write(async (db) => {
      await dequeue(db, begun);
      await db.updateTable("jobs").set({ status: "RUNNING" }).where("id", "=", begun).execute();
    });
    await end(await draftOf(built, "bad"), "FAILED");
    const expected: Record<string, JobStatus> = {
      bad: "FAILED",
      begun: "RUNNING",
      waiting: "CANCELED",
      below: "CANCELED",
    };
    assert.deepEqual(await statesOf(built.row.id), expected);
    await end(begun);
    const row = await getPipeline(storeOf().db, built.row.id);
    assert.deepEqual([row?.status, row?.open_runs], ["FAILED", 0]);
  });

  it("cancels a pipeline of a thousand runs with a few statements: drafts, waiting and started runs", async () => {
    const count = 1000;
    const waiting = Object.fromEntries(Array.from({ length: count / 2 }, (_, index) => [`w${index}`, []]));
    const drafts = Object.fromEntries(Object.keys(waiting).map((parent, index) => [`d${index}`, [parent]]));
    const built = await build({ ...waiting, ...drafts });
    const begun = await draftOf(built, "w0");
    await storeOf().write(async (db) => {
      await dequeue(db, begun);
      await db.updateTable("jobs").set({ status: "RUNNING" }).where("id", "=", begun).execute();
    });
    const counted = countStore(storeOf());
    await counted.store.write((db) => cancelPipelineRuns(db, built.row.id, now));
    assert.ok(counted.statements() <= 20, `${counted.statements()} statements`);
    const states = Object.values(await statesOf(built.row.id));
    assert.deepEqual(
      ["CANCELED", "CANCELING"].map((status) => states.filter((state) => state === status).length),
      [count - 1, 1],
    );
    const row = await getPipeline(storeOf().db, built.row.id);
    assert.deepEqual([row?.status, row?.open_runs], ["CANCELED", 1]);
    const queued = storeOf().db.selectFrom("queue").innerJoin("jobs", "jobs.id", "queue.job_id").select("jobs.id");
    assert.equal((await queued.where("jobs.pipeline_id", "=", built.row.id).execute()).length, 0);
  });

  it("runs a pipeline of a thousand runs again with a few statements: each run has a new draft, and complete ones stay", async () => {
    const count = 1000;
    const parents = Object.fromEntries(Array.from({ length: count / 2 }, (_, index) => [`p${index}`, []]));
    const children = Object.fromEntries(Object.keys(parents).map((parent, index) => [`c${index}`, [parent]]));
    const built = await build({ ...parents, ...children });
    const { id } = built.row;
    await end(await draftOf(built, "p0"));
    await storeOf().write((db) => cancelPipelineRuns(db, id, now));
    // As if the canceled child of a complete run still waited: a rerun counts anew what each run waits for.
    await storeOf().write((db) =>
      db.updateTable("pipeline_runs").set({ waits_for: 7 }).where("pipeline_id", "=", id).execute(),
    );
    const before = new Map((await runsOf(storeOf().db, id)).map((run) => [run.name, run.created_job_id]));
    const counted = countStore(storeOf());
    const context = { store: counted.store, keys, signals: new Signals(), quotas: noQuotas } as unknown as JobsContext;
    const principal = { via: { kind: "token" } };
    const call = { actor: operator, principal, team: { id: 1, name: "main", role: "admin" } } as unknown as Call;
    await rerunPipeline(context, call, { pipeline_id: id }, now);
    assert.ok(counted.statements() <= 60, `${counted.statements()} statements`);
    const runs = await runsOf(storeOf().db, id);
    const kept = runs.filter((run) => run.created_job_id === before.get(run.name)).map(({ name }) => name);
    assert.deepEqual(kept, ["p0"]);
    const drafts = await storeOf().db.selectFrom("jobs").select(["id", "name"]).where("pipeline_id", "=", id).execute();
    const nameOf = new Map(drafts.map((draft) => [draft.id, draft.name]));
    for (const run of runs) assert.equal(nameOf.get(run.created_job_id ?? ""), run.name);
    const expected = (name: string) => (name.startsWith("p") || name === "c0" ? 0 : 1);
    for (const { name, waits_for } of runs) assert.equal(waits_for, expected(name), name);
    const states = await statesOf(id);
    assert.deepEqual(
      [states["p0"], states["c0"], states["p1"], states["c1"]],
      ["COMPLETE", "CREATED", "CREATED", "PENDING"],
    );
    const row = await getPipeline(storeOf().db, id);
    assert.deepEqual([row?.status, row?.open_runs], ["RUNNING", count - 1]);
  });

  it("gives a run's parents to its children when it is removed", async () => {
    const built = await build({ a: [], b: [], middle: ["a", "b"], c: ["middle", "a"], d: ["middle"] }, "PAUSED");
    const { db } = storeOf();
    const { a, b, c, d, middle } = built.originals;
    const run = (await findRun(db, built.row.id, middle ?? "")) ?? assert.fail("no run");
    assert.deepEqual(await findRun(db, built.row.id, run.created_job_id ?? ""), run);
    assert.deepEqual(await countEdges(db, run), { all: 5, above: 2, below: 2 });
    await storeOf().write((write) => deleteRun(write, run));
    const edges = await edgesOf(db, built.row.id);
    assert.deepEqual(
      edges.map(({ job_id, parent_job_id }) => [job_id, parent_job_id]).sort(),
      [
        [c, a],
        [c, b],
        [d, a],
        [d, b],
      ].sort(),
    );
    const runs = await runsOf(db, built.row.id);
    assert.deepEqual(
      runs.map(({ job_id, waits_for }) => [job_id, waits_for]),
      [
        [a, 0],
        [b, 0],
        [c, 2],
        [d, 2],
      ],
    );
    assert.equal(await findRun(db, built.row.id, middle ?? ""), undefined);
  });

  it("changes the state of a pipeline only from the named states, along the edges of the contract", async () => {
    const { row } = await build({ a: [] }, "PAUSED");
    const move = (from: PipelineStatus[], to: PipelineStatus) =>
      storeOf().write((db) => movePipeline(db, { id: row.id, from, to, changes: {} }));
    assert.equal(await move(["RUNNING"], "CANCELED"), false);
    assert.equal(await move(["RUNNING", "PAUSED"], "CANCELED"), true);
    await assert.rejects(move(["COMPLETED"], "RUNNING"), /a pipeline cannot change from COMPLETED to RUNNING/);
  });

  it("gives a name to one pipeline of a team, and lists pipelines newest first, without templates", async () => {
    const teamId = (
      await storeOf().write((db) =>
        db
          .insertInto("teams")
          .values({ name: "lists", created_at: iso(now) })
          .returning("id")
          .executeTakeFirstOrThrow(),
      )
    ).id;
    const put = (name: string, rest: Partial<PipelineRow> = {}) =>
      storeOf().write((db) =>
        insertPipeline(db, {
          ...blankPipeline,
          id: newJobId(now),
          team_id: teamId,
          name,
          status: "RUNNING",
          open_runs: 0,
          ...rest,
        }),
      );
    assert.equal(await put("river-mill", { datasets: '["@ü.default.ÄPFEL@1.0.0"]' }), true);
    assert.equal(await put("river-mill"), false);
    await put("stone-gate", { status: "FAILED" });
    await put("amber-wheel", { is_template: 1, status: "PENDING" });
    const list = async (statuses?: PipelineStatus[], text?: string, limit = 10) =>
      (await listPipelines(storeOf().db, { teamId, statuses, text, before: undefined, limit })).rows.map(
        ({ name }) => name,
      );
    assert.deepEqual(await list(), ["stone-gate", "river-mill"]);
    assert.deepEqual(await list(undefined, undefined, 1), ["stone-gate"]);
    assert.deepEqual(await list(["FAILED", "PAUSED"]), ["stone-gate"]);
    assert.deepEqual(await list(undefined, "äpfel"), ["river-mill"]);
    assert.deepEqual(await list(undefined, "RIVER"), ["river-mill"]);
    assert.deepEqual(await list(undefined, "%"), []);
  });

  it("finds the work of a user in pipelines of many long scripts without reading the scripts, and gives way before each batch", async () => {
    const names = Array.from({ length: 450 }, (_, index) => `script-${index}`);
    const query = "x".repeat(8000);
    const sets = (index: number) => (index === 7 ? { credentials_names: ["a", "b"] } : { credentials_name: "c" });
    const specs = Object.fromEntries(names.map((name, index) => [name, { query, ...sets(index) }]));
    const built = await buildPipeline(storeOf(), Object.fromEntries(names.map((name) => [name, []])), { specs });
    const counted = countReads(storeOf().db);
    let pauses = 0;
    const found = await findWork(counted.db, { userId: 1, teamId: 1 }, async () => void pauses++);
    const one = found.pipelines.find(({ row }) => row.id === built.row.id);
    assert.deepEqual([one?.runs, [...(one?.credentials ?? [])].sort()], [450, ["a", "b", "c"]]);
    assert.ok(pauses >= 3, `${pauses} batches`);
    assert.ok(counted.bytes() < 450 * 1000, `${counted.bytes()} bytes`);
    await storeOf().write((db) => cancelPipelineRuns(db, built.row.id, now));
  });

  it("searches pipelines in batches of limited size, gives way before each, and goes on where a page ended", async () => {
    const { id: teamId } = await storeOf().write((db) =>
      db
        .insertInto("teams")
        .values({ name: "searched-pipelines", created_at: iso(now) })
        .returning("id")
        .executeTakeFirstOrThrow(),
    );
    const put = (names: readonly string[], datasets: string) =>
      storeOf().write(async (db) => {
        for (const name of names)
          await insertPipeline(db, {
            ...blankPipeline,
            ...{ id: newJobId(now), team_id: teamId, name, status: "RUNNING", open_runs: 0, datasets },
          });
      });
    await put(["oldest"], '["needle"]');
    await put(["large-0", "large-1", "large-2", "large-3"], JSON.stringify(["d".repeat(400_000), "needle"]));
    await put(
      Array.from({ length: 300 }, (_, index) => `small-${index}`),
      '["a.b.c"]',
    );
    let looks = 0;
    const search = (text: string, limit: number, before?: string) => {
      looks = 0;
      const filter = { teamId, statuses: undefined, text, before, limit };
      return listPipelines(storeOf().db, filter, async () => void looks++);
    };
    assert.deepEqual(await search("nothing", 10), { rows: [], next: undefined });
    assert.ok(looks >= 5, `${looks} batches: 300 small pipelines in two, each large one in its own`);
    const first = await search("NEEDLE", 2);
    const second = await search("needle", 10, first.next);
    assert.deepEqual(
      [...first.rows, ...second.rows].map(({ name }) => name),
      ["large-3", "large-2", "large-1", "large-0", "oldest"],
    );
    assert.equal(second.next, undefined);
  });

  it("finds everything upstream of some versions, once, even if lineage has a cycle", async () => {
    const store = storeOf();
    const made = async (name: string, needs: Parameters<typeof recordMade>[3] = {}) =>
      recordMade(store, newJobId(now), `lineage_${name}`, needs);
    const a = await made("a");
    const b = await made("b", { needs: [a, { uri: "s3://bucket/" }] });
    const c = await made("c", { needs: [a, b] });
    await made("beside", { needs: [a] });
    const idOf = async (uuid: string) =>
      (await store.db.selectFrom("dataset_versions").select("id").where("uuid", "=", uuid).executeTakeFirstOrThrow())
        .id;
    const pinned = (id: number) => ({ id, dataset_id: 0, isPinned: true });
    const ids = [await idOf(c.uuid), await idOf(b.uuid)].map(pinned);
    const graph = await upstreamGraph(store.db, ids);
    assert.ok("nodes" in graph);
    assert.deepEqual(
      graph.nodes.map(({ jobId }) => jobId),
      [a, b, c].map(({ jobId }) => jobId),
    );
    const [first, last] = [await idOf(a.uuid), await idOf(c.uuid)];
    await store.write((db) =>
      db
        .insertInto("dataset_dependencies")
        .values({ version_id: first, needs_version_id: last, needs_uri: null })
        .execute(),
    );
    assert.deepEqual(await upstreamGraph(store.db, ids, { versions: 2, needs: 4 }), { tooLarge: true });
    assert.deepEqual(await upstreamGraph(store.db, ids, { versions: 3, needs: 3 }), { tooLarge: true });
    assert.ok(!("tooLarge" in (await upstreamGraph(store.db, ids, { versions: 3, needs: 4 }))));
    const round = await upstreamGraph(store.db, [pinned(last)]);
    assert.ok("cycle" in round && round.cycle.length >= 2);
  });

  it("takes the creator from the jobs of a version if the version itself does not name it", async () => {
    const store = storeOf();
    const jobId = newJobId(now);
    const { uuid } = await recordMade(store, jobId, "linked");
    await store.write((db) =>
      db.updateTable("dataset_versions").set({ job_id: null }).where("uuid", "=", uuid).execute(),
    );
    const row = store.db.selectFrom("dataset_versions").select("id").where("uuid", "=", uuid);
    const [version] = await makersOf(store.db, [(await row.executeTakeFirstOrThrow()).id]);
    assert.equal(version?.maker, jobId);
  });

  it("finds the newest script of a dataset, however often an older one was repeated since", async () => {
    const store = storeOf();
    const old = await build({ make: [] }, "PAUSED");
    const changed = await build({ make: [] }, "PAUSED");
    const made = async (jobId: string | undefined, patch: number) =>
      recordMade(store, jobId ?? null, "moved", { version: `1.0.${patch}` });
    await made(old.originals["make"], 0);
    const query = store.db.selectFrom("datasets").select("id").where("name", "=", "moved");
    const { id } = await query.executeTakeFirstOrThrow();
    const newest = async () => (await newestMade(store.db, [id])).get(id);
    assert.equal((await newest())?.version, "1.0.0");
    await made(changed.originals["make"], 1);
    await made(await draftOf(old, "make"), 2);
    assert.deepEqual(
      [(await newest())?.version, (await newest())?.origin_job_id],
      ["1.0.1", changed.originals["make"]],
      "the last one to be made is of the older script",
    );
    await made(await draftOf(changed, "make"), 3);
    assert.equal((await newest())?.version, "1.0.3");
    await made(undefined, 4);
    assert.equal((await newest())?.version, "1.0.3", "what no job made does not count");
    assert.equal((await newestMade(store.db, [])).size, 0);
  });

  it("reports which scripts are newer than those of a template, and uses them", async () => {
    const store = storeOf();
    const shape = { raw: [], make: ["raw"] };
    const old = await build(shape, "PAUSED", { datasets: '["@admin.default.told@1.0.0"]' });
    const template = await store.write((db) => makeTemplate({ db, now }, keys, old.row, 78));
    const made = async (name: string, { originals }: Built, version: string) => {
      const raw = await recordMade(store, originals["raw"] ?? "", `${name}_raw`, { version });
      return recordMade(store, originals["make"] ?? "", name, { version, needs: [raw] });
    };
    await made("told", old, "1.0.0");
    const newer = async () => (await newerScripts(store.db, [template, "none"]))(template);
    assert.deepEqual(await newer(), []);
    const changed = await build(shape, "PAUSED");
    for (const id of Object.values(changed.originals)) {
      const spec = { ...JSON.parse((await getJob(store.db, id))?.spec ?? ""), query: "echo changed" };
      await store.write((db) =>
        db
          .updateTable("jobs")
          .set({ spec: JSON.stringify(spec) })
          .where("id", "=", id)
          .execute(),
      );
    }
    await made("told", changed, "1.0.1");
    assert.deepEqual(
      (await newer())?.map(({ dataset, runs_job_id, job_id }) => [dataset, runs_job_id, job_id]),
      [
        ["@admin.default.told_raw", old.originals["raw"], changed.originals["raw"]],
        ["@admin.default.told", old.originals["make"], changed.originals["make"]],
      ],
    );
    const refresh = () => store.write((db) => refreshTemplate(db, { id: 1, name: "main" }, template, now));
    assert.match((await refresh()) ?? "", /new: raw .*, make /);
    assert.deepEqual(
      (await shown(template)).job_runs.map(({ job_id, parent_job_ids }) => [job_id, ...parent_job_ids]),
      [[changed.originals["raw"]], [changed.originals["make"], changed.originals["raw"]]],
    );
    assert.deepEqual([await newer(), await refresh()], [[], undefined]);
  });

  it("creates a template from the remaining runs of a pipeline, and fires pipelines from it that start at once", async () => {
    const store = storeOf();
    const { row, originals } = await build({ a: [], b: ["a"], c: ["b"] }, "PAUSED");
    const [, b] = await runsOf(store.db, row.id);
    const template = await store.write(async (db) => {
      await deleteRun(db, b ?? assert.fail("no run"));
      const environment = await encryptPipelineEnvironment(db, keys, row.id, "ADDED=2");
      await updatePipeline(db, row.id, { environment, settings: JSON.stringify({ priority: 1 }) });
      return makeTemplate({ db, now }, keys, (await getPipeline(db, row.id)) as PipelineRow, 77);
    });
    const made = await shown(template);
    assert.deepEqual([made.is_template, made.status, made.total, made.priority], [true, "PENDING", 2, 1]);
    assert.deepEqual(made.environment_variables, { ADDED: "2" });
    assert.deepEqual(
      made.job_runs.map(({ created_job_id, status }) => [created_job_id, status]),
      [
        [null, "PENDING"],
        [null, "PENDING"],
      ],
    );
    const fire = async () =>
      (
        await store.write(async (db) =>
          runTemplate({ db, now }, keys, (await getPipeline(db, template)) as PipelineRow),
        )
      ).pipelineId;
    const [first, second] = [await fire(), await fire()];
    const fired = await shown(first);
    assert.deepEqual(
      [fired.is_template, fired.status, await statesOf(first)],
      [false, "RUNNING", { a: "CREATED", c: "PENDING" }],
    );
    assert.deepEqual(fired.job_runs[1]?.parent_job_ids, [originals["a"]]);
    assert.notEqual(fired.name, (await shown(second)).name);
    assert.equal((await getPipeline(store.db, first))?.schedule_id, 77);
    const draft = await getJob(store.db, fired.job_runs[0]?.created_job_id ?? "");
    assert.equal((JSON.parse(draft?.spec ?? "{}") as { priority: number }).priority, 1);
  });

  it("fails what a template fires if its jobs can no longer be repeated, with the reason", async () => {
    const store = storeOf();
    const { row } = await build({ a: [], b: ["a"] }, "PAUSED");
    const fire = async () => (await store.write((db) => runTemplate({ db, now }, keys, row))).pipelineId;
    await store.write((db) => updateUser(db, 1, { disabled_at: iso(now) }));
    const failed = await shown(await fire());
    await store.write((db) => updateUser(db, 1, { disabled_at: null }));
    assert.equal(failed.status, "FAILED");
    assert.match(
      failed.error_message ?? "",
      /The pipeline could not start: the job a \(.*\) belongs to admin, who is disabled/,
    );
    assert.deepEqual(await statesOf(failed.pipeline_id), { a: "CANCELED", b: "CANCELED" });
  });
}
