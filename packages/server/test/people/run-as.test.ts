/** As whom runs and tasks run after one or several handovers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Job } from "@millrace/contract";
import { inNameOf, type RunAs, readRunAs, runsAs, succeed } from "../../src/domain/lifecycle/run-as.ts";
import type { Db } from "../../src/store/drivers/store.ts";
import type { ShortJob } from "../../src/store/queries/jobs/jobs.ts";

const [ann, ben, cat] = [1, 2, 3];

describe("the user as whom work runs", () => {
  it("is its creator, unless it was handed over", () => {
    assert.equal(runsAs(readRunAs({ run_as: "" }), ann), ann);
    assert.equal(runsAs({ all: ben }, ann), ben);
    assert.equal(runsAs({ of: { [ann]: ben } }, ann), ben);
    assert.equal(runsAs({ of: { [ann]: ben } }, cat), cat);
  });

  const after = (...changes: readonly [from: number, to: number][]) =>
    changes.reduce<RunAs>((runAs, [from, to]) => succeed(runAs, from, to), {});

  it("is the last successor of its creator", () => {
    const runAs = after([ann, ben], [ben, cat]);
    assert.deepEqual(
      [ann, ben, cat].map((user) => runsAs(runAs, user)),
      [cat, cat, cat],
    );
  });

  it("is its creator again if that user is the successor's successor", () => {
    const runAs = after([ann, ben], [ben, ann]);
    assert.deepEqual(
      [ann, ben].map((user) => runsAs(runAs, user)),
      [ann, ann],
    );
  });

  it("of all runs is replaced with their scope limit, and stays if somebody else leaves", () => {
    assert.deepEqual(succeed({ all: ben, scopes: ["JOB:read"] }, ben, cat), { all: cat });
    const kept: RunAs = { all: ben, scopes: ["JOB:read"] };
    assert.deepEqual(succeed(kept, ann, cat), kept);
  });

  it("keeps the namespace of the script's author, also for a job that ran as somebody else before", async () => {
    const db = undefined as unknown as Db;
    const spec = JSON.stringify({ tags: [], home: "ann" });
    const draft = { user_id: ben, scopes: '["JOB:write"]', spec } as ShortJob;
    const given = await inNameOf(db, { run_as: JSON.stringify({ of: { [ben]: cat } }) }, draft);
    assert.deepEqual([given.user_id, (JSON.parse(given.spec) as Job).home], [cat, "ann"]);
    assert.equal(given.scopes, draft.scopes);
  });
});
