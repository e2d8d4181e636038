/** How much lists read from a store: bounded in bytes, whatever is in it. Runs on both databases. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { answerLimits, fieldLimits, processLimits } from "@millrace/contract";
import { sql } from "kysely";
import { newJobId } from "../../src/domain/lifecycle/job-ids.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { countVersions, listVersions, sizedVersionsOf } from "../../src/store/queries/datasets/dataset-versions.ts";
import { listDatasets } from "../../src/store/queries/datasets/datasets.ts";
import {
  findOwned,
  insertCredentials,
  listOwned,
  updateCredentials,
} from "../../src/store/queries/jobs/credentials.ts";
import { listJobs } from "../../src/store/queries/jobs/job-lists.ts";
import { findJob, getJob, insertJobs, type NewJob, rewriteJobs } from "../../src/store/queries/jobs/jobs.ts";
import { insertAudit, listAudit } from "../../src/store/queries/people/audit.ts";
import { insertTeam } from "../../src/store/queries/people/teams.ts";
import { listPipelines } from "../../src/store/queries/pipelines/pipeline-lists.ts";
import { insertPipeline } from "../../src/store/queries/pipelines/pipelines.ts";
import { listSchedules } from "../../src/store/queries/schedules/schedules.ts";
import { countReads } from "../support/counted-reads.ts";
import { putVersion } from "../support/datasets.ts";

const now = Date.UTC(2030, 0, 1);
const time = new Date(now).toISOString();
const KiB = 1024;
const count = 40;

/** A job as large as a request can make it. */
const largest = {
  query: "q".repeat(fieldLimits.query),
  requirements: "r".repeat(fieldLimits.requirements),
  params: { p: "p".repeat(processLimits.params - 8) },
};

