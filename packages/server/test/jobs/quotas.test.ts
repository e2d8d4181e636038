/** Quotas of teams: the number of waiting and of running jobs, independent of other teams. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type ApiError, type Client, type Job, routes } from "@millrace/contract";
import { createJob, runJob, shell, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { recordMade } from "@millrace/testing/millrace/lineage.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addTeam } from "../support/teams.ts";

describe("quotas of teams", () => {
  let server: InProcessServer;
  let main: Client;
  let gates: string;
  before(async () => {
    gates = await mkdtemp(join(tmpdir(), "millrace-gates-"));
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "4", MILLRACE_TEAM_QUEUED: "3" });
    main = await server.client();
  });
  after(async () => {
    await server.dispose();
    await rm(gates, { recursive: true });
  });

  /** A job that ends when its gate is opened. */
  const waiting = (gate: string) => shell(`while [ ! -e ${join(gates, gate)} ]; do sleep 0.05; done`);
  const open = (gate: string) => writeFile(join(gates, gate), "");
  const running = async (client: Client) =>
    (await client.call(routes.listJobs, { query: { status: ["INIT", "RUNNING"] } })).length;
  const attempts = async (teamName: string) =>
    (
      await server.store.db
        .selectFrom("attempts")
        .innerJoin("teams", "teams.id", "attempts.team_id")
        .select("job_id")
        .where("teams.name", "=", teamName)
        .execute()
    ).length;

  it("beyond max_queued creation is refused with the quota, the number and the next step; nothing is created", async () => {
    const blocker = await createJob(main, { ...waiting("full"), workers: 4 });
    await waitForStatus(main, blocker.id, ["RUNNING"]);
    for (let i = 0; i < 3; i++) await createJob(main, shell(":"));
    const response = await server.fetch("/api/datachain/jobs/", { json: shell(":", { query_name: "fourth" }) });
    assert.equal(response.status, 429);
    assert.ok(Number(response.headers.get("retry-after")) > 0);
    const { message, code } = (await response.json()) as { message: string; code: string };
    assert.equal(code, "too_many_requests");
    assert.match(message, /team main has 3 jobs waiting, its quota \(max_queued\)\. .*cancel some/);
    assert.deepEqual(await main.call(routes.listJobs, { query: { name: "fourth" } }), []);
    await open("full");
    await runUntilEmpty(main);
    await runJob(main, shell(":"));
  });

  it("concurrent creations never exceed the queue quota", async () => {
    const team = await addTeam(server, "rush", { max_queued: 5, max_running: 1 });
    const first = await createJob(team, waiting("rush"));
    await waitForStatus(team, first.id, ["RUNNING"]);
    const results = await Promise.allSettled([...Array(20)].map(() => createJob(team, shell(":"))));
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 5);
    await open("rush");
    await runUntilEmpty(team);
  });

  it("a repeated creation with the same key returns the first job, even if the queue is full", async () => {
    const team = await addTeam(server, "again", { max_queued: 1, max_running: 1 });
    const blocker = await createJob(team, waiting("again"));
    await waitForStatus(team, blocker.id, ["RUNNING"]);
    const headers = { "idempotency-key": "once" };
    const create = () => team.call(routes.createJob, { body: shell(":") }, { headers });
    assert.equal((await create()).id, (await create()).id);
    await open("again");
    await runUntilEmpty(team);
  });

  it("beyond max_tasks and max_schedules, set by an administrator, creation is refused with the quota and the next step", async () => {
    const team = await addTeam(server, "timed");
    const params = { team_name: "timed" };
    const set = (body: object) => main.call(routes.updateTeam, { params, body });
    const { max_tasks, max_schedules } = await set({ max_tasks: 1, max_schedules: 1 });
    assert.deepEqual([max_tasks, max_schedules], [1, 1]);
    const task = () => createJob(team, shell(":", { cron_expression: "@yearly" }));
    const first = await task();
    const isRefused = (message: RegExp) => (error: ApiError) =>
      error.code === "wrong_state" && message.test(error.message);
    await assert.rejects(task(), isRefused(/team timed has 1 tasks .*\(max_tasks, .*Cancel tasks/));
    await createJob(team, shell(":"));
    const { id } = await server.store.db
      .selectFrom("teams")
      .select("id")
      .where("name", "=", "timed")
      .executeTakeFirstOrThrow();
    await recordMade(server.store, first.id, "made", { teamId: id });
    const body = { datasets: ["made"], review: true };
    const { pipeline } = await team.call(routes.triggerPipeline, { body });
    const schedule = (schedule_name: string) =>
      team.call(routes.createSchedule, {
        body: { schedule_name, pipeline_name: pipeline.name, cron_expression: "@yearly" },
      });
    const { schedule: only } = await schedule("first");
    await assert.rejects(schedule("second"), isRefused(/team timed has 1 schedules, .*Delete schedules/));
    await team.call(routes.deleteSchedule, { body: { schedule_id: only.id } });
    await team.call(routes.cancelJob, { params: { job_id: first.id }, body: {} });
    await Promise.all([task(), schedule("second")]);
  });

  it("0 means no limit, and a team's own quota overrides the server's", async () => {
    const team = await addTeam(server, "free", { max_queued: 0, max_running: 1 });
    for (let i = 0; i < 8; i++) await createJob(team, shell(":"));
    await runUntilEmpty(team);
  });

  it("never more than max_running jobs run; the rest waits and delays nobody, however many there are", async () => {
    const busy = await addTeam(server, "busy", { max_running: 1, max_queued: 0 });
    const other = await addTeam(server, "other");
    const jobs: Job[] = [];
    for (let i = 0; i < 40; i++) jobs.push(await createJob(busy, { ...waiting("busy"), priority: 0 }));
    await waitForStatus(busy, jobs[0]?.id ?? "", ["RUNNING"]);
    for (let i = 0; i < 5; i++) {
      await runJob(other, shell(":"));
      assert.equal(await attempts("busy"), 1);
    }
    assert.equal(await running(busy), 1);
    let most = 0;
    await open("busy");
    for (;;) {
      most = Math.max(most, await attempts("busy"));
      if ((await busy.call(routes.listJobs, { query: { status: ["ACTIVE"], limit: 1 } })).length === 0) break;
    }
    assert.equal(most, 1);
    for (const { id } of jobs) assert.equal((await waitForEnd(busy, id)).status, "COMPLETE");
  });

  it("a tick of a task that finds the queue full is skipped and counted, and the task continues", async () => {
    const team = await addTeam(server, "tasks", { max_queued: 1, max_running: 1 });
    const blocker = await createJob(team, waiting("tasks"));
    await waitForStatus(team, blocker.id, ["RUNNING"]);
    await createJob(team, shell(":"));
    const task = await createJob(team, shell(":", { cron_expression: "@daily" }));
    const once = await createJob(team, shell(":", { start_after: new Date(Date.now() - 1000).toISOString() }));
    const due = () =>
      server.store.write((db) =>
        db.updateTable("tasks").set({ next_run: "2020-01-01T00:00:00.000Z" }).where("job_id", "=", task.id).execute(),
      );
    await due();
    const text = async () => (await server.fetch("/metrics")).text();
    while (!/ticks_skipped_total\{team="tasks"\} [2-9]/.test(await text()));
    const firings = (parent: string) => team.call(routes.listJobs, { query: { parent_job_id: parent } });
    assert.deepEqual([await firings(task.id), await firings(once.id)], [[], []]);
    const [shown] = await team.call(routes.listJobs, { query: { job_id: task.id } });
    assert.equal(shown?.status, "TASK");
    assert.ok(Date.parse(shown?.next_run ?? "") > Date.now(), "the next tick is ahead");
    await open("tasks");
    await runUntilEmpty(team);
    await due();
    while ((await firings(task.id)).length === 0);
    const [late] = await team.call(routes.listJobs, { query: { job_id: once.id } });
    assert.equal(late?.status, "TASK", "one that fires once waits for room instead of firing never");
  });

  async function runUntilEmpty(client: Client): Promise<void> {
    for (;;) {
      const active = await client.call(routes.listJobs, { query: { status: ["ACTIVE"] } });
      if (active.length === 0) return;
      for (const { id } of active) await waitForEnd(client, id);
    }
  }
});
