/** Due items of teams are fired in turn, and each on behalf of its team. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { TeamTurns } from "../../src/loops/team-turns.ts";
import { type Firing, TeamsInTurn } from "../../src/loops/teams-in-turn.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { currentAsker } from "../../src/turns/asker.ts";

interface Due {
  readonly name: string;
  readonly next_run: string;
}

describe("due items of teams", () => {
  let dataDir: string;
  let store: Store;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "millrace-turns-"));
    store = await openStore(storeIn(dataDir));
  });
  after(async () => {
    await store.close();
    await rm(dataDir, { recursive: true });
  });

  /** Items of teams, by team id. What has fired is no longer due. */
  const firing = (due: Map<number, Due[]>, fire: (item: Due) => Promise<unknown>): Firing<Due> => ({
    teams: async () => [...due].flatMap(([team, items]) => (items.length > 0 ? [team] : [])),
    of: async (team, _now, _after, limit) => (due.get(team) ?? []).slice(0, limit),
    note: async () => {},
    async fire(item) {
      for (const items of due.values()) if (items.includes(item)) items.splice(items.indexOf(item), 1);
      await fire(item);
      return true;
    },
  });
  const items = (team: string, count: number) =>
    Array.from({ length: count }, (_, index) => ({ name: `${team} ${index}`, next_run: "2030-01-01T00:00:00Z" }));

  it("fire on behalf of their team", async () => {
    const teams: unknown[] = [];
    const due = new Map([
      [1, items("a", 3)],
      [2, items("b", 1)],
    ]);
    const turns = new TeamsInTurn(firing(due, async () => teams.push(currentAsker()?.team)));
    await turns.round(0);
    assert.deepEqual(teams.toSorted(), [1, 1, 1, 2]);
    teams.length = 0;
    const others = new TeamTurns();
    others.beginAll([{ team_id: 3 }, { team_id: 4 }], async () => teams.push(currentAsker()?.team) > 0);
    assert.equal(await others.results(), true);
    assert.deepEqual(teams.toSorted(), [3, 4]);
    assert.equal(currentAsker(), undefined);
  });

  it("that take long do not hold up those of other teams", async () => {
    const fired: string[] = [];
    const slow = Promise.withResolvers<void>();
    const due = new Map([
      [1, items("slow", 60)],
      [2, items("quick", 3)],
    ]);
    const turns = new TeamsInTurn(
      firing(due, async ({ name }) => {
        fired.push(name);
        if (name === "slow 0") await slow.promise;
      }),
    );
    assert.equal(await turns.round(0), true);
    assert.deepEqual(fired.filter((name) => name.startsWith("quick")).length, 3);
    const before = fired.length;
    due.set(3, items("late", 1));
    await turns.round(0);
    assert.deepEqual(fired.slice(before), ["late 0"], "the slow team has one turn at a time");
    slow.resolve();
    await turns.settled();
    while (await turns.round(0));
    assert.equal(fired.length, 64, "every item has fired once");
  });

  it("that write much let the server's own writes pass: between two of theirs, every other owner has its turn", async () => {
    const order: string[] = [];
    const busy = (milliseconds: number) => {
      for (const end = performance.now() + milliseconds; performance.now() < end; );
    };
    const write = (item: Due) =>
      store.write(async () => {
        order.push(item.name);
        // Longer than a write may block the event loop, as the copy of a long pipeline does.
        busy(50);
      });
    const turns = new TeamsInTurn(firing(new Map([[1, items("heavy", 20)]]), write));
    const round = turns.round(0);
    while (order.length < 4) await new Promise(setImmediate);
    const before = order.length;
    await store.write(async () => order.push("a job starts"));
    assert.ok(order.indexOf("a job starts") <= before + 1, order.join(", "));
    await round;
  });
});
