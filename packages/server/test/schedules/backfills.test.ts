/**
 * Backfills: which moments, in which order, what happens to failures, and that a killed server loses or doubles none.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Backfill, type Client, type CreateBackfillInput, routes } from "@millrace/contract";
import { makeDataset } from "@millrace/testing/millrace/lineage.ts";
import { operator } from "../../src/domain/access/audit.ts";
import { cancelNextRun } from "../../src/domain/schedules/backfill-progress.ts";
import { previewTeamBackfill } from "../../src/domain/schedules/backfills.ts";
import { day, iso } from "../../src/domain/time/clock.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { momentsOf, updateBackfill } from "../../src/store/queries/schedules/backfills.ts";
import { askedBy } from "../../src/turns/asker.ts";
import { type FiringGround, type OpenGround, openGround } from "../support/firing-ground.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { Listener } from "../support/live-listener.ts";
import { chances, mortal } from "../support/mortal-servers.ts";
import { refused } from "../support/people.ts";
import { trigger, waitForPipeline } from "../support/pipelines.ts";

describe("a backfill", () => {
  let server: InProcessServer;
  let client: Client;
  let count = 0;
  before(async () => {
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "4", MILLRACE_CANCEL_GRACE: "1" });
    client = await server.client();
  });
  after(() => server.dispose());

  /** A pipeline of one job that records its moments. */
  async function world(more = "") {
    const name = `w${++count}`;
    const log = join(server.dataDir, `${name}-log`);
    const gate = join(server.dataDir, `${name}-gate`);
    await writeFile(log, "");
    const query = `echo begin $MILLRACE_SCHEDULED_DATE >> ${log}; GATE=${gate}; ${more || ":"} && echo end $MILLRACE_SCHEDULED_DATE >> ${log}`;
    await makeDataset({ store: server.store, client }, name, query);
    const pipeline_name = (await trigger(client, [name], true)).name;
    return {
      pipeline_name,
      open: () => writeFile(gate, ""),
      lines: async () => (await readFile(log, "utf8")).trim().split("\n"),
      start: (rest: Partial<CreateBackfillInput> = {}) =>
        create({ pipeline_name, from: "2026-01-01", to: "2026-01-03", ...rest }),
    };
  }
  const create = async (body: CreateBackfillInput): Promise<Backfill> =>
    (await client.call(routes.createBackfill, { body })).backfill;
  const read = (id: number) => client.call(routes.getBackfill, { query: { backfill_id: id } });
  const cancel = async (id: number) =>
    (await client.call(routes.cancelBackfill, { body: { backfill_id: id } })).backfill;
  const retry = async (id: number) => (await client.call(routes.retryBackfill, { body: { backfill_id: id } })).backfill;

  async function until(id: number, wanted: (backfill: Backfill) => boolean): Promise<Backfill> {
    for (const deadline = Date.now() + 60_000; Date.now() < deadline; ) {
      const now = await read(id);
      if (wanted(now)) return now;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(JSON.stringify(await read(id)));
  }
  const end = (id: number) => until(id, ({ status }) => status !== "RUNNING");
  const days = (...dates: string[]) => dates.flatMap((date) => [`begin 2026-01-${date}`, `end 2026-01-${date}`]);
  const countsOf = ({ waiting, running, completed, failed }: Backfill) => [waiting, running, completed, failed];

  const gated = "while [ ! -e $GATE ]; do sleep 0.02; done";
  const fragile = '{ [ "$MILLRACE_SCHEDULED_DATE" != 2026-01-02 ] || [ -e $GATE ]; }';

  it("runs a copy of the pipeline for each moment, in order, each after the end of the previous one", async () => {
    const { start, lines, pipeline_name } = await world();
    const made = await start();
    assert.deepEqual([made.status, made.total, made.parallel, made.on_failure], ["RUNNING", 3, 1, "stop"]);
    assert.deepEqual([made.from, made.to], ["2026-01-01T00:00:00.000Z", "2026-01-03T00:00:00.000Z"]);
    const done = await end(made.id);
    assert.equal(done.status, "COMPLETED");
    assert.deepEqual(countsOf(done), [0, 0, 3, 0]);
    assert.deepEqual(await lines(), days("01", "02", "03"));
    for (const { moment, pipeline_id } of done.moments) {
      const run = await client.call(routes.getPipeline, { query: { pipeline_id: pipeline_id ?? "" } });
      assert.deepEqual([run.scheduled_at, run.scheduled_timezone, run.status], [moment, "UTC", "COMPLETED"]);
    }
    const source = await client.call(routes.getPipeline, { query: { name: pipeline_name } });
    assert.equal(source.status, "PAUSED", "it stays as it is");
    const [listed] = await client.call(routes.listBackfills, { query: {} });
    const { moments: _, template_name: __, ...item } = done;
    assert.deepEqual(listed, item);
  });

  it("runs as many in parallel as requested, and no more", async () => {
    const { start, open, lines } = await world(gated);
    const { id } = await start({ to: "2026-01-05", parallel: 2 });
    await until(id, ({ running }) => running === 2);
    const now = await read(id);
    assert.deepEqual(countsOf(now), [3, 2, 0, 0]);
    await open();
    assert.equal((await end(id)).status, "COMPLETED");
    assert.deepEqual((await lines()).toSorted(), days("01", "02", "03", "04", "05").toSorted());
  });

  it("tells those who follow the team of its end", async () => {
    const { start, open } = await world(gated);
    const { id } = await start({ to: "2026-01-01" });
    await until(id, ({ running }) => running === 1);
    const listener = await Listener.open(client);
    // Its start may still be told.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const told = () => listener.ids().filter((one) => one === String(id)).length;
    const before = told();
    await open();
    await end(id);
    for (const deadline = Date.now() + 120_000; told() === before; await new Promise((go) => setTimeout(go, 20)))
      assert.ok(Date.now() < deadline, "its end is not told");
    listener.close();
  });

  it("stops at a failure, and continues from there when it is retried: complete moments do not run again", async () => {
    const { start, open, lines } = await world(fragile);
    const { id } = await start({ to: "2026-01-04" });
    const stopped = await end(id);
    assert.equal(stopped.status, "FAILED");
    assert.deepEqual(countsOf(stopped), [2, 0, 1, 1]);
    const [first, failed] = stopped.moments;
    assert.deepEqual([first?.status, first?.error_message, failed?.status], ["COMPLETED", null, "FAILED"]);
    assert.match(failed?.error_message ?? "", /failed: The script ended with exit code 1\./);
    await open();
    assert.equal((await retry(id)).status, "RUNNING");
    const done = await end(id);
    assert.deepEqual([done.status, ...countsOf(done)], ["COMPLETED", 0, 0, 4, 0]);
    assert.deepEqual(await lines(), [...days("01"), "begin 2026-01-02", ...days("02", "03", "04")]);
    assert.notEqual(done.moments[1]?.pipeline_id, stopped.moments[1]?.pipeline_id, "a new run");
    await refused(retry(id), "wrong_state", /is COMPLETED, and none of its runs has failed/);
  });

  it("continues with the other moments if requested, and is FAILED at the end", async () => {
    const { start, lines } = await world(fragile);
    const { id } = await start({ on_failure: "continue" });
    const done = await end(id);
    assert.deepEqual([done.status, ...countsOf(done)], ["FAILED", 0, 0, 2, 1]);
    assert.deepEqual(await lines(), [...days("01"), "begin 2026-01-02", ...days("03")]);
  });

  it("counts a failed run that is rerun separately", async () => {
    const { start, open } = await world(fragile);
    const { id } = await start({ on_failure: "continue" });
    const failed = await end(id);
    await open();
    await client.call(routes.rerunPipeline, { body: { pipeline_id: failed.moments[1]?.pipeline_id ?? "" } });
    await until(id, ({ completed }) => completed === 3);
    await retry(id);
    assert.equal((await end(id)).status, "COMPLETED");
  });

  it("is canceled with its active runs; waiting moments never start unless it is retried", async () => {
    const { start, open, lines } = await world(gated);
    const { id } = await start();
    const running = await until(id, ({ moments }) => moments[0]?.status === "RUNNING");
    await waitForPipeline(client, running.moments[0]?.pipeline_name ?? "", ({ job_runs }) =>
      job_runs.some(({ status }) => status === "RUNNING"),
    );
    assert.equal((await cancel(id)).status, "CANCELED");
    await refused(cancel(id), "wrong_state", /is CANCELED; only a backfill that is RUNNING/);
    const over = await until(id, (now) => now.running === 0);
    assert.deepEqual([over.status, ...countsOf(over)], ["CANCELED", 2, 0, 0, 1]);
    assert.equal(over.moments[0]?.status, "CANCELED");
    await open();
    await retry(id);
    assert.equal((await end(id)).status, "COMPLETED");
    assert.deepEqual((await lines()).slice(-6), days("01", "02", "03"));
  });

  it("is canceled in a write for each of its pipelines, which the loop completes if the server stops in between", async () => {
    const { start } = await world(gated);
    const { id } = await start({ parallel: 2 });
    await until(id, ({ running }) => running === 2);
    const states = async () => (await read(id)).moments.map(({ status }) => status);
    await server.store.write(async (db) => {
      // What the first write of a cancellation leaves behind.
      await updateBackfill(db, id, { canceling: JSON.stringify(operator) });
      assert.equal(await cancelNextRun(db, id, Date.now()), true);
      const canceled = (await momentsOf(db, id)).filter(({ status }) => status === "CANCELED");
      assert.equal(canceled.length, 1, "one pipeline in one write");
    });
    assert.equal((await end(id)).status, "CANCELED");
    assert.deepEqual(await states(), ["CANCELED", "CANCELED", "WAITING"]);
    await until(id, (now) => now.running === 0);
  });

  it("does not run a moment again while its run is still being canceled", async () => {
    const { start } = await world("trap '' TERM; while :; do sleep 0.1; done");
    const { id } = await start();
    const { moments } = await until(id, (now) => now.moments[0]?.status === "RUNNING");
    await waitForPipeline(client, moments[0]?.pipeline_name ?? "", ({ job_runs }) => job_runs[0]?.status === "RUNNING");
    await cancel(id);
    await refused(retry(id), "wrong_state", /is still being canceled/);
    await until(id, (now) => now.running === 0);
  });

  it("says why its next moment cannot start, and starts it when there is room", async () => {
    const { start } = await world();
    const fill = (bytes: number) =>
      server.store.write((db) => db.updateTable("team_usage").set({ datasets: bytes }).execute());
    await server.store.write((db) => db.updateTable("teams").set({ max_dataset_bytes: 1000 }).execute());
    await fill(2000);
    const { id } = await start();
    const { last_error, moments } = await until(id, (now) => now.last_error !== null);
    assert.match(last_error ?? "", /warehouse of the team main takes/);
    assert.ok(moments.every(({ status }) => status === "WAITING"));
    await fill(0);
    const done = await end(id);
    assert.deepEqual([done.status, done.last_error], ["COMPLETED", null]);
    await server.store.write((db) => db.updateTable("teams").set({ max_dataset_bytes: null }).execute());
  });

  it("has the ticks of a schedule as its moments, in its time zone, both ends included", async () => {
    const { start } = await world();
    const moments = async (rest: Partial<CreateBackfillInput>) => {
      const made = await start(rest);
      await cancel(made.id);
      return made.moments.map(({ moment }) => moment.replace(":00.000Z", ""));
    };
    assert.deepEqual(await moments({ from: "2026-03-28", to: "2026-03-30", timezone: "Europe/Berlin" }), [
      "2026-03-27T23:00",
      "2026-03-28T23:00",
      "2026-03-29T22:00",
    ]);
    assert.deepEqual(await moments({ from: "2026-01-01T22:30", to: "2026-01-02T01:00", every: "hour" }), [
      "2026-01-01T23:00",
      "2026-01-02T00:00",
      "2026-01-02T01:00",
    ]);
    assert.deepEqual(await moments({ to: "2026-01-14", every: "week" }), ["2026-01-04T00:00", "2026-01-11T00:00"]);
    assert.deepEqual(await moments({ to: "2026-02-28", every: "month" }), ["2026-01-01T00:00", "2026-02-01T00:00"]);
    assert.deepEqual(await moments({ to: "2026-01-06", every: "30 2 * * 1" }), ["2026-01-05T02:30"]);
  });

  it("can be previewed: its moments are computed, and nothing is created", async () => {
    const query = { from: "2026-03-28", to: "2026-03-30T12:00", every: "30 2 * * *", timezone: "Europe/Berlin" };
    assert.deepEqual(await client.call(routes.previewBackfill, { query }), {
      cron_expression: "30 2 * * *",
      timezone: "Europe/Berlin",
      moments: ["2026-03-28T01:30:00.000Z", "2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"],
    });
    const attempt = (from: string, to: string, every?: string) =>
      client.call(routes.previewBackfill, { query: { from, to, ...(every === undefined ? {} : { every }) } });
    assert.equal((await attempt("2026-01-01", "2026-01-31")).moments.length, 31);
    await refused(attempt("2026-01-01", "2026-03-31", "hour"), "invalid", /more than 1000 moments/);
    await refused(attempt("2026-01-02", "2026-01-01"), "invalid", /^to: /);
    await refused(attempt("2026-01-01", "2999-01-01"), "invalid", /^to: expected a time in the past/);
  });

  it("is previewed in stretches, between which others run, and no longer than the caller is there", async () => {
    const range = { from: "2026-01-01", to: "2026-01-31", every: "hour", timezone: "Europe/Berlin" };
    let looks = 0;
    const hasGone = () => ++looks > 2;
    const preview = () => previewTeamBackfill(range, Date.UTC(2026, 5));
    await assert.rejects(askedBy({ caller: "a viewer", hasGone }, preview), /closed the connection/);
    assert.equal(looks, 3);
    looks = 0;
    const isThere = () => ++looks < 0;
    const { moments } = await askedBy({ caller: "a viewer", hasGone: isThere }, preview);
    assert.equal(looks, 1 + Math.floor(moments.length / 10), "before the first tick, and after each ten");
  });

  it("that is invalid is refused, and nothing is created", async () => {
    const { start } = await world();
    const before = await server.store.db.selectFrom("pipelines").select("id").execute();
    const refusals: [Partial<CreateBackfillInput>, "invalid" | "not_found", RegExp][] = [
      [{ to: iso(Date.now() + day) }, "invalid", /^to: expected a time in the past/],
      [{ to: "2025-12-31" }, "invalid", /^to: expected a time that is not before `from`/],
      [{ from: "soon" }, "invalid", /^from: expected a time/],
      [{ every: "fortnight" }, "invalid", /^every: expected hour, day, week, month or a cron expression/],
      [
        { every: "0 0 31 12 *" },
        "invalid",
        /^every: expected an interval or a cron expression with at least one tick between/,
      ],
      [{ timezone: "+01:00" }, "invalid", /^timezone: expected an IANA/],
      [{ parallel: 0 }, "invalid", /parallel/],
      [{ parallel: 101 }, "invalid", /parallel/],
      [
        { every: "hour", to: "2026-02-11T16:00" },
        "invalid",
        /more than 1000 moments \(scheduled times\), which is the maximum of a backfill\. The last moment that fits is 2026-02-11T15:00/,
      ],
      [{ pipeline_name: "nobody" }, "not_found", /no pipeline nobody/],
    ];
    for (const [rest, code, why] of refusals) await refused(start(rest), code, why);
    const all = await start({ every: "hour", to: "2026-02-11T15:59" });
    assert.equal(all.total, 1000);
    await cancel(all.id);
    const made = await server.store.db.selectFrom("pipelines").select("id").where("is_template", "=", 1).execute();
    const templates = made.filter(({ id }) => !before.some((one) => one.id === id));
    assert.equal(templates.length, 1, "only the one that was made");
  });

  it("is refused if the team already has twenty active ones", async () => {
    const { start } = await world(gated);
    const made: Backfill[] = [];
    for (let index = 0; index < 20; index++) made.push(await start());
    await refused(start(), "wrong_state", /has 20 running backfills/);
    for (const { id } of made) await cancel(id);
    const again = await start();
    await cancel(again.id);
  });

  it("writes audit rows when it is created, canceled and retried", async () => {
    const { start, pipeline_name } = await world(gated);
    const { id } = await start();
    await cancel(id);
    await until(id, ({ running }) => running === 0);
    await retry(id);
    await cancel(id);
    const rows = await server.store.db
      .selectFrom("audit")
      .select("action")
      .where("target", "=", pipeline_name)
      .where("action", "like", "backfill.%")
      .orderBy("id")
      .execute();
    const actions = rows.map(({ action }) => action);
    assert.deepEqual(actions, ["backfill.create", "backfill.cancel", "backfill.retry", "backfill.cancel"]);
  });
});

