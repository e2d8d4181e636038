/** Every runtime: its commands run for real, as an engine would run them. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { type QueryType, queryTypes } from "@millrace/contract";
import { jobPython, type Runtime } from "../../src/runtimes/runtime.ts";
import { runtimeOf } from "../../src/runtimes/runtimes.ts";

/** A script of each query type that prints its own name; a type without a script is refused. */
const scripts: Partial<Record<QueryType, string>> = {
  PYTHON: "import sys\nprint(sys.argv[0])\n",
  SHELL: 'echo "$0"\n',
};

const metadata = "# /// script\n# dependencies = ['six']\n# ///\n";

describe("a runtime", () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-runtimes-"));
  after(() => rmSync(folder, { recursive: true }));

  function run({ command }: Runtime, filename: string, query: string): string {
    writeFileSync(join(folder, filename), query);
    chmodSync(join(folder, filename), 0o700);
    const [program = "", ...words] = command(filename, query).map((word) => (word === jobPython ? "python3" : word));
    return execFileSync(program, words, { cwd: folder, encoding: "utf8" }).trim();
  }

  for (const [queryType, script] of Object.entries(scripts) as [QueryType, string][]) {
    const runtime = runtimeOf(queryType);

    it(`of ${queryType} runs a script in the working directory, under its own or its default name`, () => {
      for (const filename of ["report", runtime.filename])
        assert.match(run(runtime, filename, script), new RegExp(`^(\\./)?${filename.replace(".", "\\.")}$`));
    });

    it(`of ${queryType} asks for Python if its command needs it`, () => {
      assert.equal(runtime.command(runtime.filename, script).includes(jobPython), runtime.needsPython);
      assert.equal(runtime.interpreter.includes(jobPython), runtime.needsPython);
    });
  }

  it("of a shell script uses the program that its first line names", () => {
    assert.equal(run(runtimeOf("SHELL"), "named", "#!/usr/bin/env python3\nprint(6 * 7)\n"), "42");
  });

  it("reads the metadata of Python scripts, and treats it as a comment in others", () => {
    assert.deepEqual(runtimeOf("PYTHON").readMetadata(metadata), { requirements: "six" });
    assert.deepEqual(runtimeOf("SHELL").readMetadata(metadata), {});
  });

  it("assumes that an unread Python script may import the library", () => {
    assert.equal(runtimeOf("PYTHON").mayImportLibrary(undefined), true);
    assert.equal(runtimeOf("PYTHON").mayImportLibrary("print(1)"), false);
    assert.equal(runtimeOf("SHELL").mayImportLibrary(undefined), false);
  });

  it("is missing for an unsupported query type, and the error lists the supported ones", () => {
    for (const queryType of queryTypes.filter((type) => !(type in scripts)))
      assert.throws(
        () => runtimeOf(queryType),
        new RegExp(`query_type: expected ${Object.keys(scripts).join(" or ")} \\(no engine runs ${queryType} yet`),
      );
  });
});
