/** Store conformance for schedules: part of the suite that runs on SQLite and on PostgreSQL. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { PipelineStatus } from "@millrace/contract";
import { pino } from "pino";
import { newJobId } from "../../src/domain/lifecycle/job-ids.ts";
import { day, iso } from "../../src/domain/time/clock.ts";
import { mendSchedules } from "../../src/loops/mend-times.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { insertTeam } from "../../src/store/queries/people/teams.ts";
import {
  deleteTemplate,
  getPipeline,
  insertPipeline,
  insertRuns,
  runsOf,
} from "../../src/store/queries/pipelines/pipelines.ts";
import {
  advanceSchedule,
  type DueSchedule,
  deleteSchedule,
  dueSchedules,
  findSchedule,
  insertSchedule,
  readySchedules,
  teamsWithDueSchedules,
  updateSchedule,
} from "../../src/store/queries/schedules/schedules.ts";

const now = Date.UTC(2030, 0, 1);

export function scheduleConformance(open: () => Store): void {
  let counter = 0;

  async function pipeline(status: PipelineStatus = "PENDING"): Promise<string> {
    const id = newJobId(now);
    const row = {
      id,
      team_id: 1,
      user_id: 1,
      name: `scheduled ${++counter}`,
      status,
      is_template: status === "PENDING" ? 1 : 0,
      open_runs: 0,
      schedule_id: null,
      triggered_from: "",
      datasets: "[]",
      settings: "{}",
      environment: "",
      scopes: "[]",
      error_message: null,
      error_stack: null,
      created_at: iso(now),
      updated_at: iso(now),
      finished_at: null,
    };
    await open().write((db) => insertPipeline(db, row));
    return id;
  }

  async function schedule(
    next_run: string | null,
    name = `schedule ${++counter}`,
    team_id = 1,
  ): Promise<number | undefined> {
    const row = { team_id, user_id: 1, name, pipeline_id: await pipeline(), timezone: "UTC", is_paused: 0 } as const;
    const rest = { overlap: "skip", catch_up: "one", fired: 0, created_at: iso(now), updated_at: iso(now) } as const;
    return open().write((db) => insertSchedule(db, { ...row, ...rest, next_run }));
  }

  async function due(at: number, page: number): Promise<number[]> {
    const ids: number[] = [];
    for (let last: DueSchedule | undefined; ; ) {
      const found = await dueSchedules(open().db, 1, iso(at), { after: last, limit: page });
      ids.push(...found.map(({ id }) => id));
      last = found.at(-1);
      if (found.length < page) return ids;
    }
  }

  it("has one schedule per name in a team, whoever comes first", async () => {
    const ids = await Promise.all([1, 2, 3].map(() => schedule(null, "one of three")));
    assert.equal(ids.filter((id) => id !== undefined).length, 1);
  });

  it("finds due schedules in order, page by page, without paused and finished ones", async () => {
    const ids = [];
    for (const next of [now + 1000, now, now, null, now + 5000])
      ids.push(await schedule(next === null ? null : iso(next)));
    const [third, first, second, , later] = ids;
    assert.deepEqual(await due(now + 1000, 2), [first, second, third]);
    assert.deepEqual(await due(now + 5000, 1), [first, second, third, later]);
    assert.deepEqual(await due(now - 1, 2), []);
    for (const id of ids) await open().write((db) => deleteSchedule(db, id as number));
  });

  it("gives a tick of a schedule to one caller", async () => {
    const id = (await schedule(iso(now))) as number;
    const take = () => open().write((db) => advanceSchedule(db, id, iso(now), iso(now + 60_000)));
    const takers = await Promise.all([take(), take(), take()]);
    assert.equal(takers.filter(Boolean).length, 1);
    assert.equal((await findSchedule(open().db, 1, id))?.next_run, iso(now + 60_000));
    assert.equal(await findSchedule(open().db, 2, id), undefined, "of another team");
  });

  it("corrects a schedule that a wrong clock moved far away, and no other", async () => {
    const clock = { now: () => now, monotonic: () => 0 };
    const far = iso(now + 400 * day);
    const ids: number[] = [];
    for (const [changes, expected] of [
      [{ cron_expression: "0 3 * * *", next_run: far }, iso(now + 3 * 3_600_000)],
      [{ cron_expression: "@yearly", next_run: iso(Date.UTC(2031, 0)) }, iso(Date.UTC(2031, 0))],
      [{ cron_expression: "@daily", start_after: far, next_run: far }, far],
      [{ start_after: far, next_run: far }, far],
      [{ start_after: iso(now - day), next_run: far }, iso(now - day)],
      [{ cron_expression: "0 3 * * *", next_run: null, is_paused: 1 }, null],
    ] as const) {
      const id = (await schedule(null)) as number;
      ids.push(id);
      await open().write((db) => updateSchedule(db, id, changes));
      await mendSchedules({ store: open(), clock, log: pino({ level: "silent" }) });
      assert.equal((await findSchedule(open().db, 1, id))?.next_run, expected, JSON.stringify(changes));
    }
    for (const id of ids) await open().write((db) => deleteSchedule(db, id));
  });

  it("lets other work run while it looks at many schedules, also if none is corrected", async () => {
    const clock = { now: () => now, monotonic: () => 0 };
    const ids: number[] = [];
    for (let index = 0; index < 64; index++) ids.push((await schedule(iso(Date.UTC(2031, 0)))) as number);
    for (const id of ids) await open().write((db) => updateSchedule(db, id, { cron_expression: "@yearly" }));
    let [turns, isOver] = [0, false];
    const next = () => {
      turns++;
      if (!isOver) setImmediate(next);
    };
    setImmediate(next);
    await mendSchedules({ store: open(), clock, log: pino({ level: "silent" }) });
    isOver = true;
    assert.ok(turns >= 4, `${turns} turns of the event loop`);
    for (const id of ids) await open().write((db) => deleteSchedule(db, id));
  });

  const ready = async (limit: number) => (await readySchedules(open().db, limit)).map(({ id }) => id);

  it("finds schedules with a waiting tick once the newest run has ended", async () => {
    const id = (await schedule(null)) as number;
    const set = (changes: Parameters<typeof updateSchedule>[2]) =>
      open().write((db) => updateSchedule(db, id, changes));
    assert.deepEqual(await ready(10), []);
    for (const [status, isReady] of [
      ["RUNNING", false],
      ["PAUSED", false],
      ["COMPLETED", true],
      ["FAILED", true],
      ["CANCELED", true],
    ] as const) {
      await set({ waiting_since: iso(now), latest_pipeline_id: await pipeline(status) });
      assert.deepEqual(await ready(10), isReady ? [id] : [], status);
    }
    await set({ waiting_since: null });
    assert.deepEqual(await ready(10), []);
  });

  it("finds due ones in rotation among teams, and the teams that have any", async () => {
    const other = (await open().write((db) => insertTeam(db, { name: "in turn", created_at: iso(now) }))) as number;
    const ids: number[] = [];
    for (const team of [1, 1, 1, other]) {
      const id = (await schedule(iso(now), undefined, team)) as number;
      await open().write((db) => updateSchedule(db, id, { waiting_since: iso(now) }));
      ids.push(id);
    }
    const [first, second, third, others] = ids;
    assert.deepEqual(await ready(10), [first, others, second, third]);
    assert.deepEqual(await ready(2), [first, others]);
    assert.deepEqual(await teamsWithDueSchedules(open().db, iso(now - 1)), []);
    assert.deepEqual(await teamsWithDueSchedules(open().db, iso(now)), [1, other]);
    assert.deepEqual(await dueSchedules(open().db, other, iso(now), { after: undefined, limit: 10 }), [
      { id: others, next_run: iso(now) },
    ]);
    for (const id of ids) await open().write((db) => deleteSchedule(db, id));
  });

  it("deletes a template with its runs, and no other pipeline", async () => {
    const run = { position: 0, job_id: "job", created_job_id: null, name: "", waits_for: 0 };
    for (const [status, isKept] of [
      ["PENDING", false],
      ["RUNNING", true],
    ] as const) {
      const id = await pipeline(status);
      if (!isKept) await open().write((db) => insertRuns(db, [{ ...run, pipeline_id: id }], []));
      await open().write((db) => deleteTemplate(db, id));
      assert.equal((await getPipeline(open().db, id)) !== undefined, isKept);
      assert.deepEqual(await runsOf(open().db, id), []);
    }
  });
}
