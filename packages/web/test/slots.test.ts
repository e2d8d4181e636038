/** The slots of a cluster that other teams use. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { slotsOfOthers } from "../src/clusters/slots-of-others.ts";

it("what the team's jobs do not hold is of other teams, and never less than nothing", () => {
  assert.equal(slotsOfOthers(4, [{ workers: 1 }, { workers: 2 }]), 1);
  assert.equal(slotsOfOthers(1, [{ workers: 2 }]), 0);
});
