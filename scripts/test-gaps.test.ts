import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";

/** Runs a test file with this content; returns the output of the reporter. */
async function gapsOf(folder: string, content: string): Promise<string> {
  const [file, output] = [join(folder, "some.test.ts"), join(folder, "gaps")];
  await writeFile(file, `import { before, describe, it } from "node:test";\n${content}`);
  const reporter = join(import.meta.dirname, "test-gaps.ts");
  const words = ["--test", `--test-reporter=${reporter}`, `--test-reporter-destination=${output}`, file];
  // The runner refuses to start inside a test that it considers its own.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  await promisify(execFile)(process.execPath, words, { cwd: folder, env });
  return readFile(output, "utf8");
}

describe("the reporter of gaps", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-gaps-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const rules: readonly [rule: string, content: string, printed: string][] = [
    ["is silent about a file whose tests ran", 'it("runs", () => {});', ""],
    ["names a file without tests", "", "empty some.test.ts\n"],
    ["names a file with an empty suite", 'describe("suite", () => {});', "empty some.test.ts\n"],
    [
      "names a file whose process ended before its tests, with exit code 0",
      'describe("suite", () => { before(() => process.exit(0)); it("runs", () => {}); });',
      "empty some.test.ts\n",
    ],
    [
      "names a file whose process ended between its tests, with exit code 0",
      'it("first", () => {}); it("second", () => process.exit(0)); it("third", () => {});',
      "empty some.test.ts\n",
    ],
    [
      "names a skipped test with its reason",
      'it("digs", { skip: "needs root" }, () => {});',
      "skipped digs: needs root\n",
    ],
    [
      "names a test that is still to be done, whose failure counts for nothing",
      'it("flies", { todo: "later" }, () => { throw new Error("no"); });',
      "todo flies: later\n",
    ],
    [
      "names a suite that is skipped whole, and does not call its file empty",
      'describe("mine", { skip: "needs root" }, () => { it("digs", () => {}); });',
      "skipped mine: needs root\n",
    ],
    [
      "names a file that skipped something and then ended between its tests",
      'describe("mine", { skip: "needs root" }, () => {}); it("runs", async () => { await new Promise((r) => setTimeout(r, 500)); process.exit(0); }); it("next", () => {});',
      "skipped mine: needs root\nempty some.test.ts\n",
    ],
  ];
  for (const [rule, content, printed] of rules) {
    it(rule, async () => assert.equal(await gapsOf(folder, content), printed));
  }
});
