/** Words of the web UI: health of schedules, times of a zone, errors of fields, scopes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiError, allScopes, scopesInWords } from "@millrace/contract";
import { errorOf, fieldOf, otherError } from "../src/look/field-errors.ts";
import { relativeTime } from "../src/look/relative-time.ts";
import { healthOf, taskHealthOf } from "../src/schedules/health.ts";
import { inZone } from "../src/schedules/zoned-time.ts";

describe("the health of a schedule", () => {
  const daily = { health: "ok", fired: 3, next_run: "2026-11-18T02:30:00Z", trigger_dataset: null } as const;
  const word = (facts: Partial<Parameters<typeof healthOf>[0]>) => healthOf({ ...daily, ...facts }).word;

  it("is not called ok before the first run, nor after the last", () => {
    assert.deepEqual([word({}), word({ fired: 0 }), word({ next_run: null })], [undefined, "Not run yet", "Done"]);
  });

  it("is ok without a next time if a dataset starts its runs", () => {
    assert.equal(word({ next_run: null, trigger_dataset: "raw" }), undefined);
  });

  it("says first what is wrong", () => {
    assert.deepEqual(healthOf({ ...daily, health: "failing", fired: 0 }), { status: "failing" });
    const task = { is_paused: false, last_error: "no room", fired: 1, next_run: null };
    assert.deepEqual(taskHealthOf(task), { status: "failing" });
  });
});

describe("a time in a zone", () => {
  it("has the year only if it is another one there", () => {
    const now = new Date("2026-12-31T20:00:00Z");
    assert.doesNotMatch(inZone("2026-11-17T12:00:00Z", "UTC", now), /2026/);
    assert.match(inZone("2027-01-01T00:30:00Z", "UTC", now), /2027.*00:30/);
    // In Tokyo it is already 2027.
    assert.doesNotMatch(inZone("2027-01-01T00:30:00Z", "Asia/Tokyo", now), /2027/);
  });
});

describe("an error of a form", () => {
  it("stands beside the field that it names, without the name", () => {
    const error = new ApiError("invalid", "username: expected 1 to 39 letters");
    assert.deepEqual([fieldOf(error), errorOf(error, "username")], ["username", "Expected 1 to 39 letters"]);
    assert.deepEqual([errorOf(error, "email"), otherError(error, ["username"])], [undefined, undefined]);
  });

  it("is shown whole if it names none", () => {
    const error = new ApiError("wrong_state", "The team is full.");
    assert.deepEqual([fieldOf(error), otherError(error, ["username"])], [undefined, error]);
  });
});

describe("a moment beside now", () => {
  const tuesday = new Date(2026, 10, 17, 18).getTime();
  const minute = 60_000;
  const at = (days: number, hour: number) => new Date(2026, 10, 17 + days, hour).getTime();

  it("is counted in days of the calendar", () => {
    assert.equal(relativeTime(at(2, 2), tuesday), "in 2 days", "Thursday is not tomorrow");
    assert.equal(relativeTime(at(1, 19), tuesday), "tomorrow");
    assert.equal(relativeTime(at(7, 18) - minute, tuesday), "in 7 days", "a link for seven days that was just made");
    assert.equal(relativeTime(at(-2, 17), tuesday), "2 days ago");
  });

  it("is counted in hours and minutes within a day", () => {
    assert.equal(relativeTime(at(1, 2), tuesday), "in 8 hr.");
    assert.equal(relativeTime(tuesday - 5 * minute, tuesday), "5 min. ago");
  });

  it("is rounded, not cut", () => {
    assert.equal(relativeTime(tuesday + 703 * minute, tuesday), "in 12 hr.");
    assert.equal(relativeTime(at(1, 18) - minute, tuesday), "tomorrow", "a day from now");
    assert.equal(relativeTime(tuesday + 60 * minute - 1000, tuesday), "in 1 hr.");
    assert.equal(relativeTime(at(0, 23), at(0, 0)), "in 23 hr.", "later today");
    assert.equal(relativeTime(tuesday - 59_800, tuesday), "1 min. ago");
  });
});

describe("scopes in words", () => {
  it("say what may only be read, and what is everything", () => {
    assert.equal(scopesInWords(["DATASETS:read", "JOB:read", "JOB:write"]), "Jobs; only reading: datasets");
    assert.equal(scopesInWords(["JOB:read", "CLUSTERS:read"]), "Only reading: jobs, clusters");
    assert.match(scopesInWords(allScopes), /^Everything/);
    assert.doesNotMatch(scopesInWords(allScopes.filter((scope) => scope !== "ADMIN:write")), /Everything/);
  });
});
