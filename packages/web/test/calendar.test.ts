/** The calendar of a schedule's outcomes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { weeksOf } from "../src/schedules/calendar.ts";

// A Tuesday.
const today = "2026-11-17";
const weeks = (dates: readonly string[], least = 1, most = 53) =>
  weeksOf(dates, (date) => date, today, { least, most });

describe("the weeks of a calendar", () => {
  it("begin on Monday, and end today", () => {
    assert.deepEqual(
      weeks([]).map((week) => week.map(({ date }) => date)),
      [["2026-11-16", "2026-11-17"]],
    );
    assert.equal(weeks([], 3).flat().length, 16);
  });

  it("reach back to the oldest item, but not further than allowed", () => {
    assert.equal(weeks(["2026-11-15"]).length, 2);
    assert.equal(weeks(["2026-11-09"]).length, 2);
    assert.equal(weeks(["2026-11-08"]).length, 3);
    assert.equal(weeks(["2020-01-01"], 1, 10).length, 10);
  });

  it("have the items of each day", () => {
    const found = weeks(["2026-11-17", "2026-11-17", "2026-11-16"]).flat();
    assert.deepEqual(
      found.map(({ items }) => items.length),
      [1, 2],
    );
  });
});
