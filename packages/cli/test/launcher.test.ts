/** The launcher `bin/millrace`: found through links, on the right runtime, loading no more than it needs. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";

const launcher = join(import.meta.dirname, "../bin/millrace");
const version = `${(JSON.parse(await readPackage()) as { version: string }).version}\n`;
const folder = mkdtempSync(join(tmpdir(), "millrace-launcher-"));
after(() => rmSync(folder, { recursive: true }));

async function readPackage() {
  const { readFile } = await import("node:fs/promises");
  return readFile(join(import.meta.dirname, "../package.json"), "utf8");
}

interface Surroundings {
  readonly cwd?: string;
  readonly path?: string;
  readonly env?: Record<string, string>;
}
function run(
  program: string,
  words: string[],
  { cwd = folder, path = process.env["PATH"] ?? "", env = {} }: Surroundings = {},
) {
  const { stdout, stderr, status } = spawnSync(program, words, {
    cwd,
    encoding: "utf8",
    env: { PATH: path, HOME: folder, ...env },
  });
  return { stdout, stderr, status };
}

/** The launcher alone, copied to a separate folder, with only `dist` to start. */
function install(name: string, packageFolder: string): string {
  const root = join(folder, name, packageFolder);
  mkdirSync(join(root, "bin"), { recursive: true });
  mkdirSync(join(root, "dist"));
  copyFileSync(launcher, join(root, "bin/millrace"));
  writeFileSync(join(root, "package.json"), '{"type":"module"}');
  writeFileSync(join(root, "dist/main.js"), "console.log(process.argv.slice(2), process.execArgv.length);");
  return join(root, "bin/millrace");
}

/** A folder for PATH with the tools that the launcher needs and a `node` with this text. */
function pathWith(name: string, node: string | undefined): string {
  const bin = join(folder, name);
  mkdirSync(bin);
  for (const tool of ["sh", "readlink", "dirname"]) symlinkSync(which(tool), join(bin, tool));
  if (node !== undefined) {
    writeFileSync(join(bin, "node"), `#!/bin/sh\n${node}\n`);
    chmodSync(join(bin, "node"), 0o755);
  }
  return bin;
}
const which = (tool: string) => spawnSync("sh", ["-c", `command -v ${tool}`], { encoding: "utf8" }).stdout.trim();

describe("the launcher", () => {
  it("starts from any folder", () => {
    assert.deepEqual(run(launcher, ["--version"]), { stdout: version, stderr: "", status: 0 });
  });
  it("starts through absolute, relative and chained links, in folders with spaces", () => {
    const links = join(folder, "my links");
    mkdirSync(join(links, "inner"), { recursive: true });
    symlinkSync(launcher, join(links, "absolute"));
    symlinkSync("../absolute", join(links, "inner/relative"));
    symlinkSync("inner/relative", join(links, "first"));
    assert.equal(run(join(links, "first"), ["--version"]).stdout, version);
    assert.equal(run("./first", ["--version"], { cwd: links }).stdout, version);
  });
  it("starts from PATH", () => {
    const bin = join(folder, "bin");
    mkdirSync(bin);
    symlinkSync(launcher, join(bin, "millrace"));
    assert.equal(run("millrace", ["--version"], { path: `${bin}:${process.env["PATH"]}` }).stdout, version);
  });
  it("passes arguments unchanged, and returns the exit code", () => {
    const { stderr, status } = run(launcher, ["job", "two words *"]);
    assert.match(stderr, /'millrace job two words \*'/);
    assert.equal(status, 64);
  });
  it("uses the runtime of the workspace, not an older one on PATH", () => {
    const path = pathWith("with old node", "echo v20.0.0");
    assert.equal(run(launcher, ["--version"], { path }).stdout, version);
  });
  it("uses the machine's own Node if none was installed with it and it is new enough", () => {
    const program = install("new", "packages/cli");
    const path = pathWith("with new node", `exec '${process.execPath}' "$@"`);
    assert.equal(run(program, ["a b"], { path }).stdout, "[ 'a b' ] 1\n");
  });
  it("says in one line what is wrong, why, and what to do if Node is old or missing", () => {
    const program = install("old", "packages/cli");
    for (const [name, node, found] of [
      ["older node", "echo v22.9.0", "v22.9.0"],
      ["odd node", "echo what", "what"],
      ["broken node", "exit 1", "none"],
      ["no node", undefined, "none"],
    ] as const) {
      const { stdout, stderr, status } = run(program, [], { path: pathWith(name, node) });
      assert.deepEqual([stdout, status], ["", 1], name);
      assert.match(stderr, new RegExp(`^error: .*needs Node 24 or newer and found ${found}; run 'npm install' .*\n$`));
    }
  });
  it("finds the runtime beside it if npm has installed it as a package", () => {
    const program = install("app", "node_modules/@millrace/cli");
    const bin = join(dirname(program), "../../../.bin");
    mkdirSync(bin);
    symlinkSync(process.execPath, join(bin, "node"));
    assert.equal(run(program, [], { path: pathWith("very old node", "echo v8.0.0") }).stdout, "[] 1\n");
  });
});

describe("start-up", () => {
  /** The modules of ours and of others that a command loads. */
  function loaded(...words: string[]): string {
    const hook = `import { registerHooks } from "node:module";
registerHooks({ load(url, context, next) { if (url.startsWith("file:")) console.error(url); return next(url, context); } });`;
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` };
    return run(launcher, words, { env }).stderr;
  }

  it("of help, completion and the version loads no contract, no server and no socket", () => {
    for (const words of [["--help"], ["job", "run", "--help"], ["--version"], ["completion", "bash"]]) {
      assert.doesNotMatch(
        loaded(...words),
        /contract|server|typebox|node_modules\/ws|toml|commands\/job/,
        words.join(" "),
      );
    }
  });
  it("of a job list loads no server, no socket and no other command", () => {
    const modules = loaded("job", "ls");
    assert.match(modules, /contract/);
    assert.doesNotMatch(
      modules,
      /packages\/server|fastify|node_modules\/ws|commands\/auth|job\/(follow|upload|compose)/,
    );
  });
});
