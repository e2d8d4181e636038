/**
 * Upgrades one store from version to version, on SQLite and on PostgreSQL: at each step every row of every table is
 * unchanged, and new columns have the values that the program assumed before. Then a server runs on it.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createClient, routes } from "@millrace/contract";
import { waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";
import { pino } from "pino";
import { startServer } from "../../src/app/server.ts";
import { readConfig } from "../../src/configuration/config.ts";
import { createAdminToken } from "../../src/domain/people/tokens.ts";
import type { Db, Store } from "../../src/store/drivers/store.ts";
import { migrate, schemaVersion } from "../../src/store/migrations/migrations.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { ids, inserter, job, makeFirst, nextRun, time } from "../support/first-store.ts";

type Row = Readonly<Record<string, unknown>>;
/** Rows by table, in any order. */
type Dump = ReadonlyMap<string, readonly Row[]>;
/** What a step adds to existing rows: by table, the new columns. */
type Added = Readonly<Record<string, (row: Row) => Row>>;

interface Step {
  readonly version: number;
  readonly title: string;
  /** Rows that only a store before this step has. */
  readonly before: (db: Db) => Promise<unknown>;
  readonly added: Added;
}

const paused = "01941f29-7c00-7000-8000-000000000004";
const retried = "01941f29-7c00-7000-8000-000000000005";
const running = "01941f29-7c00-7000-8000-000000000006";
const long = "01941f29-7c00-7000-8000-000000000007";
const service = 3;
const made = { team_id: 1, user_id: 1, created_at: time, updated_at: time };

