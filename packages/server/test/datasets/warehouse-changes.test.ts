/** Changes of teams' warehouses: concurrent requests of a team share one process. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Changes } from "../../src/warehouses/changes.ts";
import { WarehouseBusy } from "../../src/warehouses/warehouses.ts";

/** A change that ends when the test says so. */
function change() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const work = { begun: false, end: resolve, fail: reject };
  const run = () => {
    work.begun = true;
    return promise;
  };
  return Object.assign(work, { run });
}

describe("changes of a team's warehouse", () => {
  it("run one after another; changes of another team do not wait for them", async () => {
    const changes = new Changes();
    const [first, second, other] = [change(), change(), change()];
    const asked = [changes.inTurn(1, first.run), changes.inTurn(1, second.run), changes.inTurn(2, other.run)];
    assert.deepEqual([first.begun, second.begun, other.begun], [true, false, true]);
    first.fail(new Error("it cannot be changed"));
    await assert.rejects(asked[0] ?? Promise.resolve(), /cannot be changed/);
    await setImmediate();
    assert.equal(second.begun, true, "one that fails keeps nobody from trying");
    second.end();
    other.end();
    await Promise.all(asked.slice(1));
    const next = change();
    const later = changes.inTurn(1, next.run);
    assert.equal(next.begun, true, "a line that is empty is forgotten");
    next.end();
    await later;
  });

  it("fail with the change before them if something keeps the warehouse locked", async () => {
    const changes = new Changes();
    const [first, second] = [change(), change()];
    const asked = [changes.inTurn(1, first.run), changes.inTurn(1, second.run)];
    first.fail(new WarehouseBusy("somebody has it"));
    for (const each of asked) await assert.rejects(each, WarehouseBusy);
    assert.equal(second.begun, false);
  });

  it("queue up to a limit; further ones are refused at once", async () => {
    const changes = new Changes();
    const first = change();
    const asked = [
      changes.inTurn(1, first.run),
      ...Array.from({ length: 100 }, () => changes.inTurn(1, async () => {})),
    ];
    await assert.rejects(changes.inTurn(1, change().run), /100 changes of the team's datasets are already queued/);
    first.end();
    await Promise.all(asked);
  });
});
