/**
 * On PostgreSQL writes lock rows in one order (ARCHITECTURE.md), so that none is rolled back for the sake of another.
 * Each test holds a pipeline until the other write waits for a row or is done, and only then touches the runs.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { JobStatus } from "@millrace/contract";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";
import { sql } from "kysely";
import { pino } from "pino";
import { audit, operator } from "../../src/domain/access/audit.ts";
import type { Call } from "../../src/domain/access/call.ts";
import { cancelJob, type JobsContext } from "../../src/domain/jobs/jobs.ts";
import { cancelPipelineRuns, endJob } from "../../src/domain/lifecycle/end-job.ts";
import { prepareLocalCluster, prepareStore } from "../../src/domain/lifecycle/first-start.ts";
import { newJobId } from "../../src/domain/lifecycle/job-ids.ts";
import { endForeignAttempts } from "../../src/domain/lifecycle/lost-attempts.ts";
import { handOverWork } from "../../src/domain/ownership/succession.ts";
import { makeTemplate } from "../../src/domain/pipelines/new-pipeline.ts";
import { type SchedulesContext, updateTeamSchedule } from "../../src/domain/schedules/schedules.ts";
import { iso } from "../../src/domain/time/clock.ts";
import type { Engine } from "../../src/engines/engine.ts";
import { Engines } from "../../src/engines/registry.ts";
import { type ClaimContext, type Claims, claimJobs, failRefused } from "../../src/execution/claim.ts";
import { acceptResults, type EndContext } from "../../src/execution/end-attempt.ts";
import { ServerMetrics } from "../../src/metrics/server-metrics.ts";
import type { Db, Store } from "../../src/store/drivers/store.ts";
import { WriteConflict } from "../../src/store/drivers/unavailable.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { openAttempt } from "../../src/store/queries/jobs/attempts.ts";
import { activeClusters, type ClusterRow } from "../../src/store/queries/jobs/clusters.ts";
import { moveFreeJobs } from "../../src/store/queries/jobs/job-moves.ts";
import { getJob } from "../../src/store/queries/jobs/jobs.ts";
import { dequeue, requeueAs } from "../../src/store/queries/jobs/queue.ts";
import { insertMembership } from "../../src/store/queries/people/memberships.ts";
import { findUser, insertUser } from "../../src/store/queries/people/users.ts";
import {
  getPipeline,
  insertPipeline,
  lockPipeline,
  runsOf,
  updatePipeline,
} from "../../src/store/queries/pipelines/pipelines.ts";
import { insertSchedule, lockSchedule } from "../../src/store/queries/schedules/schedules.ts";
import { Signals } from "../../src/turns/signals.ts";
import { type Built, blankPipeline, buildPipeline, builtKeys as keys, now } from "../support/built-pipelines.ts";
import { blobsIn } from "../support/folder-blobs.ts";
import { noQuotas } from "../support/quotas.ts";

describe("the order of locks on PostgreSQL", { timeout: 300_000 }, () => {
  let postgres: TestPostgres;
  /** Counts its writes: one that is rolled back and tried again has begun more often than it has ended. */
  let store: Store;
  const writes = { begun: 0, ended: 0 };
  before(async () => {
    postgres = await startPostgres();
    const opened = await openStore(storeIn("", await postgres.createDatabase()));
    await prepareStore(opened, now);
    await prepareLocalCluster(opened, 4, "none");
    const write: Store["write"] = (work) => {
      const writing = opened.write((db) => {
        writes.begun++;
        return work(db);
      });
      return writing.finally(() => writes.ended++);
    };
    store = { ...opened, write };
  });
  after(async () => {
    metrics.close();
    await store?.close();
    await postgres?.stop();
  });

  const metrics = new ServerMetrics();
  const signals = new Signals();
  const clock = { now: () => now, monotonic: () => now };
  const log = pino({ level: "silent" });
  const team = { id: 1, name: "main", role: "admin" } as const;
  const call = { actor: operator, team, principal: { isAdmin: true, via: { kind: "token" } } } as unknown as Call;
  const endContext = (): EndContext => ({ store, signals, log, metrics, clock });

  const draftOf = async ({ row }: Built, name: string) =>
    (await runsOf(store.db, row.id)).find((run) => run.name === name)?.created_job_id ?? assert.fail(`no run ${name}`);
  const statusOf = async (id: string) => (await getJob(store.db, id))?.status;
  const waitingForLocks = async () => {
    const query = sql<{ count: number }>`select count(*) as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    return (await query.execute(store.db)).rows[0]?.count ?? 0;
  };

  /** As if a server had started it; `server_id` is that server's. */
  async function begin(id: string, status: JobStatus, server_id = "here"): Promise<void> {
    await store.write(async (db) => {
      await dequeue(db, id);
      await db.updateTable("jobs").set({ status, attempt: 1 }).where("id", "=", id).execute();
      const held = { cluster_id: 1, slots: 1, server_id, boot_id: "b", signalled_at: null, created_at: iso(now) };
      await openAttempt(db, { job_id: id, team_id: 1, attempt: 1, ...held });
    });
  }

  /** Locks rows, begins the other write, and does the rest of the work when that one waits for a row, or is done. */
  async function meet(
    lock: (db: Db) => Promise<unknown>,
    other: () => Promise<unknown>,
    work: (db: Db) => Promise<unknown>,
  ): Promise<void> {
    let running: Promise<unknown> | undefined;
    await store.write(async (db) => {
      await lock(db);
      let isDone = false;
      running ??= other().finally(() => {
        isDone = true;
      });
      running.catch(() => {});
      while (!isDone && (await waitingForLocks()) === 0) await sleep(5);
      await work(db);
    });
    await running;
  }

  /** The same, where nothing may be rolled back. */
  async function meetOnce(...meeting: Parameters<typeof meet>): Promise<void> {
    const before = { ...writes };
    await meet(...meeting);
    const [begun, ended] = [writes.begun - before.begun, writes.ended - before.ended];
    assert.equal(begun, ended, `${begun - ended} writes were rolled back and tried again`);
  }

  const whileCanceled = ({ row }: Built, other: () => Promise<unknown>) =>
    meetOnce(
      (db) => lockPipeline(db, row.id),
      other,
      (db) => cancelPipelineRuns(db, row.id, now),
    );

  for (const status of ["COMPLETE", "FAILED"] as const) {
    it(`a pipeline is canceled while one of its runs ends, ${status}`, async () => {
      const built = await buildPipeline(store, { a: [], b: [], below: ["a"] });
      const a = await draftOf(built, "a");
      await begin(a, "RUNNING");
      const result = { fence: { id: a, attempt: 1 }, status, signalled: false, inPipeline: true, changes: {} };
      await whileCanceled(built, () => acceptResults(endContext(), [result]));
      assert.equal(await statusOf(a), status);
      const row = await getPipeline(store.db, built.row.id);
      assert.deepEqual([row?.status, row?.open_runs], ["CANCELED", 0]);
    });
  }

  it("a pipeline is canceled while results of it and of another one are accepted together", async () => {
    const [first, second] = [
      await buildPipeline(store, { a: [], b: [] }),
      await buildPipeline(store, { a: [], b: [] }),
    ];
    const ids = [await draftOf(second, "a"), await draftOf(first, "a")];
    for (const id of ids) await begin(id, "RUNNING");
    const results = ids.map((id) => ({ fence: { id, attempt: 1 }, status: "COMPLETE", signalled: false, changes: {} }));
    await whileCanceled(first, () => acceptResults(endContext(), results as never));
    assert.deepEqual(await Promise.all(ids.map(statusOf)), ["COMPLETE", "COMPLETE"]);
  });

  it("a pipeline is canceled while a run of it that waits is canceled by itself", async () => {
    const built = await buildPipeline(store, { a: [], b: [] });
    const a = await draftOf(built, "a");
    const canceled = () => cancelJob({ store, signals } as unknown as JobsContext, { actor: operator, team }, a, now);
    // Canceled with its pipeline, it has nothing left to cancel.
    await whileCanceled(built, () => assert.rejects(canceled(), /is CANCELED; only a job/));
    assert.equal(await statusOf(a), "CANCELED");
  });

  it("a pipeline is canceled while a run that another server left is found to be lost", async () => {
    const built = await buildPipeline(store, { a: [], b: [] });
    const a = await draftOf(built, "a");
    await begin(a, "RUNNING", "elsewhere");
    await whileCanceled(built, () => endForeignAttempts(store, "here", now));
    assert.equal(await statusOf(a), "FAILED");
  });

  const emptyCluster = () =>
    store.write(async (db) => {
      await db.deleteFrom("queue").execute();
      await db.deleteFrom("attempts").execute();
    });
  // These jobs have no files, so the folder is never read.
  const blobs = blobsIn("unused");
  interface Claiming {
    readonly quotas?: ClaimContext["quotas"];
    readonly cluster?: ClusterRow;
  }
  async function claim({ quotas = noQuotas, cluster }: Claiming = {}, beforeCommit = async () => {}): Promise<Claims> {
    const [first] = (await activeClusters(store.db)) as [ClusterRow];
    const engines = new Engines([first, cluster ?? first].map(({ id }) => [id, { epoch: "" } as Engine]));
    const context: ClaimContext = { clock, engines, keys, serverId: "here", signals, quotas, blobs };
    return store.write(async (db) => {
      const claims = await claimJobs(db, context, cluster ?? first);
      await beforeCommit();
      return claims;
    });
  }

  it("a claim takes a limited number of jobs, however many slots are free", async () => {
    await emptyCluster();
    const shape = Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`run-${index}`, []]));
    await buildPipeline(store, shape);
    const slots = (max_workers: number) =>
      store.write((db) => db.updateTable("clusters").set({ max_workers }).where("id", "=", 1).execute());
    const { max_workers } = await store.db.selectFrom("clusters").select("max_workers").executeTakeFirstOrThrow();
    await slots(1000);
    assert.deepEqual([(await claim()).claimed.length, (await claim()).claimed.length], [100, 20]);
    await slots(max_workers);
    await emptyCluster();
  });

  it("claims for several clusters at the same moment keep the quota of a team together", async () => {
    await emptyCluster();
    const built = [await buildPipeline(store, { a: [] }), await buildPipeline(store, { b: [] })];
    const [one] = (await activeClusters(store.db)) as [ClusterRow];
    const other = { ...one, name: "other", is_default: 0, id: undefined };
    const two = await store.write(async (db) => {
      const row = await db.insertInto("clusters").values(other).returningAll().executeTakeFirstOrThrow();
      const moved = await draftOf(built[1] as (typeof built)[number], "b");
      await db.updateTable("queue").set({ cluster_id: row.id }).where("job_id", "=", moved).execute();
      return row;
    });
    const quotas = { ...noQuotas, running: 1 };
    const { promise: second, resolve } = Promise.withResolvers<Claims>();
    const first = await claim({ quotas }, async () => {
      // The second begins before the first is committed, and ends or waits.
      const beginning = claim({ quotas, cluster: two });
      beginning.then(resolve);
      await Promise.race([beginning, someClaimWaits()]);
    });
    assert.deepEqual([first.claimed.length, (await second).claimed.length], [1, 0]);
    await emptyCluster();
    await store.write((db) => db.deleteFrom("clusters").where("id", "=", two.id).execute());
  });

  /** Resolves when a claim waits for another one. */
  async function someClaimWaits(): Promise<void> {
    const waiting = sql`select 1 from pg_locks where locktype = 'advisory' and not granted`;
    while ((await waiting.execute(store.db)).rows.length === 0) await sleep(5);
  }

  it("a claim takes what is free, and waits for no row that somebody else is about to change", async () => {
    await emptyCluster();
    const specs = { wide: { workers: 4 } };
    const built = await buildPipeline(store, { first: [], held: [], wide: [], last: [] }, { specs });
    const idOf = (name: string) => draftOf(built, name);
    const [first, held, wide] = [await idOf("first"), await idOf("held"), await idOf("wide")];
    let claimed: string[] = [];
    await meetOnce(
      (db) => requeueAs(db, [held, wide], { priority: 5, slots: 4 }),
      async () => {
        claimed = (await claim()).claimed.map(({ job }) => job.id);
      },
      (db) => requeueAs(db, [first], { priority: 5, slots: 1 }),
    );
    assert.deepEqual(claimed, [first, await idOf("last")]);
  });

  it("jobs are shown as waiting except those that somebody else is about to change", async () => {
    const built = await buildPipeline(store, { a: [], b: [] });
    const [a, b] = [await draftOf(built, "a"), await draftOf(built, "b")];
    const hold = (id: string) => (db: Db) => db.updateTable("jobs").set({ steps: "[]" }).where("id", "=", id).execute();
    const show = () =>
      store.write((db) => moveFreeJobs(db, { ids: [a, b], from: ["CREATED"], to: "QUEUED" })).then(() => {});
    await meetOnce(hold(b), show, hold(a));
    assert.deepEqual([await statusOf(a), await statusOf(b)], ["QUEUED", "CREATED"]);
  });

  it("a pipeline is canceled while one of its runs is claimed, and another cannot start", async () => {
    await emptyCluster();
    const specs = { b: { credentials_name: "none such", credentials_names: ["none such"] } };
    const built = await buildPipeline(store, { a: [], b: [], c: [] }, { specs });
    const dispatch = async () => {
      const { refused } = await claim();
      assert.deepEqual(
        refused.map(({ id }) => id),
        [await draftOf(built, "b")],
      );
      for (const job of refused) await store.write((db) => failRefused(db, job, now));
    };
    await whileCanceled(built, dispatch);
    const states = (await runsOf(store.db, built.row.id)).map(({ name, status }) => [name, status]);
    assert.deepEqual(states, [
      ["a", "CANCELING"],
      ["b", "CANCELED"],
      ["c", "CANCELING"],
    ]);
  });

  /** A schedule with a pipeline that it fired. */
  async function scheduled() {
    const fired = await buildPipeline(store, { last: [] });
    const common = {
      team_id: 1,
      user_id: 1,
      name: newJobId(now),
      timezone: "UTC",
      is_paused: 0,
      next_run: null,
    } as const;
    const rest = {
      cron_expression: "@daily",
      overlap: "allow",
      catch_up: "one",
      fired: 1,
      created_at: iso(now),
      updated_at: iso(now),
    } as const;
    const id = await store.write(async (db) => {
      const template = await makeTemplate({ db, now }, keys, fired.row, null);
      const made = await insertSchedule(db, { ...common, ...rest, pipeline_id: template });
      await updatePipeline(db, fired.row.id, { schedule_id: made ?? null });
      return made ?? assert.fail("no schedule");
    });
    const pause = () => {
      const context = { store, keys, signals, quotas: noQuotas } as unknown as SchedulesContext;
      return updateTeamSchedule(context, call, { schedule_id: id, pause_pipeline: true } as never, now);
    };
    return { id, fired, pause };
  }

  it("a schedule is paused while one of its pipelines ends", async () => {
    const { fired, pause } = await scheduled();
    const last = await draftOf(fired, "last");
    await begin(last, "RUNNING");
    await meetOnce(
      (db) => lockPipeline(db, fired.row.id),
      pause,
      (db) => endJob(db, { id: last, from: ["RUNNING"], to: "FAILED" }, now),
    );
    assert.equal((await getPipeline(store.db, fired.row.id))?.status, "FAILED");
  });

  it("a schedule that fires while it is being paused is paused with the new pipeline", async () => {
    const { id, pause } = await scheduled();
    const started = {
      ...blankPipeline,
      id: newJobId(now),
      name: newJobId(now),
      open_runs: 1,
      schedule_id: id,
    } as const;
    await meet(
      (db) => lockSchedule(db, id),
      pause,
      (db) => insertPipeline(db, { ...started, status: "RUNNING" }),
    );
    assert.equal((await getPipeline(store.db, started.id))?.status, "PAUSED");
  });

  it("work is handed over while a pipeline is changed by whom it is taken from", async () => {
    const person = { first_name: "", last_name: "", is_admin: 0, created_at: iso(now) };
    await store.write(async (db) => {
      const id = await insertUser(db, { username: "next", ...person });
      await insertMembership(db, 1, id ?? 0, "editor");
    });
    const built = await buildPipeline(store, { a: [] }, { status: "PAUSED" });
    const leaver = (await findUser(store.db, "admin")) ?? assert.fail("no user");
    const handover = { leaver, teamId: undefined, successor: "next", force: true };
    await meetOnce(
      (db) => lockPipeline(db, built.row.id),
      () => store.write((db) => handOverWork({ db, now, actor: operator }, call.principal, handover)),
      (db) => audit(db, { ...operator, userId: leaver.id }, { action: "pipeline.pause", team, target: "it" }, now),
    );
    const owner = await findUser(store.db, "next");
    assert.equal((await getJob(store.db, await draftOf(built, "a")))?.user_id, owner?.id);
  });

  it("of two writes that wait for each other all the same, one is rolled back and tried again: both are made", async () => {
    const [one, two] = [await buildPipeline(store, { a: [] }), await buildPipeline(store, { a: [] })];
    const mark = (db: Db, { row }: Built, name: string) => updatePipeline(db, row.id, { triggered_from: name });
    await meet(
      (db) => mark(db, one, "first"),
      () =>
        store.write(async (db) => {
          await mark(db, two, "second");
          await mark(db, one, "second");
        }),
      (db) => mark(db, two, "first"),
    );
    const marks = await Promise.all(
      [one, two].map(async ({ row }) => (await getPipeline(store.db, row.id))?.triggered_from),
    );
    assert.equal(new Set(marks).size, 1, `one came after the other: ${marks}`);
  });

  it("a write that is rolled back five times is given up, and says so", async () => {
    let tries = 0;
    const write = store.write(async (db) => {
      tries++;
      await sql`do $$ begin raise exception 'deadlock detected' using errcode = '40P01'; end $$`.execute(db);
    });
    await assert.rejects(write, (error) => error instanceof WriteConflict && /deadlock detected/.test(error.message));
    assert.equal(tries, 5);
  });
});
