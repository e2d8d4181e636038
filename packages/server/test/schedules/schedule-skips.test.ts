/**
 * Which skips of a schedule are reported: docs/notifications.md, "Skips". On both databases, with a clock that the test
 * sets.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import type { CreatePipelineScheduleInput, PipelineSchedule } from "@millrace/contract";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";
import type { Team } from "../../src/domain/access/principals.ts";
import { newReceiver } from "../../src/domain/events/receivers.ts";
import { iso } from "../../src/domain/time/clock.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { insertReceiver } from "../../src/store/queries/events/receivers.ts";
import { FiringGround, turnsOf } from "../support/firing-ground.ts";

const minute = 60_000;
const hour = 60 * minute;

for (const kind of ["SQLite", "PostgreSQL"] as const)
  describe(`skips of a schedule on ${kind}`, () => {
    let postgres: TestPostgres | undefined;
    let dataDir: string;
    let store: Store;
    let ground: FiringGround;
    let team: Team;
    let schedule: PipelineSchedule;
    let counter = 0;
    before(async () => {
      dataDir = await mkdtemp(join(tmpdir(), "millrace-skips-"));
      if (kind === "PostgreSQL") postgres = await startPostgres();
      store = await openStore(storeIn(dataDir, (await postgres?.createDatabase()) ?? ""));
      ground = new FiringGround(store, dataDir);
      await ground.prepare();
    });
    after(async () => {
      ground?.metrics.close();
      await store?.close();
      await postgres?.stop();
      await rm(dataDir, { recursive: true });
    });

    /** Creates a schedule in its own team, without anything else that fires, starting at noon UTC. */
    beforeEach(async () => {
      await store.write((db) => db.updateTable("schedules").set({ next_run: null, waiting_since: null }).execute());
      ground.now = Math.ceil(ground.now / (24 * hour)) * 24 * hour + 12 * hour;
      team = await ground.team(`team-${++counter}`);
    });

    const listen = () =>
      store.write((db) => insertReceiver(db, newReceiver(team, "mail", `${team.name}@example.com`, ground.now)));
    async function make(rest: Partial<CreatePipelineScheduleInput> = {}) {
      schedule = await ground.schedule(team, await ground.pipeline(team), "it", {
        cron_expression: "0 * * * *",
        ...rest,
      });
    }
    async function makeHeard(rest: Partial<CreatePipelineScheduleInput> = {}) {
      await listen();
      await make(rest);
    }
    /** Lets this many ticks pass, an hour apart. */
    async function ticks(count: number) {
      for (let tick = 0; tick < count; tick++) {
        ground.now += hour;
        await turnsOf(ground.loop("schedules"));
      }
    }
    async function endRun() {
      await ground.endRun(await ground.readSchedule(team, schedule.id), "COMPLETE");
    }
    /** The next tick starts a run, which lasts for this many further ticks. */
    async function runThatSkips(count: number) {
      await ticks(1 + count);
      await endRun();
    }
    const told = async () =>
      (
        await store.db
          .selectFrom("outbox")
          .select(["at", "message"])
          .where("team_id", "=", team.id)
          .where("status", "=", "skip")
          .orderBy("id")
          .execute()
      ).map(({ at, message }) => ({ at, message: message ?? "" }));
    const skipped = async () => (await ground.readSchedule(team, schedule.id)).skipped;

    it("are reported at the first one and then once per day in its time zone, with the number since then", async () => {
      const noon = ground.now;
      await makeHeard({ timezone: "Asia/Tokyo" });
      // Noon UTC is 21:00 in Tokyo, where the day ends three hours later.
      await ticks(1 + 2 * 24);
      const messages = await told();
      assert.deepEqual(
        messages.map(({ at }) => at),
        [noon + 2 * hour, noon + 3 * hour, noon + 27 * hour].map(iso),
      );
      assert.match(messages[0]?.message ?? "", /^The tick of .* started no run: the run .* is still going .*\.$/);
      assert.doesNotMatch(messages[0]?.message ?? "", /In total/);
      assert.doesNotMatch(messages[1]?.message ?? "", /In total/, "it is the only one since the last message");
      assert.match(messages[2]?.message ?? "", /\. In total, 24 ticks started no run since the last message\.$/);
      assert.equal(await skipped(), 48, "the record has all");
    });

    it("of runs that are always too slow form one series", async () => {
      await makeHeard();
      for (let run = 0; run < 3; run++) await runThatSkips(2);
      assert.equal(await skipped(), 6);
      assert.equal((await told()).length, 1);
    });

    it("end as a series with the second run that starts without a skip before it: the next skip is reported again", async () => {
      await makeHeard();
      await runThatSkips(2);
      await runThatSkips(0);
      await runThatSkips(2);
      assert.equal((await told()).length, 2, "nothing was skipped between two runs");
      assert.match((await told())[1]?.message ?? "", /In total, 2 ticks started no run since the last message/);
    });

    it("continue as one series if the runs between them had to wait for the previous one", async () => {
      await makeHeard({ overlap: "wait" });
      await ticks(3);
      assert.equal((await told()).length, 1);
      for (let run = 0; run < 2; run++) {
        await endRun();
        await turnsOf(ground.loop("schedules"));
        await ticks(1);
      }
      await ticks(1);
      assert.deepEqual([await skipped(), (await told()).length], [2, 1]);
    });

    it("that occur at once, as after an outage, are reported as one, with their number", async () => {
      await makeHeard({ catch_up: "none" });
      ground.now += 5 * hour + 30 * minute;
      await turnsOf(ground.loop("schedules"));
      const [only, ...more] = await told();
      assert.match(only?.message ?? "", /no server ran.* In total, 5 ticks started no run\.$/);
      assert.deepEqual(more, []);
    });

    it("are reported to receivers that subscribe in the middle of a series", async () => {
      await make();
      await ticks(3);
      await listen();
      await ticks(2);
      assert.match((await told())[0]?.message ?? "", /In total, 3 ticks started no run\.$/);
      assert.equal((await told()).length, 1);
    });

    it("are not reported if a pause drops the waiting tick", async () => {
      await makeHeard({ overlap: "wait" });
      await ticks(2);
      await ground.pauseSchedule(team, schedule.id, true);
      assert.deepEqual([await skipped(), await told()], [1, []]);
    });
  });
