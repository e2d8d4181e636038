/** A store of the first version with data, under this program: migrated, backed up and restored. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createClient, routes } from "@millrace/contract";
import { readLog, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";
import { pino } from "pino";
import { startServer } from "../../src/app/server.ts";
import { readConfig } from "../../src/configuration/config.ts";
import { createAdminToken } from "../../src/domain/people/tokens.ts";
import { healthOf } from "../../src/domain/schedules/schedule-health.ts";
import { backup, restore } from "../../src/main.ts";
import { migrate } from "../../src/store/migrations/migrations.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { getJob } from "../../src/store/queries/jobs/jobs.ts";
import { usageOf } from "../../src/store/queries/people/team-usage.ts";
import { ids, inserter, largeQuery, makeFirst, nextRun, time } from "../support/first-store.ts";

describe("a store of the first version", () => {
  let postgres: TestPostgres;
  let root: string;
  before(async () => {
    postgres = await startPostgres();
    root = await mkdtemp(join(tmpdir(), "millrace-upgrade-"));
  });
  after(async () => {
    await postgres.stop();
    await rm(root, { recursive: true });
  });

  const config = (dataDir: string, databaseUrl: string) =>
    readConfig(
      {},
      {
        PATH: process.env["PATH"],
        MILLRACE_DATA_DIR: dataDir,
        MILLRACE_DATABASE_URL: databaseUrl,
        MILLRACE_PORT: "0",
        MILLRACE_MAX_WORKERS: "2",
      },
    );

  for (const kind of ["SQLite", "PostgreSQL"]) {
    it(`on ${kind} keeps everything: jobs are listed, waiting ones run, there are no quotas, admin is an administrator`, async () => {
      const dataDir = join(root, kind);
      const databaseUrl = kind === "SQLite" ? "" : await postgres.createDatabase();
      await makeFirst(dataDir, databaseUrl);
      await assertUpgraded(dataDir, databaseUrl);
    });

    it(`on ${kind} is backed up unchanged, and its backup is restored and migrated`, async () => {
      const dataDir = join(root, `${kind}-old`);
      const databaseUrl = kind === "SQLite" ? "" : await postgres.createDatabase();
      await makeFirst(dataDir, databaseUrl);
      const folder = join(root, `${kind}-backup`);
      const quiet = () => {};
      const manifest = await backup(config(dataDir, databaseUrl), folder, { withKey: false, onProgress: quiet });
      assert.equal(manifest.schemaVersion, 1);
      const other = kind === "SQLite" ? await postgres.createDatabase() : "";
      const restored = join(root, `${kind}-restored`);
      await restore(config(restored, other), folder, { cancelQueued: false, onProgress: quiet });
      await assertUpgraded(restored, other);
    });
  }

  for (const kind of ["SQLite", "PostgreSQL"])
    it(`on ${kind} with long texts for each job keeps every job complete, and stores each text once`, async () => {
      const dataDir = join(root, `${kind}-texts`);
      const databaseUrl = kind === "SQLite" ? "" : await postgres.createDatabase();
      await makeFirst(dataDir, databaseUrl);
      const query = "q".repeat(100_000);
      const specs = new Map(
        [10, 11, 12].map((number) => {
          const id = `01941f29-7c00-7000-8000-0000000000${number}`;
          return [id, { tags: [], id, query, params: { p: number === 12 ? "p".repeat(9000) : "" }, priority: number }];
        }),
      );
      const store = await openStore(storeIn(dataDir, databaseUrl), (db, dialect) => migrate(db, dialect, 7));
      await store.write(async (db) => {
        for (const [id, spec] of specs) {
          const cut = JSON.stringify(id.endsWith("12") ? ["query", "params"] : ["query"]);
          await inserter(db)("jobs", {
            ...{ id, team_id: 1, user_id: 1, cluster_id: 1, name: null, status: "COMPLETE", attempt: 1, cut },
            ...{ spec: JSON.stringify({ ...spec, query: query.slice(0, 8192), params: {} }), environment: "" },
            ...{ metrics: "{}", created_at: time, finished_at: time },
          });
          await inserter(db)("large_specs", { job_id: id, spec: JSON.stringify(spec) });
        }
      });
      await store.close();
      const upgraded = await openStore(storeIn(dataDir, databaseUrl));
      try {
        const { db } = upgraded;
        for (const [id, spec] of specs)
          assert.deepEqual(JSON.parse((await getJob(db, id))?.spec ?? ""), spec, "whole, as it was");
        const texts = await db.selectFrom("texts").select("bytes").orderBy("bytes").execute();
        assert.deepEqual(
          texts.map(({ bytes }) => bytes),
          [9008, 100_002, 3_000_002],
        );
        const { texts: used } = await usageOf(db, 1);
        assert.equal(used, 9008 + 100_002 + 3_000_002);
      } finally {
        await upgraded.close();
      }
    });

  for (const kind of ["SQLite", "PostgreSQL"])
    it(`on ${kind} records for every version whose script created it, also through runs of runs`, async () => {
      const dataDir = join(root, `${kind}-origins`);
      const databaseUrl = kind === "SQLite" ? "" : await postgres.createDatabase();
      await makeFirst(dataDir, databaseUrl);
      const id = (number: number) => `01941f29-7c00-7000-8000-0000000000${number}`;
      const store = await openStore(storeIn(dataDir, databaseUrl), (db, dialect) => migrate(db, dialect, 10));
      await store.write(async (db) => {
        const insert = inserter(db);
        const job = { team_id: 1, user_id: 1, cluster_id: 1, status: "COMPLETE", attempt: 1, spec: "{}" };
        const blank = { environment: "", metrics: "{}", created_at: time };
        for (const number of [20, 21, 22]) {
          const pipeline_id = number === 20 ? null : `p${number}`;
          await insert("jobs", { ...job, ...blank, id: id(number), pipeline_id });
          if (pipeline_id === null) continue;
          await insert("pipelines", {
            ...{ id: pipeline_id, team_id: 1, user_id: 1, name: pipeline_id, status: "COMPLETED", is_template: 0 },
            ...{ triggered_from: "", datasets: "[]", settings: "{}", environment: "", scopes: "[]", open_runs: 0 },
            ...{ created_at: time, updated_at: time },
          });
          const run = { pipeline_id, job_id: id(number - 1), created_job_id: id(number) };
          await insert("pipeline_runs", { ...run, position: 0, name: "", waits_for: 0 });
        }
        await insert("jobs", { ...job, ...blank, id: id(23), parent_job_id: ids.task });
        const place = { uuid: "", name: "x", created_at: time };
        await insert("namespaces", { ...place, id: 1, team_id: 1 });
        await insert("projects", { ...place, id: 1, namespace_id: 1 });
        await insert("datasets", { ...place, id: 1, team_id: 1, project_id: 1, attrs: "[]" });
        for (const number of [20, 21, 22, 23])
          await insert("dataset_versions", {
            ...{ id: number, dataset_id: 1, team_id: 1, uuid: String(number), version: "", major: number, minor: 0 },
            ...{ patch: 0, status: 4, feature_schema: "", schema: "", sources: "", query_script: "" },
            ...{ script_output: "", error_message: "", error_stack: "", job_id: id(number), created_at: time },
          });
        await db.updateTable("dataset_versions").set({ job_id: null }).where("id", "=", 20).execute();
        await insert("dataset_version_jobs", { job_id: id(20), version_id: 20, is_creator: 1 });
      });
      await store.close();
      const upgraded = await openStore(storeIn(dataDir, databaseUrl));
      const query = upgraded.db.selectFrom("dataset_versions").select(["id", "origin_job_id"]).orderBy("id");
      const origins = (await query.execute()).map(({ origin_job_id }) => origin_job_id);
      await upgraded.close();
      assert.deepEqual(origins, [id(20), id(20), id(20), ids.task]);
    });

  for (const kind of ["SQLite", "PostgreSQL"])
    it(`on ${kind} with a schedule that could not run reports it as failing; a task can be paused`, async () => {
      const dataDir = join(root, `${kind}-schedules`);
      const databaseUrl = kind === "SQLite" ? "" : await postgres.createDatabase();
      await makeFirst(dataDir, databaseUrl);
      const store = await openStore(storeIn(dataDir, databaseUrl), (db, dialect) => migrate(db, dialect, 10));
      await store.write(async (db) => {
        const insert = inserter(db);
        const made = { team_id: 1, user_id: 1, created_at: time, updated_at: time };
        const texts = { triggered_from: "", datasets: "[]", settings: "{}", environment: "", scopes: "[]" };
        await insert("pipelines", {
          ...made,
          ...texts,
          id: "p",
          name: "p",
          status: "PENDING",
          is_template: 1,
          open_runs: 0,
        });
        const times = { cron_expression: "@yearly", timezone: "UTC", next_run: nextRun };
        const policies = { overlap: "skip", catch_up: "one", is_paused: 0, fired: 2 };
        for (const [name, last_error] of Object.entries({ refused: "The queue is full.", fine: null }))
          await insert("schedules", { ...made, ...times, ...policies, name, pipeline_id: "p", last_error });
      });
      await store.close();
      const upgraded = await openStore(storeIn(dataDir, databaseUrl));
      try {
        const { db } = upgraded;
        const rows = await db.selectFrom("schedules").selectAll().orderBy("id").execute();
        assert.deepEqual(
          rows.map((row) => healthOf(row, Date.now())),
          [
            { health: "failing", reason: "The last run failed: The queue is full." },
            { health: "ok", reason: null },
          ],
        );
        await upgraded.write((write) => write.updateTable("tasks").set({ next_run: null }).execute());
        const tasks = await db.selectFrom("tasks").select(["job_id", "next_run", "fired", "skips"]).execute();
        assert.deepEqual(tasks, [{ job_id: ids.task, next_run: null, fired: 0, skips: 0 }]);
      } finally {
        await upgraded.close();
      }
    });

  async function assertUpgraded(dataDir: string, databaseUrl: string): Promise<void> {
    const server = await startServer(config(dataDir, databaseUrl), pino({ level: "silent" }));
    try {
      const token = await createAdminToken(server.store, {}, Date.now());
      const client = createClient({ url: server.url, token, team: "main" });
      const jobs = await client.call(routes.listJobs, { query: { limit: 100 } });
      const [task, waiting, ended, large] = jobs;
      assert.deepEqual([task?.id, waiting?.id, ended?.id], [ids.task, ids.waiting, ids.ended]);
      assert.deepEqual([ended?.status, ended?.exit_code, ended?.tags], ["FAILED", 3, []]);
      assert.deepEqual([ended?.query, ended?.environment], ["echo 'ended' # ü\n", { A: "1" }]);
      assert.equal(await readLog(client, ids.ended), "as it was\n");
      // Longer than anything that is accepted today: shortened in the list, complete by its id, and in a separate
      // table.
      assert.deepEqual([large?.query, large?.cut], [largeQuery.slice(0, 8192), ["query"]]);
      const [whole] = await client.call(routes.listJobs, { query: { job_id: ids.large } });
      assert.deepEqual([whole?.query, whole?.cut], [largeQuery, undefined]);
      const kept = server.store.db.selectFrom("jobs").select("spec").where("id", "=", ids.large);
      assert.ok((await kept.executeTakeFirstOrThrow()).spec.length < 16_384);
      assert.deepEqual([task?.status, task?.next_run], ["TASK", nextRun]);
      assert.equal((await waitForEnd(client, ids.waiting)).status, "COMPLETE");
      assert.equal(await readLog(client, ids.waiting), "ran\n");
      const { db } = server.store;
      const team = await db.selectFrom("teams").selectAll().where("name", "=", "main").executeTakeFirstOrThrow();
      assert.deepEqual([team.max_running, team.max_queued], [null, null]);
      const tasks = await db.selectFrom("tasks").selectAll().execute();
      assert.deepEqual(
        tasks.map(({ job_id, team_id }) => [job_id, team_id]),
        [[ids.task, team.id]],
      );
      const users = await db.selectFrom("users").select(["username", "is_admin"]).orderBy("id").execute();
      assert.deepEqual(users, [
        { username: "admin", is_admin: 1 },
        { username: "somebody", is_admin: 0 },
      ]);
      // The next id of every table is new.
      const file = await client.upload(routes.uploadFile, new Blob(["x"]), "x");
      assert.equal(file.id, 8);
    } finally {
      await server.stop();
    }
  }
});
