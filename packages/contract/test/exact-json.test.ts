import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { replaceBareNumbers } from "../src/exact-json.ts";

describe("bare numbers of the library", () => {
  const replaced = (text: string) => replaceBareNumbers(text, (word) => `<${word}>`);

  it("are replaced outside of strings only", () => {
    assert.equal(
      replaced('{"NaN": NaN, "a\\"NaN": -Infinity, "b\\\\": [Infinity]}'),
      '{"NaN": <NaN>, "a\\"NaN": <-Infinity>, "b\\\\": [<Infinity>]}',
    );
  });

  // Trying an unterminated string again from each of its quotes would take minutes.
  it("are searched for once in a text with an unterminated string", { timeout: 60_000 }, () => {
    for (const end of ["", "\\", "\n\\", "\u2028"]) {
      const hostile = `"${'\\"'.repeat(130_000)}NaN${end}`;
      assert.equal(replaced(hostile), hostile);
    }
  });
});