const steps: readonly Step[] = [
  {
    version: 12,
    title: "service accounts: whatever runs goes on as whoever made it",
    before: async (db) => {
      const insert = inserter(db);
      const texts = { triggered_from: "d", datasets: '["d"]', settings: "{}", environment: "", scopes: '["JOB:read"]' };
      const pipeline = { ...made, ...texts, id: "p", name: "p", status: "PENDING", is_template: 1, open_runs: 0 };
      await insert("pipelines", { ...pipeline, asked: '["d@1.0.0"]', schedule_id: 1 });
      await insert("pipeline_runs", { pipeline_id: "p", position: 0, job_id: ids.ended, name: "old.sh", waits_for: 0 });
      const times = { cron_expression: "30 2 * * *", timezone: "Europe/Berlin", start_after: time, next_run: nextRun };
      const policies = { overlap: "wait", catch_up: "all", follow: "latest", is_paused: 0, fired: 2 };
      const schedule = { ...made, ...times, ...policies, name: "nightly", pipeline_id: "p" };
      await insert("schedules", { ...schedule, waiting_since: time, latest_pipeline_id: "p", last_error: "full" });
    },
    added: {
      users: () => ({ service_team_id: null }),
      pipelines: () => ({ run_as: "" }),
      tasks: () => ({ run_as: "" }),
      schedules: () => ({ created_by: null }),
    },
  },
  {
    version: 13,
    title: "the health of schedules: tasks are made anew, and run as whom they ran",
    before: async (db) => {
      const insert = inserter(db);
      const person = { first_name: "", last_name: "", created_at: time };
      await insert("users", { ...person, username: "main-service", service_team_id: 1 });
      await insert("memberships", { team_id: 1, user_id: service, role: "editor" });
      await db
        .updateTable("tasks")
        .set({ run_as: `{"all":${service}}`, fired: 7 })
        .execute();
      await db.updateTable("pipelines").set({ run_as: '{"of":{"1":2}}' }).execute();
      await db.updateTable("schedules").set({ user_id: service, created_by: 1 }).execute();
    },
    added: {
      schedules: () => ({
        ...{ skips: 0, skips_in_row: 0, skip_reason: null },
        ...{ failures_in_row: 1, failure_reason: "full" },
      }),
      tasks: () => ({ skips: 0, last_error: null }),
      users: () => ({ timezone: null }),
    },
  },
  {
    version: 14,
    title: "moments and triggers: no schedule waits for a dataset, and no run is for a moment",
    before: async (db) => {
      const insert = inserter(db);
      const firing = { schedule_id: 1, tick: time, ticks: 3, at: time };
      await insert("firings", { ...firing, outcome: "missed", reason: "no server ran" });
      await insert("firings", { ...firing, outcome: "fired", pipeline_id: "p" });
      await db.updateTable("users").set({ timezone: "Europe/Berlin" }).where("id", "=", 2).execute();
      await insert("jobs", job(paused, "TASK", "echo paused"));
      await insert("tasks", { job_id: paused, team_id: 1, next_run: null, fired: 4, skips: 3, last_error: "full" });
    },
    added: {
      pipelines: () => ({ scheduled_at: null, scheduled_timezone: null, chain: null }),
      schedules: () => ({ trigger_dataset_id: null, quiet_seconds: 60 }),
    },
  },
  {
    version: 15,
    title: "time limits and retries: no job has either, and what waits waits for slots only",
    before: async (db) => {
      const insert = inserter(db);
      const place = { uuid: "u", name: "d", created_at: time };
      await insert("namespaces", { ...place, team_id: 1 });
      await insert("projects", { ...place, namespace_id: 1 });
      await insert("datasets", { ...place, team_id: 1, project_id: 1, attrs: "[]" });
      await db.updateTable("schedules").set({ trigger_dataset_id: 1, quiet_seconds: 5 }).execute();
      const notice = { schedule_id: 1, team_id: 1, version: "d@1.0.0", chain: "[1]", noticed_at: time };
      await insert("schedule_notices", { ...notice, due_at: nextRun });
      await insert("job_chains", { job_id: ids.ended, chain: "[1]" });
      const span = { cron_expression: "@daily", timezone: "UTC", from_moment: time, to_moment: time, total: 1 };
      const rules = { parallel: 2, on_failure: "stop", status: "FAILED", last_error: "full", finished_at: time };
      await insert("backfills", { ...made, ...span, ...rules, pipeline_id: "p", source_name: "river-mill" });
      await insert("backfill_moments", { backfill_id: 1, position: 0, moment: time, pipeline_id: "p" });
      const at = { scheduled_at: time, scheduled_timezone: "Europe/Berlin", chain: "[1]" };
      await db.updateTable("pipelines").set(at).execute();
      await insert("jobs", job(running, "RUNNING", "sleep 1", { attempt: 1 }));
      const attempt = { job_id: running, team_id: 1, attempt: 1, cluster_id: 1, slots: 1, created_at: time };
      await insert("attempts", { ...attempt, server_id: "s", boot_id: "b", store_bytes: 5, store_peak: 6 });
    },
    added: {
      teams: () => ({ job_timeout: null, job_retries: null, job_retry_delay: null }),
      attempts: () => ({ timeout: null }),
      jobs: () => ({ retried: 0 }),
      queue: () => ({ not_before: "" }),
    },
  },
  {
    version: 16,
    title: "webhooks: nobody is told of what happened before",
    before: async (db) => {
      const insert = inserter(db);
      await db.updateTable("attempts").set({ timeout: 60 }).execute();
      await db.updateTable("teams").set({ job_timeout: 60, job_retries: 2, job_retry_delay: 5 }).execute();
      await insert("jobs", job(retried, "QUEUED", "echo later", { attempt: 1, retried: 1 }));
      const ended = { job_id: retried, attempt: 1, exit_code: 3, error_message: "e", error_stack: "s" };
      await insert("ended_attempts", { ...ended, started_at: time, finished_at: time, next_at: nextRun });
      const queue = { job_id: retried, team_id: 1, cluster_id: 1, priority: 5, slots: 1, passed_over: 0 };
      await insert("queue", { ...queue, not_before: nextRun });
    },
    added: {},
  },
  {
    version: 17,
    title: "skips that were told one by one: what was skipped before counts as told",
    before: async (db) => {
      const insert = inserter(db);
      const receiver = {
        team_id: 1,
        kind: "mail",
        address: "a@example.com",
        secret: "",
        format: "json",
        method: "POST",
      };
      const wishes = { verify_tls: 1, events: '["job.failure"]', job_statuses: "[]", wanted: " job:FAILED " };
      const fate = { failures: 2, rests_until: nextRun, dropped: 1, created_at: time, updated_at: time };
      await insert("receivers", { ...receiver, ...wishes, ...fate });
      await insert("outbox", { team_id: 1, kind: "job", subject: ids.ended, status: "FAILED", message: "m" });
      const delivery = { id: retried, team_id: 1, receiver_id: 1, kind: "JOB", event: "job.failure", title: "t" };
      const sending = { body: "b", status: "pending", attempts: 2, next_at: nextRun, error: "away", created_at: time };
      await insert("deliveries", { ...delivery, ...sending });
      await insert("failing", { team_id: 1, subject: "task 1", since: time });
      await db.updateTable("schedules").set({ skips: 9, skips_in_row: 3, skip_reason: "busy" }).execute();
    },
    added: { schedules: ({ skips }) => ({ skip_told_on: null, skips_told: skips }) },
  },
  {
    version: 18,
    title: "variables that no quota counted: where they are long they count from now on",
    before: async (db) => {
      await db.updateTable("schedules").set({ skip_told_on: "2030-01-01", skips_told: 2 }).execute();
      const insert = inserter(db);
      await insert("jobs", job(long, "COMPLETE", "echo long", { finished_at: time, environment: "e".repeat(9000) }));
      await db.updateTable("jobs").set({ texts_settled_at: time }).where("id", "=", long).execute();
    },
    added: {
      jobs: ({ id, texts_settled_at }) => ({ texts_settled_at: id === long ? null : texts_settled_at }),
      team_usage: ({ team_id, texts }) => ({ texts: (texts as number) + (team_id === 1 ? 9000 : 0) }),
    },
  },
  {
    version: 19,
    title: "attempts that their engine answered nothing of: their key is enough",
    before: async () => {},
    added: { attempts: () => ({ handle: null }) },
  },
  {
    version: 20,
    title: "jobs that wait for their files: none did, and retries wait on",
    before: async () => {},
    added: { queue: () => ({ waits_for: "" }) },
  },
  {
    version: 21,
    title: "reads that are bounded: only indexes",
    before: async () => {},
    added: {},
  },
  {
    version: 22,
    title: "clusters that administrators manage: the existing one stays as it is, for all teams",
    before: async () => {},
    added: {
      clusters: () => ({ state: "ACTIVE", options: "{}", secrets: "", is_shared: 1, shares_unisolated: 0 }),
      teams: () => ({ default_cluster_id: null }),
    },
  },
  {
    version: 23,
    title: "lookups by owner: only indexes",
    before: async () => {},
    added: {},
  },
  {
    version: 24,
    title: "backfills that are canceled in several writes: none is being canceled",
    before: async () => {},
    added: { backfills: () => ({ canceling: null }) },
  },
  {
    version: 25,
    title: "schedules whose many pipelines are paused or resumed in several writes: none is",
    before: async () => {},
    added: { schedules: () => ({ switching: null }) },
  },
  {
    version: 26,
    title: "jobs that remember the token with which they were created: existing ones remember none",
    before: async () => {},
    added: { jobs: () => ({ token_id: null }) },
  },
];

