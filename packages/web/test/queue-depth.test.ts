/** The number of waiting jobs over time. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JobStatus } from "@millrace/contract";
import { queueDepth } from "../src/clusters/queue-depth.ts";

const at = (second: number) => new Date(second * 1000).toISOString();
const job = (status: JobStatus, created: number, started?: number, finished?: number) => ({
  status,
  created_at: at(created),
  started_at: started === undefined ? null : at(started),
  finished_at: finished === undefined ? null : at(finished),
});

describe("the depth of the queue", () => {
  it("rises when a job is created, and falls when it starts or is canceled", () => {
    const jobs = [job("QUEUED", 30), job("CANCELED", 20, undefined, 40), job("COMPLETE", 10, 25, 50)];
    const steps = queueDepth(jobs, 60_000).map((point) => [point.at / 1000, point.value]);
    assert.deepEqual(
      steps.filter((_, index) => index % 2 === 1 || index === steps.length - 1),
      [
        [10, 1],
        [20, 2],
        [25, 1],
        [30, 2],
        [40, 1],
        [60, 1],
      ],
    );
  });

  it("is empty without jobs, and leaves out tasks and drafts", () => {
    assert.deepEqual(queueDepth([job("TASK", 1), job("PENDING", 2)], 9), []);
  });
});
