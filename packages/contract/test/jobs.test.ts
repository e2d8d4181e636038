import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  allows,
  followExitCode,
  isIn,
  jobActions,
  jobStates,
  jobStatuses,
  jobTransitions,
  statusGroups,
} from "@millrace/contract";

describe("the state machine of jobs", () => {
  it("has the thirteen states of the contract", () => {
    assert.deepEqual(
      [...jobStatuses].sort(),
      "CANCELED CANCELING CANCELING_SCHEDULED COMPLETE CREATED FAILED INIT PENDING PROVISIONING QUEUED RUNNING SCHEDULED TASK".split(
        " ",
      ),
    );
  });

  it("leads from every state to a final one, and from a final one nowhere", () => {
    const ends = jobStatuses.filter((status) => jobTransitions[status].length === 0);
    assert.deepEqual([...jobStates.final].sort(), ends.sort());
    assert.deepEqual([...Object.values(jobStates).flat(), "TASK"].sort(), [...jobStatuses].sort(), "each in one group");
    for (const status of jobStatuses) {
      const reached = new Set<string>([status]);
      for (const state of reached)
        for (const next of jobTransitions[state as keyof typeof jobTransitions]) reached.add(next);
      assert.ok(
        [...reached].some((state) => isIn("final", state as keyof typeof jobTransitions)),
        `${status} has no way to an end`,
      );
    }
  });

  it("divides the states into ACTIVE and INACTIVE", () => {
    const { ACTIVE = [], INACTIVE = [] } = statusGroups;
    assert.deepEqual([...ACTIVE, ...INACTIVE].sort(), [...jobStatuses].sort());
    assert.ok(ACTIVE.includes("CANCELING_SCHEDULED"));
    assert.ok(INACTIVE.includes("TASK"));
  });

  it("allows a cancellation exactly in states that lead to CANCELED and are not being canceled yet", () => {
    for (const status of jobActions.cancel) assert.ok(!isIn("final", status), status);
    assert.equal(allows("cancel", "RUNNING"), true);
    assert.equal(allows("cancel", "COMPLETE"), false);
    assert.equal(allows("cancel", "CANCELING"), false);
  });

  it("gives a followed job the exit code 0, 1 or 2", () => {
    assert.deepEqual(
      ["COMPLETE", "FAILED", "CANCELED", "TASK"].map((s) => followExitCode(s as "COMPLETE")),
      [0, 1, 2, 0],
    );
  });

  it("equals the diagram in docs/jobs.md, edge by edge", async () => {
    const text = await readFile(join(import.meta.dirname, "../../../docs/jobs.md"), "utf8");
    const drawn = [...text.matchAll(/^ *([A-Z_]+) --> ([A-Z_]+)/gm)].map(([, from, to]) => `${from} ${to}`).sort();
    const declared = jobStatuses.flatMap((from) => jobTransitions[from].map((to) => `${from} ${to}`)).sort();
    assert.deepEqual(drawn, declared);
  });
});
