import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { durationWords, readDuration, retryWait } from "../src/index.ts";

describe("durations", () => {
  it("are parsed as seconds, with or without a unit", () => {
    assert.deepEqual(["90", "30s", "10m", " 2 h ", "1d", "0"].map(readDuration), [90, 30, 600, 7200, 86_400, 0]);
  });

  it("are undefined for anything else", () => {
    const wrong = ["", "m", "-1", "1.5h", "10 minutes", "1w", "10m30s", "9999999999"];
    assert.deepEqual(
      wrong.map(readDuration),
      wrong.map(() => undefined),
    );
  });

  it("are formatted in the largest unit that divides them", () => {
    const told = [1, 90, 600, 3600, 5400, 172_800, 0].map(durationWords);
    assert.deepEqual(told, ["1 second", "90 seconds", "10 minutes", "1 hour", "90 minutes", "2 days", "0 seconds"]);
  });

  it("before retries double, up to an hour; without a delay there is none", () => {
    assert.deepEqual(
      [1, 2, 3, 8, 20].map((retry) => retryWait(30, retry)),
      [30, 60, 120, 3600, 3600],
    );
    assert.equal(retryWait(0, 20), 0);
  });
});
