/** Completion scripts are valid for their shells, and complete. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { bashScript } from "../src/completion/bash.ts";
import { fishScript } from "../src/completion/fish.ts";
import { allCommands, flagsOf } from "../src/completion/words.ts";
import { zshScript } from "../src/completion/zsh.ts";

const scripts = { bash: bashScript(), zsh: zshScript(), fish: fishScript() };
const has = (shell: string) => spawnSync(shell, ["-c", "true"]).status === 0;

describe("completion", () => {
  for (const [shell, script] of Object.entries(scripts)) {
    it(`for ${shell} is a valid ${shell} script`, { skip: !has(shell) && `there is no ${shell} here` }, () => {
      const file = join(mkdtempSync(join(tmpdir(), "millrace-completion-")), "script");
      writeFileSync(file, script);
      const { status, stderr } = spawnSync(shell, ["-n", file], { encoding: "utf8" });
      assert.equal(status, 0, stderr);
    });
    it(`for ${shell} contains every command and every flag`, () => {
      for (const [path, command] of allCommands) {
        assert.ok(script.includes(path), path);
        for (const [name] of flagsOf(command)) {
          assert.ok(script.includes(shell === "fish" ? `-l ${name} ` : `--${name}`), `${path} --${name}`);
        }
      }
    });
  }
});

describe("in bash, the next word is", { skip: !has("bash") && "there is no bash here" }, () => {
  /** What bash would offer for the last of these words. */
  function offered(...words: string[]): string[] {
    const script = `${scripts.bash}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _millrace; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = spawnSync("bash", ["-c", script, "bash", "millrace", ...words], {
      cwd: import.meta.dirname,
      encoding: "utf8",
    });
    return stdout.trim().split("\n").filter(Boolean).sort();
  }

  it("a command", () => {
    assert.deepEqual(offered("c"), ["cluster", "completion", "credentials"]);
    assert.deepEqual(offered("job", "r"), ["rerun", "run"]);
  });
  it("a flag of this command", () => {
    assert.deepEqual(offered("job", "run", "--no"), ["--no-follow", "--no-wait"]);
    assert.deepEqual(offered("auth", "logout", "--l"), ["--local"]);
  });
  it("one of the values that a flag or an argument accepts", () => {
    assert.deepEqual(offered("completion", ""), ["bash", "fish", "zsh"]);
    assert.deepEqual(offered("job", "ls", "--status", "A"), ["ACTIVE"]);
  });
  it("a file where a file is expected, also further on in a list", () => {
    assert.deepEqual(offered("job", "run", "comp"), ["completion.test.ts", "compose.test.ts"]);
    assert.deepEqual(offered("job", "run", "x", "--files", "a", "comple"), ["completion.test.ts"]);
  });
  it("nothing where any value is possible", () => {
    assert.deepEqual(offered("job", "ls", "--team", ""), []);
  });
});
