/** Keys of every page, and the entries of the command palette. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { actionOf } from "../src/frame/keys.ts";
import { fit, matching } from "../src/frame/palette-match.ts";

const press = (key: string, held: Partial<Record<"ctrlKey" | "metaKey" | "altKey", boolean>> = {}) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  ...held,
});

describe("keys of every page", () => {
  it("Ctrl+K and ⌘K open the palette, also while typing", () => {
    assert.deepEqual(actionOf(press("k", { ctrlKey: true }), true, false), { do: "palette" });
    assert.deepEqual(actionOf(press("K", { metaKey: true }), false, false), { do: "palette" });
  });

  it("single keys do nothing while typing, or with a modifier", () => {
    assert.deepEqual(actionOf(press("?"), false, false), { do: "sheet" });
    assert.equal(actionOf(press("?"), true, false), undefined);
    assert.equal(actionOf(press("n", { ctrlKey: true }), false, false), undefined);
  });

  it("g and a letter lead to a place; another letter after g does nothing", () => {
    assert.deepEqual(actionOf(press("g"), false, false), { do: "await-place" });
    assert.deepEqual(actionOf(press("j"), false, true), { do: "place", letter: "j" });
    assert.equal(actionOf(press("n"), false, true), undefined);
    assert.equal(actionOf(press("j"), false, false), undefined);
  });
});

describe("entries of the palette", () => {
  it("fit if they have every word; beginnings of words fit best", () => {
    assert.equal(fit("New pipeline", "x"), undefined);
    assert.equal(fit("New pipeline", "pipe ne"), 4);
    assert.deepEqual(
      matching(["unjobs", "All jobs", "Jobs"], (text) => text, "jo"),
      ["Jobs", "All jobs", "unjobs"],
    );
  });

  it("keep their order if nothing was typed", () => {
    assert.deepEqual(
      matching(["b", "a"], (text) => text, " "),
      ["b", "a"],
    );
  });
});
