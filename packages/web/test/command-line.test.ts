/** Commands of the command line: what is quoted, and which flags are left out. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { commandLine } from "../src/look/command-line.ts";

describe("a command line", () => {
  it("quotes its words, and has the team", () => {
    assert.equal(commandLine("main", ["dataset", "show", "it's"]), "millrace dataset show 'it'\\''s' --team main");
  });

  it("has the flags that are given, also without a value, and values that look like flags", () => {
    const flags = { run: true, wait: false, cron: "", limit: 3, search: "-x y", status: undefined };
    assert.equal(commandLine("main", ["ls"], flags), "millrace ls --run --limit 3 --search='-x y' --team main");
  });
});