async function dumpOf({ db }: Store): Promise<Dump> {
  const dump = new Map<string, readonly Row[]>();
  for (const { name } of await db.introspection.getTables())
    if (name !== "schema_version")
      dump.set(
        name,
        await db
          .selectFrom(name as "users")
          .selectAll()
          .execute(),
      );
  return dump;
}

/** Rows as a set: a database may return them in any order. */
const asSet = (rows: readonly Row[]) => rows.map((row) => JSON.stringify(Object.entries(row).sort())).sort();

let postgres: TestPostgres;
let root: string;
before(async () => {
  postgres = await startPostgres();
  root = await mkdtemp(join(tmpdir(), "millrace-upgrade-steps-"));
});
after(async () => {
  await postgres?.stop();
  if (root) await rm(root, { recursive: true });
});

for (const kind of ["SQLite", "PostgreSQL"] as const)
  describe(`a store on ${kind}, step by step`, () => {
    let dataDir: string;
    let databaseUrl = "";
    before(async () => {
      dataDir = join(root, kind);
      if (kind === "PostgreSQL") databaseUrl = await postgres.createDatabase();
      await makeFirst(dataDir, databaseUrl);
    });

    const openAt = (version: number) =>
      openStore(storeIn(dataDir, databaseUrl), (db, dialect) => migrate(db, dialect, version));
    async function dumpAt(version: number, change: (db: Db) => Promise<unknown> = async () => {}): Promise<Dump> {
      const store = await openAt(version);
      try {
        await store.write(change);
        return await dumpOf(store);
      } finally {
        await store.close();
      }
    }

    for (const { version, title, before, added } of steps)
      it(`to version ${version} keeps every row. ${title}`, async () => {
        const old = await dumpAt(version - 1, before);
        const upgraded = await dumpAt(version);
        for (const [table, rows] of old) {
          const expected = rows.map((row) => ({ ...row, ...added[table]?.(row) }));
          assert.deepEqual(asSet(upgraded.get(table) ?? []), asSet(expected), table);
        }
        for (const [table, rows] of upgraded) if (!old.has(table)) assert.deepEqual(rows, [], table);
      });

    it("has gone through every existing step", () => {
      assert.equal(steps.at(-1)?.version, schemaVersion);
    });

    it("then runs: waiting jobs run, a task fires as the service account that it was handed to, everything is listed", async () => {
      await dumpAt(schemaVersion, async (db) => {
        await db.deleteFrom("attempts").execute();
        await db.updateTable("tasks").set({ next_run: time }).where("job_id", "=", ids.task).execute();
      });
      const settings = { PATH: process.env["PATH"], MILLRACE_DATA_DIR: dataDir, MILLRACE_DATABASE_URL: databaseUrl };
      const server = await startServer(readConfig({}, { ...settings, MILLRACE_PORT: "0" }), pino({ level: "silent" }));
      try {
        const token = await createAdminToken(server.store, {}, Date.now());
        const client = createClient({ url: server.url, token, team: "main" });
        assert.equal((await waitForEnd(client, ids.waiting)).status, "COMPLETE");
        const [fired] = await fireOf(client);
        assert.equal(fired?.created_by, "main-service");
        const { cron_expression, timezone, firings, quiet_seconds, owner } = await client.call(routes.getSchedule, {
          query: { schedule_id: 1 },
        });
        assert.deepEqual([cron_expression, timezone, quiet_seconds], ["30 2 * * *", "Europe/Berlin", 5]);
        assert.deepEqual(
          [owner.username, firings.map(({ outcome }) => outcome)],
          ["main-service", ["fired", "missed"]],
        );
      } finally {
        await server.stop();
      }
    });
  });

/** Returns the job of the task, once there is one. */
async function fireOf(client: ReturnType<typeof createClient>) {
  for (const deadline = Date.now() + 60_000; ; ) {
    const jobs = await client.call(routes.listJobs, { query: { parent_job_id: ids.task } });
    if (jobs.length > 0) return jobs;
    if (Date.now() > deadline) throw new Error("the task has not fired");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
