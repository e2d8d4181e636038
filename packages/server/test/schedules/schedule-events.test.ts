/** Events of a schedule are recorded for their receivers in the transaction that causes them. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import type { Team } from "../../src/domain/access/principals.ts";
import { newReceiver } from "../../src/domain/events/receivers.ts";
import { day } from "../../src/domain/time/clock.ts";
import { tellOverdue } from "../../src/loops/tell-overdue.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { insertReceiver } from "../../src/store/queries/events/receivers.ts";
import { FiringGround, turnsOf } from "../support/firing-ground.ts";

const minute = 60_000;

describe("a schedule", () => {
  let dataDir: string;
  let store: Store;
  let ground: FiringGround;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "millrace-schedule-events-"));
    store = await openStore(storeIn(dataDir));
    ground = new FiringGround(store, dataDir);
    await ground.prepare();
  });
  after(async () => {
    ground.metrics.close();
    await store.close();
    await rm(dataDir, { recursive: true });
  });

  async function listeningTeam(name: string): Promise<Team> {
    const team = await ground.team(name);
    await store.write((db) => insertReceiver(db, newReceiver(team, "mail", `${name}@example.com`, ground.now)));
    return team;
  }

  /** A server that has just started, at the next tick. */
  async function tick(): Promise<void> {
    ground.now += minute;
    await turnsOf(ground.loop("schedules"));
  }

  const notedOf = async ({ id }: Team) =>
    (
      await store.db
        .selectFrom("outbox")
        .selectAll()
        .where("team_id", "=", id)
        .where("kind", "=", "schedule")
        .orderBy("id")
        .execute()
    ).map(({ status, name, message }) => [status, name, message]);

  it("that starts a run and then skips a tick because the run is active reports both", async () => {
    const team = await listeningTeam("skipping");
    await ground.schedule(team, await ground.pipeline(team), "busy");
    await tick();
    await tick();
    const [fired, skip, ...more] = await notedOf(team);
    assert.deepEqual(fired, ["fired", "busy", null]);
    assert.deepEqual(skip?.slice(0, 2), ["skip", "busy"]);
    assert.match(String(skip?.[2]), /^The tick of 2030-.* started no run: the run .* is still going/);
    assert.deepEqual(more, []);
  });

  it("that does not catch up reports a missed tick", async () => {
    const team = await listeningTeam("missing");
    const { id } = await ground.schedule(team, await ground.pipeline(team), "nightly");
    const nightly = { catch_up: "none", cron_expression: "0 3 * * *" } as const;
    await store.write((db) => db.updateTable("schedules").set(nightly).where("id", "=", id).execute());
    ground.now += day / 2;
    await tick();
    const noted = await notedOf(team);
    assert.deepEqual(
      noted.map(([status]) => status),
      ["skip"],
    );
    assert.match(String(noted[0]?.[2]), /^The tick of 2030-.* started no run: .*no server ran.*\(catch_up is none\)/);
  });

  it("that cannot start a run reports the reason once, and later that it runs again", async () => {
    const team = await listeningTeam("refused");
    const pipeline = await ground.pipeline(team);
    await ground.setQuotas(team, { max_dataset_bytes: 1 });
    await ground.setDatasets(team, 2);
    await ground.schedule(team, pipeline, "full");
    await tick();
    await tick();
    await ground.setDatasets(team, 0);
    await tick();
    const noted = await notedOf(team);
    assert.deepEqual(
      noted.map(([status]) => status),
      ["failure", "fired"],
    );
    assert.match(String(noted[0]?.[2]), /dataset/);
  });

  it("without receivers in its team records nothing", async () => {
    const team = await ground.team("silent");
    await ground.schedule(team, await ground.pipeline(team), "unheard");
    await tick();
    await tick();
    assert.deepEqual(await notedOf(team), []);
  });

  it("that is overdue reports it once, after two observations", async () => {
    const team = await listeningTeam("late");
    await ground.schedule(team, await ground.pipeline(team), "late");
    const clock = { now: () => ground.now, monotonic: () => ground.now };
    const looks = async (times: number) => {
      const loop = tellOverdue({ store, clock });
      for (let look = 0; look < times; look++) await loop.runOnce();
    };
    ground.now += minute;
    await looks(2);
    assert.deepEqual(await notedOf(team), [], "not late yet");
    ground.now += 5 * minute;
    await looks(1);
    assert.deepEqual(await notedOf(team), [], "one look");
    await looks(3);
    await looks(3);
    const noted = await notedOf(team);
    assert.deepEqual(
      noted.map(([status, name]) => [status, name]),
      [["overdue", "late"]],
    );
    assert.match(String(noted[0]?.[2]), /The schedule should have fired at .* ago, but has not/);
    await tick();
    ground.now += 10 * minute;
    await looks(2);
    assert.equal((await notedOf(team)).filter(([status]) => status === "overdue").length, 2, "again for the next time");
  });
});
