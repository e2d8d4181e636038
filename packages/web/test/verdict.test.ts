/** The sentence of the home: whether all is well since yesterday. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Job, Pipeline, PipelineScheduleItem } from "@millrace/contract";
import { type Facts, failuresOf, verdictOf, yesterday } from "../src/home/verdict.ts";

const since = new Date("2026-03-01T00:00:00.000Z");
const at = (hour: number) => new Date(since.getTime() + hour * 3_600_000).toISOString();

const pipeline = (id: string, status: string, finished_at: string | null, schedule_name: string | null = null) =>
  ({
    pipeline_id: id,
    name: id,
    status,
    finished_at,
    schedule_name,
    error_message: "why",
    created_at: at(0),
  }) as Pipeline;
const job = (id: string, pipeline_id: string | null = null) =>
  ({ id, name: id, pipeline_id, error_message: "why", finished_at: at(1), created_at: at(1) }) as Job;
const schedule = (schedule_name: string, health: string) => ({ schedule_name, health }) as PipelineScheduleItem;
const textOf = (facts: Partial<Facts>) => verdictOf({ pipelines: [], failedJobs: [], schedules: [], ...facts }, since);

describe("the verdict", () => {
  it("is good if nothing failed, and counts what completed", () => {
    assert.deepEqual(textOf({}), { tone: "good", text: "All is well: nothing failed since yesterday." });
    const pipelines = [
      pipeline("b", "COMPLETED", at(2)),
      pipeline("a", "COMPLETED", at(1)),
      pipeline("old", "FAILED", at(-1)),
    ];
    assert.equal(textOf({ pipelines }).text, "All is well: 2 pipelines completed since yesterday, and nothing failed.");
    assert.equal(textOf({ schedules: [schedule("nightly", "paused")] }).tone, "good");
  });

  it("names the schedule in trouble, and counts the rest", () => {
    const facts = {
      schedules: [schedule("nightly", "failing"), schedule("hourly", "ok")],
      pipelines: [pipeline("a", "FAILED", at(1), "nightly")],
      failedJobs: [job("x"), job("y")],
    };
    assert.deepEqual(textOf(facts), {
      tone: "bad",
      text: "The schedule nightly is failing; 1 pipeline and 2 jobs failed since yesterday.",
    });
    const skips = textOf({ schedules: [schedule("a", "skipping"), schedule("b", "skipping")] });
    assert.deepEqual(skips, { tone: "warn", text: "2 schedules are skipping runs." });
  });

  it("counts a failed run of a pipeline once, as the pipeline, and leaves out what completed later", () => {
    const failed = pipeline("a", "FAILED", at(1), "nightly");
    const facts = { pipelines: [pipeline("b", "COMPLETED", at(2), "nightly"), failed], failedJobs: [job("x", "a")] };
    assert.equal(textOf(facts).tone, "good");
    assert.deepEqual(
      failuresOf({ schedules: [], ...facts }, since).map(({ id, isMended }) => [id, isMended]),
      [["a", true]],
    );
  });

  it("begins with yesterday's first moment", () => {
    assert.equal(yesterday(new Date(2026, 2, 1, 7).getTime()).getTime(), new Date(2026, 1, 28).getTime());
  });
});
