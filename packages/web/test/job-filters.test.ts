/** Filters of the list of jobs: from the URL to the query of the API. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chipsOf, jobsQuery, readFilters, toggleChip } from "../src/jobs/job-filters.ts";

const now = Date.parse("2026-06-15T12:00:00Z");
const query = (search: string) => jobsQuery(readFilters(new URLSearchParams(search)), now);

describe("filters of the list of jobs", () => {
  it("are absent from the query if the URL has none", () => {
    assert.deepEqual(query(""), {});
    assert.deepEqual(query("q=%20&status=,"), {});
  });

  it("name groups of states by the words of the chips, or states by their own names", () => {
    assert.deepEqual(query("status=failed,canceled").status, ["FAILED", "CANCELED"]);
    assert.ok(query("status=running").status?.includes("INIT"));
    assert.deepEqual(query("status=ACTIVE").status, ["ACTIVE"]);
  });

  it("have the other conditions under the names of the API", () => {
    assert.deepEqual(query("q=a b&by=ann&tag=x, y&cluster=local&name=n"), {
      tag: ["x", "y"],
      search: "a b",
      created_by: "ann",
      cluster: "local",
      name: "n",
    });
  });

  it("turn spans and local times into moments, and ignore what is no time", () => {
    assert.equal(query("since=24h").created_after, "2026-06-14T12:00:00.000Z");
    assert.equal(query("from=2026-01-01T00:00").created_after, new Date("2026-01-01T00:00").toISOString());
    assert.deepEqual(query("from=nonsense&to=x&since=9y"), {});
  });

  it("a click on a chip adds it, a second removes it; the order is fixed", () => {
    const filters = readFilters(new URLSearchParams("status=complete"));
    assert.equal(toggleChip(filters, "failed"), "failed,complete");
    assert.equal(toggleChip(filters, "complete"), "");
    assert.deepEqual(chipsOf(filters), ["complete"]);
  });
});
