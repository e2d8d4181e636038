/** Disk space for copies of files that jobs need. */
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { Blobs, Copy } from "../../src/blobs/blobs.ts";
import { CopyRoom } from "../../src/loops/copy-room.ts";

describe("room for copies", () => {
  /** Free bytes above the minimum. No real disk has a chosen number of free bytes. */
  let free: number;
  let copies: Copy[];
  let room: CopyRoom;

  beforeEach(() => {
    copies = [];
    room = new CopyRoom({
      disk: { shortage: async (more = 0) => Math.max(0, more - free) },
      blobs: {
        copies: async () => [...copies],
        async removeCopy(name: string) {
          free += copies.find((copy) => copy.name === name)?.size ?? 0;
          copies = copies.filter((copy) => copy.name !== name);
        },
      } as Partial<Blobs> as Blobs,
    });
  });

  const hour = 3_600_000;
  const copy = (name: string, hoursAgo: number, change: Partial<Copy> = {}) =>
    copies.push({ name, size: 100, usedAt: Date.now() - hoursAgo * hour, isLinked: false, ...change });
  const names = () => copies.map(({ name }) => name).sort();

  it("is shared by all downloads in progress, and free again when they end", async () => {
    free = 250;
    assert.equal(await room.reserve("a", 100), true);
    assert.equal(await room.reserve("b", 100), true);
    assert.equal(await room.reserve("c", 100), false);
    room.release("a");
    assert.equal(await room.reserve("c", 100), true);
  });

  it("is held for a job's working folder until it is released", async () => {
    free = 250;
    assert.equal(await room.reserve("a", 200), true);
    room.hold("a", 100);
    assert.deepEqual(room.holders(), ["a"]);
    assert.equal(await room.reserve("b", 200), false);
    assert.equal(await room.reserve("b", 100), true);
    assert.equal(await room.reserve("a", 150), true, "the job's own reservation is replaced");
    room.release("a");
    assert.deepEqual(room.holders(), ["b"]);
  });

  it("comes from copies that were not used for longest, and only as many as needed", async () => {
    free = 0;
    copy("new", 1);
    copy("oldest", 3);
    copy("old", 2);
    assert.equal(await room.reserve("a", 150), true);
    assert.deepEqual(names(), ["new"]);
  });

  it("never comes from copies that a job uses or is about to use", async () => {
    free = 0;
    copy("running", 5, { isLinked: true });
    copy("just fetched", 0);
    assert.equal(await room.reserve("a", 50), false);
    assert.deepEqual(names(), ["just fetched", "running"]);
  });

  it("deletes nothing for a job whose files do not fit anyway", async () => {
    free = 0;
    copy("old", 2);
    assert.equal(await room.reserve("a", 1000), false);
    assert.deepEqual(names(), ["old"]);
  });

  it("deletes unused copies while free space is below the minimum, even if that is not enough", async () => {
    free = -150;
    copy("old", 2);
    copy("new", 1, { isLinked: true });
    await room.keepMinimum();
    assert.deepEqual(names(), ["new"]);
  });

  it("counts a time in the future as long ago, because a clock was wrong", async () => {
    free = 0;
    copy("from the future", -400 * 24);
    assert.equal(await room.reserve("a", 50), true);
  });
});
