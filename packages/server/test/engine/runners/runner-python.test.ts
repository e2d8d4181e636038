/** Which Python a runner chooses on its machine. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { satisfies } from "../../../src/engines/local/environments/interpreters.ts";

const runnerPath = join(import.meta.dirname, "../../../src/engines/runners/runner.py");

const loaded = `
import importlib.util, json, os, sys
spec = importlib.util.spec_from_file_location("runner", sys.argv[1])
runner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runner)
`;

/** Prints whether versions satisfy what is wanted, for pairs of both. */
const satisfied = `${loaded}
print(json.dumps([runner.satisfies(version, wanted) for version, wanted in json.loads(sys.argv[2])]))
`;

/** Prints the interpreter that a runner of version 3.8.1 chooses. */
const chosen = `${loaded}
runner.own_version = lambda: "3.8.1"
one = runner.Runner.__new__(runner.Runner)
one.job = {"python_version": sys.argv[2]}
try:
    print(one.choose_python())
except LookupError as error:
    print(error)
`;

const python = (program: string, given: string, env = process.env) =>
  execFileSync("python3", ["-B", "-c", program, runnerPath, given], { encoding: "utf8", env }).trim();

describe("a runner", () => {
  it("understands wishes for Python as the server's own machine does", () => {
    const versions = ["3.9", "3.9.0", "3.10.2", "3.11.7", "3.12.0", "3.13.0rc1", "3.20.1", "4.0.0"];
    const wishes = [
      ...["3", "3.1", "3.11", "3.11.7", "v3.12", "==3.*", "==3.11.*", "== 3.12", "!=3.11", "!=3.11.*", "~=3.10", "~=3"],
      ...["~=3.11.2", ">=3.9", ">=3.10,<3.13", ">= 3.10 , < 4", "<=3.11", "<3.11", ">3.11", ">3.10,!=3.11.7", "<3"],
      ...["rubbish", ">=", "3.x"],
    ];
    const pairs = wishes.flatMap((wanted) => versions.map((version) => [version, wanted] as const));
    const local = pairs.map(([version, wanted]) => satisfies(version, wanted));
    const told = JSON.parse(python(satisfied, JSON.stringify(pairs))) as boolean[];
    const table = (answers: readonly boolean[]) => pairs.map(([version, wanted], at) => [version, wanted, answers[at]]);
    assert.deepEqual(table(told), table(local));
    assert.ok(local.includes(true) && local.includes(false));
  });

  describe("on a machine with several", () => {
    let folder: string;
    before(() => {
      folder = mkdtempSync(join(tmpdir(), "millrace-pythons-"));
      for (const version of ["3.9.18", "3.10.2", "3.12.4"]) {
        const path = join(folder, `python${version.replace(/\.\d+$/, "")}`);
        writeFileSync(path, `#!/bin/sh\necho ${version}\n`);
        chmodSync(path, 0o755);
      }
    });
    after(() => rmSync(folder, { recursive: true }));
    const chooses = (wanted: string) =>
      python(
        `import os; os.environ["PATH"] = ${JSON.stringify("FOLDER")}\n${chosen}`.replace("FOLDER", folder),
        wanted,
      );

    it("chooses its own if that matches, otherwise the newest that does", () => {
      assert.equal(chooses("3.8"), python("import sys; print(sys.executable)", ""));
      assert.equal(chooses(">=3.9"), join(folder, "python3.12"));
      assert.equal(chooses(">=3.9,<3.12"), join(folder, "python3.10"));
      assert.equal(chooses("3.9"), join(folder, "python3.9"));
    });

    it("tells the versions that there are if none matches", () => {
      assert.match(
        chooses("3.1"),
        /^Python 3\.1 is not installed on .*Installed versions: 3.12.4, 3.10.2, 3.9.18, 3.8.1\.$/,
      );
    });
  });
});
