import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);

it("the documented example of a scheme prints the documented output", async () => {
  const page = await readFile(join(import.meta.dirname, "../../docs/adding-a-scheme.md"), "utf8");
  const [, example = ""] = /```ts\n(.*?)```/s.exec(page) ?? [];
  const promised = Array.from(example.matchAll(/console\.log.*\/\/ (.*)$/gm), ([, text]) => text);
  assert.equal(promised.length, 5);
  const words = ["--conditions=millrace-source", "--disable-warning=ExperimentalWarning"];
  const typed = ["--input-type=module-typescript", "--eval", example];
  const { stdout } = await run(process.execPath, [...words, ...typed], { cwd: import.meta.dirname });
  assert.deepEqual(stdout.trim().split("\n"), promised);
});
