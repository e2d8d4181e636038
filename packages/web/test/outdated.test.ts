/** Which answers a notice outdates. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
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
    const queryFn = async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return ++reads;
    };
    const unsubscribe = new QueryObserver(cache, { queryKey: list, queryFn }).subscribe(() => {});
    await new Promise((resolve) => setTimeout(resolve, 100));
    const outdated = new Outdated(cache, "main");
    for (let count = 0; count < 20; count++) {
      outdated.add({ changed: [{ kind: "jobs", ids: [String(count)] }] });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await new Promise((resolve) => setTimeout(resolve, 800));
    assert.equal(reads, 3, "the first answer, the first notice, and all others together");
    unsubscribe();
    cache.clear();
  });
});
