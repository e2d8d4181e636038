/** The queue between parallel listings and their consumer. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Channel } from "../../src/concurrency/channel.ts";

describe("a channel", () => {
  it("ends even if all producers that wait for room have nothing more", async () => {
    const channel = new Channel<number>(1);
    let working = 6;
    const produce = async (item: number) => {
      await channel.push(item);
      working -= 1;
      if (working === 0) channel.close();
    };
    for (const item of [1, 2, 3, 4, 5, 6]) void produce(item);
    assert.deepEqual(await Array.fromAsync(channel), [1, 2, 3, 4, 5, 6]);
  });

  it("blocks a producer when there is no room", async () => {
    const channel = new Channel<number>(2);
    let pushed = 0;
    const produce = async () => {
      while (!channel.closed) {
        await channel.push(pushed);
        pushed += 1;
      }
    };
    void produce();
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    assert.equal(pushed, 1);
    assert.deepEqual(await channel.next(), { done: false, value: 0 });
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    assert.equal(pushed, 2);
    await channel.return();
  });

  it("delivers buffered items before a failure", async () => {
    const channel = new Channel<string>(5);
    void channel.push("there");
    channel.close({ error: new Error("broken") });
    assert.equal((await channel.next()).value, "there");
    await assert.rejects(channel.next(), /broken/);
  });
});