export function listConformance(storeOf: () => Store): void {
  const teamNamed = async (name: string) =>
    (await storeOf().write((db) => insertTeam(db, { name, created_at: time } as never))) ?? 0;
  const job = (teamId: number, rest: Partial<NewJob> = {}): NewJob => {
    const id = newJobId(now);
    return {
      ...{ id, team_id: teamId, user_id: 1, cluster_id: 1, name: "n", status: "COMPLETE", attempt: 1 },
      ...{ spec: JSON.stringify({ tags: [], id, ...largest, priority: 3 }), environment: "e".repeat(340 * KiB) },
      ...{ secrets: "s".repeat(340 * KiB), scopes: "[]", metrics: `{"m":"${"m".repeat(64 * KiB)}"}` },
      ...{ error_message: "a".repeat(64 * KiB), error_stack: "b".repeat(64 * KiB), created_at: time },
      ...rest,
    };
  };

  it("reads a list of the largest jobs in as many bytes as a list shows, and a single job completely", async () => {
    const teamId = await teamNamed("large");
    const jobs = Array.from({ length: count }, () => job(teamId));
    for (const one of jobs) await storeOf().write((db) => insertJobs(db, [one]));
    const reads = countReads(storeOf().db);
    const filters = [{}, { statuses: ["COMPLETE" as const] }, { text: "qqq" }, { name: "n", text: "n" }];
    for (const filter of filters) {
      const before = reads.bytes();
      const { rows } = await listJobs(reads.db, { teamId, limit: count, ...filter });
      assert.equal(rows.length, count, JSON.stringify(filter));
      // Texts of five fields, each as long as lists show, and some small fields.
      assert.ok(reads.bytes() - before <= count * 6 * answerLimits.listed, `${reads.bytes() - before} bytes`);
      assert.deepEqual(JSON.parse(rows[0]?.cut ?? ""), ["query", "requirements", "params"]);
    }
    const [first] = jobs;
    assert.equal((await getJob(storeOf().db, first?.id ?? ""))?.spec, first?.spec);
    assert.equal((await findJob(storeOf().db, teamId, first?.id ?? ""))?.spec, first?.spec);
  });

  it("searches jobs and audit entries without an index in small steps, yielding between them", async () => {
    const teamId = await teamNamed("looked-at");
    const small = { spec: '{"query":"small"}', environment: "", secrets: "", metrics: "{}", error_stack: "" };
    const jobs = Array.from({ length: 450 }, () => job(teamId, small));
    const at = "2026-01-01T00:00:00.000Z";
    const entry = { ...{ at, user_id: null, username: "u", via: "", address: "", action: "job.create", target: "" } };
    await storeOf().write(async (db) => {
      await insertJobs(db, jobs);
      const row = { ...entry, team_id: teamId, detail: "" };
      const rows = Array.from({ length: 500 }, () => row);
      for (let part = 0; part < 9; part++) await db.insertInto("audit").values(rows).execute();
      await insertAudit(db, { ...row, username: "last" });
    });
    let looks = 0;
    const nextLook = async () => void looks++;
    assert.deepEqual((await listJobs(storeOf().db, { teamId, limit: 5, text: "zzz" }, nextLook)).rows, []);
    assert.equal(looks, 3);
    looks = 0;
    assert.deepEqual(await listAudit(storeOf().db, { teamId, limit: 5, username: "nobody" }, nextLook), []);
    assert.equal(looks, 4);
    looks = 0;
    assert.equal((await listAudit(storeOf().db, { teamId, limit: 1, username: "last" }, nextLook)).length, 1);
    assert.equal((await listAudit(storeOf().db, { teamId, limit: 5, action: "job" }, nextLook)).length, 5);
    assert.equal(looks, 2);
  });

  it("keeps a job complete when it is rewritten, from large to small and back", async () => {
    const teamId = await teamNamed("rewritten");
    const draft = job(teamId, { status: "PENDING" });
    await storeOf().write((db) => insertJobs(db, [draft]));
    for (const spec of ['{"query":"small"}', JSON.stringify({ query: "x".repeat(100 * KiB) }), draft.spec]) {
      await storeOf().write((db) => rewriteJobs(db, [{ id: draft.id, spec, environment: "" }], ["PENDING"]));
      assert.equal((await getJob(storeOf().db, draft.id))?.spec, spec);
      const [listed] = (await listJobs(storeOf().db, { teamId, limit: 1 })).rows;
      assert.equal(JSON.parse(listed?.spec ?? "").query, JSON.parse(spec).query.slice(0, answerLimits.listed));
    }
    const refs = storeOf().db.selectFrom("job_texts").select("field").where("job_id", "=", draft.id);
    assert.equal((await refs.execute()).length, Object.keys(largest).length);
  });

  it("reads lists of pipelines without their long fields", async () => {
    const teamId = await teamNamed("pipelines");
    const settings = JSON.stringify({ python_version: "3.12", requirements: largest.requirements, workers: 2 });
    for (let index = 0; index < count; index++)
      await storeOf().write((db) =>
        insertPipeline(db, {
          ...{ id: newJobId(now), team_id: teamId, user_id: 1, name: `p-${index}`, status: "FAILED", is_template: 0 },
          ...{ schedule_id: null, triggered_from: "a.b.c@1.0.0", datasets: JSON.stringify(["d".repeat(1000 * KiB)]) },
          ...{ settings, environment: "e".repeat(340 * KiB), scopes: "[]", open_runs: 0, finished_at: null },
          ...{ error_message: "a".repeat(64 * KiB), error_stack: "b".repeat(64 * KiB) },
          ...{ created_at: time, updated_at: time },
        }),
      );
    const reads = countReads(storeOf().db);
    const { rows } = await listPipelines(reads.db, {
      ...{ teamId, statuses: undefined, text: undefined, before: undefined, limit: count },
    });
    assert.equal(rows.length, count);
    assert.ok(reads.bytes() <= count * 4 * answerLimits.listed, `${reads.bytes()} bytes`);
    assert.deepEqual(JSON.parse(rows[0]?.settings ?? ""), { python_version: "3.12", workers: 2 });
    assert.deepEqual([rows[0]?.requirements_cut, rows[0]?.datasets, rows[0]?.environment], [1, null, null]);
  });

  it("lists datasets by namespace, project and name, wherever a page ends", async () => {
    const teamId = await teamNamed("placed");
    const full = ["a.q.z", "b.p.x", "a.p.y", "b.q.x", "a.p.x", "a.q.a"];
    for (const [index, name] of full.entries()) {
      const [namespace = "", project = "", dataset = ""] = name.split(".");
      await putVersion(storeOf(), dataset, {
        version: "1.0.0",
        uuid: `${teamId}-${index}`,
        teamId,
        namespace,
        project,
      });
    }
    for (const limit of [1, 2, 3, 10]) {
      const names: string[] = [];
      for (let after: number | undefined; ; ) {
        const page = await listDatasets(storeOf().db, teamId, after, limit);
        names.push(...page.map(({ namespace, project, name }) => [namespace.name, project.name, name].join(".")));
        after = page.at(-1)?.id;
        if (page.length < limit) break;
      }
      assert.deepEqual(names, full.toSorted(), `pages of ${limit}`);
    }
  });

  it("reads lists of datasets and their versions without their long fields, page by page", async () => {
    const teamId = await teamNamed("datasets");
    const long = { error_message: "a".repeat(64 * KiB), error_stack: "b".repeat(64 * KiB) };
    const names = ["a", "b", "c"];
    for (const name of names)
      for (const version of ["1.0.0", "1.0.1"]) {
        const uuid = `${teamId}-${name}-${version}`;
        await putVersion(storeOf(), name, { version, uuid, teamId });
        await storeOf().write((db) => db.updateTable("dataset_versions").set(long).where("uuid", "=", uuid).execute());
      }
    await storeOf().write((db) =>
      db
        .updateTable("datasets")
        .set({ description: "d".repeat(64 * KiB), attrs: `["${"a".repeat(256 * KiB)}"]` })
        .where("team_id", "=", teamId)
        .execute(),
    );
    const reads = countReads(storeOf().db);
    const first = await listDatasets(reads.db, teamId, undefined, 2);
    const rest = await listDatasets(reads.db, teamId, first[1]?.id, 2);
    const ids = [...first, ...rest].map(({ id }) => id);
    assert.deepEqual(
      [...first, ...rest].map(({ name }) => name),
      names,
    );
    assert.deepEqual([...(await countVersions(reads.db, ids, false)).values()], [2, 2, 2]);
    const versions = await listVersions(reads.db, ids, false);
    assert.deepEqual(
      versions.map(({ dataset_id, version }) => [dataset_id, version]),
      ids
        .toSorted((a, b) => a - b)
        .flatMap((id) => [
          [id, "1.0.0"],
          [id, "1.0.1"],
        ]),
    );
    await sizedVersionsOf(reads.db, ids[0] ?? 0, false);
    assert.ok(reads.bytes() <= 4 * (answerLimits.listed + KiB) + 8 * 2 * KiB, `${reads.bytes()} bytes`);
  });

  it("reads lists of credentials without their values, and of audit and schedules without long fields", async () => {
    const teamId = await teamNamed("others");
    const owner = { team_id: teamId, user_id: null };
    await storeOf().write(async (db) => {
      await insertCredentials(db, owner, "set", time);
      const { id } = (await findOwned(db, owner, "set")) ?? { id: 0 };
      await updateCredentials(db, id, { variables: '["A"]', secret: "s".repeat(340 * KiB), updated_at: time });
      const row = { at: time, user_id: null, username: "", via: "", address: "", action: "a.b", team_id: teamId };
      await db
        .insertInto("audit")
        .values({ ...row, target: "t".repeat(MiB), detail: "d".repeat(MiB) })
        .execute();
      const pipeline = await db.selectFrom("pipelines").select("id").limit(1).executeTakeFirstOrThrow();
      await db
        .insertInto("schedules")
        .values({
          ...{ team_id: teamId, user_id: 1, name: "s", pipeline_id: pipeline.id, timezone: "UTC", overlap: "skip" },
          ...{
            catch_up: "one",
            is_paused: 1,
            fired: 0,
            last_error: "l".repeat(MiB),
            created_at: time,
            updated_at: time,
          },
        })
        .execute();
    });
    const reads = countReads(storeOf().db);
    assert.equal((await listOwned(reads.db, owner)).length, 1);
    assert.equal((await listAudit(reads.db, { teamId, limit: 10 })).length, 1);
    assert.equal((await listSchedules(reads.db, teamId, undefined, 10)).length, 1);
    assert.ok(reads.bytes() <= 4 * answerLimits.listed, `${reads.bytes()} bytes`);
    await storeOf().write((db) => sql`delete from schedules where team_id = ${teamId}`.execute(db));
  });
}

const MiB = KiB * KiB;