for (const kind of ["SQLite", "PostgreSQL"] as const)
  describe(`a backfill on ${kind}`, () => {
    let opened: OpenGround | undefined;
    let store: Store;
    let ground: FiringGround;
    before(async () => {
      opened = await openGround(kind);
      ({ ground, store } = opened);
    });
    after(() => opened?.close());

    it("starts every moment once, in order, even with two servers that repeatedly die around their commits", async () => {
      const team = await ground.team("mortal");
      const pipeline_name = await ground.pipeline(team);
      const from = iso(ground.now - 40 * day);
      const { id } = await ground.backfill(team, { pipeline_name, from, to: iso(ground.now), parallel: 3 });
      const live = mortal(chances(150));
      const begin = () => {
        const life = live(store);
        return { life, loop: ground.loop("backfills", life.store) };
      };
      let servers = [begin(), begin()];
      let deaths = 0;
      for (let turn = 0; turn < 500 && (await ground.readBackfill(team, id)).status === "RUNNING"; turn++) {
        ground.now += 10_000;
        await Promise.allSettled(servers.map(({ loop }) => loop.runOnce()));
        const { running } = await ground.readBackfill(team, id);
        assert.ok(running <= 3, `${running} at once`);
        await store.write((db) =>
          db
            .updateTable("pipelines")
            .set({ status: "COMPLETED", open_runs: 0 })
            .where("status", "=", "RUNNING")
            .execute(),
        );
        deaths += servers.filter(({ life }) => life.isDead()).length;
        servers = servers.map((one) => (one.life.isDead() ? begin() : one));
      }
      const done = await ground.readBackfill(team, id);
      assert.deepEqual([done.status, done.completed], ["COMPLETED", 41]);
      assert.ok(deaths > 5, `${deaths} deaths`);
      const runs = await store.db
        .selectFrom("pipelines")
        .select("scheduled_at")
        .where("team_id", "=", team.id)
        .where("scheduled_at", "is not", null)
        .orderBy("id")
        .execute();
      assert.deepEqual(
        runs.map(({ scheduled_at }) => scheduled_at),
        done.moments.map(({ moment }) => moment),
      );
    });
  });
