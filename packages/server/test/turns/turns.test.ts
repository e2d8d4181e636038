/** Turns: at most so many tasks at a time, owners one after another, and nobody waits for a task that itself waits. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Turns } from "../../src/turns/turns.ts";

describe("turns", () => {
  it("a task that waits for something longer than the limit does not hold up the others", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const turns = new Turns(2, 2, 20);
    const storage = Promise.withResolvers<string>();
    const stuck = ["a", "b", "c", "d", "e"].map((name) => turns.run(() => storage.promise, name));
    let isDone = false;
    const another = turns
      .run(async () => "another", "another")
      .finally(() => {
        isDone = true;
      });
    while (!isDone) {
      t.mock.timers.tick(20);
      await new Promise(setImmediate);
    }
    assert.equal(await another, "another");
    storage.resolve("answered");
    assert.deepEqual(await Promise.all(stuck), Array(5).fill("answered"));
    let most = 0;
    let running = 0;
    const count = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
    };
    await Promise.all(Array.from({ length: 20 }, () => turns.run(count)));
    assert.equal(most, 2, "late tasks gave their turn back once, not twice");
  });
});
