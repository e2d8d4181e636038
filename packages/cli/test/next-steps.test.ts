/** An API error has a hint for the next step; the command line maps it to a command. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { ApiError, errorHints } from "@millrace/contract";
import { commands } from "../src/arguments.ts";
import { explainApiError } from "../src/connection.ts";
import { commands as nextSteps } from "../src/next-steps.ts";

it("has an existing command for every hint of the contract", () => {
  assert.deepEqual(Object.keys(nextSteps), Object.keys(errorHints));
  for (const step of Object.values(nextSteps)) {
    const [, path = ""] = /millrace ([a-z]+ [a-z-]+)/.exec(step) ?? [];
    assert.ok(path in commands, step);
  }
});

it("shows the command of the hint, otherwise the next step of the error code", () => {
  const found = explainApiError(new ApiError("not_found", "There is no team x.", { hint: "list_teams" }));
  assert.deepEqual([found?.why, found?.next], ["There is no team x.", "millrace team ls"]);
  assert.equal(explainApiError(new ApiError("unauthorized", "No token."))?.next, "millrace auth login");
  assert.equal(explainApiError(new ApiError("not_found", "There is no job x."))?.next, undefined);
});
