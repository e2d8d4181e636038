import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { progressText } from "../src/storage/progress.ts";

describe("the progress of a transfer", () => {
  const total = { files: 4, bytes: 2000 };

  it("is shown as a bar, a percentage, and both amounts", () => {
    const text = progressText({ files: 1, bytes: 500 }, total);
    assert.equal(text, `[######${" ".repeat(18)}] 25%  500 B of 2 KiB, 1 of 4 files`);
  });

  it("never exceeds 100 percent, and is complete if there are no bytes to transfer", () => {
    assert.match(progressText({ files: 4, bytes: 9999 }, total), /^\[#{24}\]100% /);
    assert.match(progressText({ files: 0, bytes: 0 }, { files: 1, bytes: 0 }), /^\[#{24}\]100% /);
  });

  it("shows only the transferred amount if the total is unknown", () => {
    assert.equal(progressText({ files: 2, bytes: 5 }, undefined), "5 B, 2 files");
  });
});
