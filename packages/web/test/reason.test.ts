/** Reasons of failures, as the pages show them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { reasonLine, splitReason, withoutIds } from "../src/look/reason.ts";

describe("a reason", () => {
  it("names jobs without their ids", () => {
    assert.equal(
      withoutIds("final.sh (job 01a1e945-1f25-7068-8fa1-02d8a982fce0) failed: no rows (job 7)"),
      "final.sh failed: no rows (job 7)",
    );
  });

  it("in one line is the last line of the log, or its own first", () => {
    assert.equal(reasonLine("It ended with the exit code 1. Its log ends with: 9998\nno rows \n"), "no rows");
    assert.equal(reasonLine("It took too long.\nTry again."), "It took too long.");
  });

  it("is split from the lines of the log that it quotes", () => {
    assert.deepEqual(splitReason("It ended with the exit code 1. Its log ends with: 9998\n9999"), {
      sentence: "It ended with the exit code 1. Its log ends with:",
      tail: "9998\n9999",
    });
    assert.deepEqual(splitReason("It took too long."), { sentence: "It took too long.", tail: "" });
  });
});
