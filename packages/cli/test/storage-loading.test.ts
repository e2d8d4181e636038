import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);
const main = join(import.meta.dirname, "../src/main.ts");

/** Whether a command makes Node load the storage library. */
async function loadsStorage(...words: string[]): Promise<boolean> {
  const script = `
    import { registerHooks } from "node:module";
    registerHooks({ resolve(name, context, next) {
      if (name === "@millrace/storage") process.stderr.write("<storage>");
      return next(name, context);
    } });`;
  const hooks = `data:text/javascript,${encodeURIComponent(script)}`;
  const options = ["--conditions=millrace-source", "--disable-warning=ExperimentalWarning", "--import", hooks];
  const { stderr } = await run(process.execPath, [...options, "--", main, ...words]);
  return stderr.includes("<storage>");
}

describe("the storage library", () => {
  it("is loaded by its own commands, and by no others", async () => {
    assert.equal(await loadsStorage("storage", "explain", "memory://x", "--json"), true);
    assert.equal(await loadsStorage("--help"), false);
    assert.equal(await loadsStorage("storage", "ls", "--help"), false);
    assert.equal(await loadsStorage("completion", "bash"), false);
  });
});
