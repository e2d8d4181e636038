/** Ticks of cron expressions in time zones, compared with a list that is computed without the scheduler's own code. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { day, iso } from "../../src/domain/time/clock.ts";
import { newestTicks, nextTick, readTime } from "../../src/domain/time/ticks.ts";
import { checkTimezone } from "../../src/domain/time/time-zones.ts";
import { expectedTicks, wallsOf } from "../support/expected-ticks.ts";

const year = { from: Date.UTC(2026, 0, 1), to: Date.UTC(2027, 0, 1) };

function ticksOf(expression: string, timezone: string, { from, to }: { from: number; to: number }): number[] {
  const ticks: number[] = [];
  for (let tick = nextTick(expression, timezone, from - 1); tick !== undefined && tick < to; ) {
    ticks.push(tick);
    tick = nextTick(expression, timezone, tick);
  }
  return ticks;
}

const between = (expression: string, timezone: string, from: string, to: string) =>
  ticksOf(expression, timezone, { from: Date.parse(from), to: Date.parse(to) }).map(iso);

describe("ticks over a year", () => {
  for (const timezone of [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Africa/Casablanca",
  ]) {
    it(`in ${timezone} match the calendar`, () => {
      const walls = wallsOf(timezone, year.from, year.to);
      for (const expression of [
        "30 2 * * *",
        "0 0 * * *",
        "15 1,2,3 * * *",
        "*/10 2 * * *",
        "0 */2 * * *",
        "59 23 * * *",
        "0 * * * *",
        "30 * * * *",
        "*/20 * * * *",
        "0 * 4-5 4,10 *",
        "45 1 1 * *",
        "0 3 * * 1-5",
        "0 0 29 2 *",
        "30 4 13 * 5",
        "10 2 * 3,10,11 0",
      ]) {
        const what = `${expression} in ${timezone}`;
        assert.deepEqual(ticksOf(expression, timezone, year).map(iso), expectedTicks(expression, walls).map(iso), what);
      }
    });
  }
});

describe("where clocks change", () => {
  it("a named hour that does not exist ticks at the moment after the gap, together with what is due there", () => {
    assert.deepEqual(between("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", "2026-03-30T12:00Z"), [
      "2026-03-29T01:00:00.000Z",
      "2026-03-30T00:30:00.000Z",
    ]);
    assert.deepEqual(between("0 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00Z", "2026-03-29T12:00Z"), [
      "2026-03-29T01:00:00.000Z",
    ]);
    assert.deepEqual(between("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00Z", "2026-10-04T00:00Z"), [
      "2026-10-03T15:30:00.000Z",
    ]);
  });

  it("a named hour that occurs twice ticks the first time only", () => {
    assert.deepEqual(between("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", "2026-10-26T12:00Z"), [
      "2026-10-25T00:30:00.000Z",
      "2026-10-26T01:30:00.000Z",
    ]);
    assert.deepEqual(between("0 */2 * * *", "America/New_York", "2026-11-01T03:00Z", "2026-11-01T10:00Z"), [
      "2026-11-01T04:00:00.000Z",
      "2026-11-01T07:00:00.000Z",
      "2026-11-01T09:00:00.000Z",
    ]);
  });

  it("hourly and minutely expressions continue in real time", () => {
    const hours = (from: string, to: string) => between("30 * * * *", "Europe/Berlin", from, to);
    assert.equal(hours("2026-03-29T00:00Z", "2026-03-29T06:00Z").length, 6);
    assert.equal(hours("2026-10-25T00:00Z", "2026-10-25T06:00Z").length, 6);
    assert.equal(between("*/20 * * * *", "Europe/Berlin", "2026-10-25T00:00Z", "2026-10-25T03:00Z").length, 9);
  });

  it("a time without an offset is the first of two moments, or the one after the gap if it does not exist", () => {
    assert.equal(readTime("2026-10-25T02:30", "Europe/Berlin", "start_after"), "2026-10-25T00:30:00.000Z");
    assert.equal(readTime("2026-03-29T02:30", "Europe/Berlin", "start_after"), "2026-03-29T01:00:00.000Z");
  });
});

describe("the newest ticks of an outage", () => {
  const to = Date.UTC(2026, 9, 25, 5, 17, 3);
  for (const [expression, timezone] of [
    ["*/20 * * * *", "Europe/Berlin"],
    ["15 2 * * *", "Europe/Berlin"],
    ["*/10 2 * * *", "America/New_York"],
  ] as const)
    it(`of ${expression} in ${timezone} are the last of all missed ones`, () => {
      for (const days of [0, 1, 300]) {
        const from = to - days * day - 3 * 3_600_000;
        const walls = wallsOf(timezone, from - (from % 60_000) + 60_000, to);
        const all = expectedTicks(expression, walls).filter((tick) => tick >= from && tick <= to);
        assert.deepEqual(newestTicks(expression, timezone, { from, to }, 100).map(iso), all.slice(-100).map(iso));
      }
    });
});

describe("time zones", () => {
  it("are IANA names", () => {
    assert.equal(checkTimezone(" europe/berlin "), "Europe/Berlin");
    assert.equal(checkTimezone("GMT"), "UTC");
    for (const bad of ["", "+01:00", "Mars/Olympus", "Europe", "constructor", "CEST+1"])
      assert.throws(() => checkTimezone(bad), /timezone: expected an IANA time zone/, bad);
  });
});
