/** Store conformance for retries: part of the suite that runs on SQLite and on PostgreSQL. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { JobStatus, PipelineStatus } from "@millrace/contract";
import { pino } from "pino";
import { operator } from "../../src/domain/access/audit.ts";
import { cancelJob, type JobsContext } from "../../src/domain/jobs/jobs.ts";
import { newJobId } from "../../src/domain/lifecycle/job-ids.ts";
import { planRetry, readAttempts } from "../../src/domain/lifecycle/retries.ts";
import { day, iso } from "../../src/domain/time/clock.ts";
import { acceptResults, type EndContext } from "../../src/execution/end-attempt.ts";
import { beginRetries } from "../../src/loops/begin-retries.ts";
import { ServerMetrics } from "../../src/metrics/server-metrics.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { openAttempt } from "../../src/store/queries/jobs/attempts.ts";
import { endedAttempts } from "../../src/store/queries/jobs/ended-attempts.ts";
import { moveJob } from "../../src/store/queries/jobs/job-moves.ts";
import { getJob, insertJob } from "../../src/store/queries/jobs/jobs.ts";
import { headOfQueue, headOfQueueWithout, releaseRetry, waitingForRetry } from "../../src/store/queries/jobs/queue.ts";
import { getPipeline, insertPipeline } from "../../src/store/queries/pipelines/pipelines.ts";
import { Signals } from "../../src/turns/signals.ts";
import { chances, mortal } from "../support/mortal-servers.ts";

const now = Date.UTC(2030, 0, 1);
const minute = 60_000;
const failure = { exit_code: 1, error_message: "why", error_stack: null, finished_at: null };

export function retryConformance(open: () => Store): void {
  const metrics = new ServerMetrics();
  metrics.close();
  const log = pino({ level: "silent" });

  interface Wishes {
    readonly status?: JobStatus;
    readonly retries?: number;
    readonly pipeline_id?: string;
  }

  /** Creates a job whose first attempt runs. */
  async function running({ status = "RUNNING", retries = 3, pipeline_id }: Wishes = {}) {
    const id = newJobId(now);
    await open().write(async (db) => {
      await insertJob(db, {
        ...{ id, team_id: 1, user_id: 1, cluster_id: 1, name: "n", status, attempt: 1 },
        ...{ spec: JSON.stringify({ tags: [], retries, retry_delay: 60, workers: 1, priority: 5 }), environment: "" },
        ...{ secrets: "", scopes: "[]", metrics: "{}", created_at: iso(now), started_at: iso(now) },
        ...(pipeline_id === undefined ? {} : { pipeline_id }),
      });
      const held = { cluster_id: 1, slots: 1, server_id: "here", boot_id: "b", signalled_at: null };
      await openAttempt(db, { job_id: id, team_id: 1, attempt: 1, created_at: iso(now), ...held });
    });
    return { id };
  }
  const plan = (id: string, at = now) =>
    open().write(async (db) => {
      const job = await getJob(db, id);
      return job ? planRetry(db, job, failure, at) : false;
    });
  const statusOf = async (id: string) => (await getJob(open().db, id))?.status;
  const waits = async (id: string) => (await waitingForRetry(open().db, 1000)).find(({ job_id }) => job_id === id);
  const isAtHead = async (id: string) => (await headOfQueue(open().db, 1, 1000)).some(({ job_id }) => job_id === id);
  const endContext = (store: Store): EndContext => ({
    ...{ store, signals: new Signals(), log, metrics, clock: { now: () => now, monotonic: () => now } },
  });

  it("hides a job that waits for a retry from dispatch, until it is released, once", async () => {
    const { id } = await running();
    assert.equal(await plan(id), true);
    const notBefore = iso(now + minute);
    assert.deepEqual([await waits(id), await isAtHead(id)], [{ job_id: id, not_before: notBefore }, false]);
    const { db } = open();
    assert.ok((await headOfQueueWithout(db, 1, 1000, [999])).every(({ job_id }) => job_id !== id));
    const releases = await Promise.all([...Array(4)].map(() => open().write((w) => releaseRetry(w, id, notBefore))));
    assert.equal(releases.filter(Boolean).length, 1);
    assert.deepEqual([await waits(id), await isAtHead(id)], [undefined, true]);
  });

  it("plans one retry for one failure, however many servers accept it", async () => {
    const { id } = await running();
    const result = { fence: { id, attempt: 1 }, status: "FAILED", signalled: false, changes: failure } as const;
    await Promise.all([...Array(4)].map(() => acceptResults(endContext(open()), [result])));
    const job = await getJob(open().db, id);
    assert.deepEqual([job?.status, job?.retried, job?.attempt], ["QUEUED", 1, 1]);
    assert.equal((await endedAttempts(open().db, id)).length, 1);
  });

  it("has either the open attempt or its end with the next one planned, wherever a server dies", async () => {
    const chance = chances(400);
    for (let round = 0; round < 30; round++) {
      const { id } = await running();
      const result = { fence: { id, attempt: 1 }, status: "FAILED", signalled: false, changes: failure } as const;
      await acceptResults(endContext(mortal(chance)(open()).store), [result]).catch(() => {});
      const { db } = open();
      const held = await db.selectFrom("attempts").select("job_id").where("job_id", "=", id).execute();
      const seen = [
        await statusOf(id),
        held.length,
        (await endedAttempts(db, id)).length,
        (await waits(id)) !== undefined,
      ];
      assert.deepEqual(seen, held.length === 1 ? ["RUNNING", 1, 0, false] : ["QUEUED", 0, 1, true]);
    }
  });

  it("doubles the delay before each retry, up to an hour, and plans none beyond the last", async () => {
    const { id } = await running({ retries: 9 });
    const waited: number[] = [];
    for (; await plan(id); ) {
      waited.push((Date.parse((await waits(id))?.not_before ?? "") - now) / minute);
      await open().write(async (db) => {
        await db.deleteFrom("queue").where("job_id", "=", id).execute();
        const attempt = ((await getJob(db, id))?.attempt ?? 0) + 1;
        await moveJob(db, { id, from: ["QUEUED"], to: "INIT", changes: { attempt, started_at: iso(now) } });
      });
    }
    assert.deepEqual(waited, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    const attempts = (await readAttempts(open().db, id))?.attempts ?? [];
    assert.deepEqual([attempts.length, attempts.at(-1)?.status], [10, "INIT"]);
  });

  it("plans none for a job that is being cancelled, and removes one that is cancelled while it waits", async () => {
    const { id } = await running({ status: "CANCELING" });
    assert.deepEqual([await plan(id), await statusOf(id), await waits(id)], [false, "CANCELING", undefined]);
    const waiting = await running();
    await plan(waiting.id);
    const context = { store: open(), signals: new Signals() } as unknown as JobsContext;
    await cancelJob(context, { actor: operator, team: { id: 1, name: "main", role: "admin" } }, waiting.id, now);
    assert.deepEqual([await statusOf(waiting.id), await waits(waiting.id)], ["CANCELED", undefined]);
  });

  const pipeline = async (status: PipelineStatus) => {
    const id = newJobId(now);
    const rest = {
      schedule_id: null,
      triggered_from: "",
      datasets: "[]",
      settings: "{}",
      environment: "",
      scopes: "[]",
    };
    const ends = { error_message: null, error_stack: null, finished_at: null };
    const times = { created_at: iso(now), updated_at: iso(now), ...ends };
    const row = { id, team_id: 1, user_id: 1, name: `retries ${id}`, status, is_template: 0, open_runs: 1 };
    await open().write((db) => insertPipeline(db, { ...row, ...rest, ...times }));
    return id;
  };

  it("leaves a pipeline unchanged while a run waits for its retry; paused, the run is a draft; ended, it has no retry", async () => {
    const seen: unknown[] = [];
    for (const status of ["RUNNING", "PAUSED", "FAILED", "CANCELED"] as const) {
      const pipeline_id = await pipeline(status);
      const { id } = await running({ pipeline_id });
      seen.push([await plan(id), await statusOf(id), (await waits(id)) !== undefined]);
      assert.equal((await getPipeline(open().db, pipeline_id))?.open_runs, 1);
    }
    assert.deepEqual(seen, [
      [true, "QUEUED", true],
      [true, "PENDING", false],
      [false, "RUNNING", false],
      [false, "RUNNING", false],
    ]);
  });

  it("starts a retry when its delay is over, even if the wall clock changes meanwhile", async () => {
    let passed = 0;
    let wrong = 0;
    const clock = { now: () => now + passed + wrong, monotonic: () => passed };
    const { id } = await running();
    await plan(id);
    const server = () => beginRetries({ store: open(), signals: new Signals(), clock });
    const loop = server();
    await loop.runOnce();
    for (wrong of [400 * day, -400 * day, 0]) await loop.runOnce();
    passed += minute - 1;
    await loop.runOnce();
    assert.equal(await isAtHead(id), false, "not early");
    passed += 1;
    wrong = -400 * day;
    await loop.runOnce();
    assert.equal(await isAtHead(id), true, "not late");
  });

  it("delays a retry by at most an hour if the clock was wrong when it was planned", async () => {
    let passed = 0;
    const clock = { now: () => now + passed, monotonic: () => passed };
    const { id } = await running();
    await plan(id, now + 400 * day);
    const loop = beginRetries({ store: open(), signals: new Signals(), clock });
    await loop.runOnce();
    assert.equal(await isAtHead(id), false);
    passed += 60 * minute;
    await loop.runOnce();
    assert.equal(await isAtHead(id), true);
  });
}
