/** Several logs read as one, wherever a read starts and however long it is. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { JoinedLog, textPart } from "../../src/logs/joined-log.ts";

/** A log in memory: only offsets matter here. */
function growing(text: string) {
  let bytes = Buffer.from(text);
  let ended = false;
  return {
    ...textPart(""),
    size: async () => bytes.length,
    read: async (offset: number, length: number) => bytes.subarray(offset, offset + length),
    end: () => {
      ended = true;
    },
    add: (more: string) => {
      bytes = Buffer.concat([bytes, Buffer.from(more)]);
    },
    isEnded: () => ended,
  };
}

describe("joined logs", () => {
  it("return the same bytes for every start and every length", async () => {
    const texts = ["first\n", "", "between\n", "second"];
    const log = await JoinedLog.of(texts.map(textPart), growing("last"));
    const whole = `${texts.join("")}last`;
    assert.equal(await log.size(), whole.length);
    for (let offset = 0; offset <= whole.length + 1; offset++)
      for (let length = 0; length <= whole.length + 1; length++)
        assert.equal((await log.read(offset, length)).toString(), whole.slice(offset, offset + length));
  });

  it("grow with the last one, and end with it", async () => {
    const last = growing("");
    const log = await JoinedLog.of([textPart("first\n")], last);
    assert.deepEqual([await log.size(), (await log.read(6, 10)).length], [6, 0]);
    last.add("more");
    assert.deepEqual([await log.size(), (await log.read(4, 10)).toString()], [10, "t\nmore"]);
    log.end();
    assert.equal(last.isEnded(), true);
  });

  it("end at a part that became shorter, so that later parts keep their offsets", async () => {
    const cut = { ...textPart("cut"), read: async (offset: number) => Buffer.from("c").subarray(offset) };
    const log = await JoinedLog.of([cut, textPart("next")], undefined);
    assert.equal((await log.read(0, 10)).toString(), "c");
    assert.equal((await log.read(3, 10)).toString(), "next");
  });
});
