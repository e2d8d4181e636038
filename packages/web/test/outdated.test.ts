/** Which answers a notice outdates. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { isOutdated, Outdated } from "../src/api/outdated.ts";

const list = ["listJobs", "main", { query: { limit: 50 } }];
const job = ["listJobs", "main", { query: { job_id: "a" } }];

describe("a notice", () => {
  it("outdates the answers of its kind, in its team", () => {
    const jobs = new Map([["jobs", undefined]] as const);
    assert.ok(isOutdated(list, "main", jobs));
    assert.ok(isOutdated(["getJobUsage", "main", { params: { job_id: "a" } }], "main", jobs));
    assert.ok(!isOutdated(list, "other", jobs));
    assert.ok(!isOutdated(["listWebhooks", "main", {}], "main", jobs));
    assert.ok(isOutdated(["whoAmI", undefined, {}], "main", new Map([["teams", undefined]] as const)));
  });

  it("with ids outdates lists, and of the answers about one job only those that it names", () => {
    const changed = new Map([["jobs", new Set(["b"])]] as const);
    assert.ok(isOutdated(list, "main", changed));
    assert.ok(!isOutdated(job, "main", changed));
    assert.ok(isOutdated(["listJobs", "main", { query: { job_id: "b" } }], "main", changed));
  });

  it("that comes during a reading counts after it, and many are read together", async () => {
    const cache = new QueryClient();
    let reads = 0;
    let gate = Promise.resolve();
    const queryFn = async () => {
      await gate;
      return ++reads;
    };
    const readTimes = async (times: number) => {
      while (reads < times) await sleep(5);
    };
    const unsubscribe = new QueryObserver(cache, { queryKey: list, queryFn }).subscribe(() => {});
    await readTimes(1);
    const slow = Promise.withResolvers<void>();
    gate = slow.promise;
    const outdated = new Outdated(cache, "main");
    for (let count = 0; count < 20; count++) outdated.add({ changed: [{ kind: "jobs", ids: [String(count)] }] });
    slow.resolve();
    await readTimes(3);
    await sleep(600);
    assert.equal(reads, 3, "the first answer, the first notice, and all others together");
    unsubscribe();
    cache.clear();
  });
});
