/** `npm pack` in a clone in which only the server's packages are installed. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const repository = join(import.meta.dirname, "../../../..");

test("packing without the development packages names the missing one and the remedy, and keeps the earlier build", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-packing-"));
  try {
    const home = join(folder, "packages/storage");
    await mkdir(join(home, "dist"), { recursive: true });
    await mkdir(join(folder, "scripts"));
    await copyFile(join(repository, "scripts/build.sh"), join(folder, "scripts/build.sh"));
    await copyFile(join(repository, "packages/storage/package.json"), join(home, "package.json"));
    await writeFile(join(home, "dist/index.js"), "");
    const { status, stderr } = spawnSync("sh", ["../../scripts/build.sh"], { cwd: home, encoding: "utf8" });
    assert.equal(status, 1);
    assert.match(stderr, /^Building this package needs tsc, a development package that is not installed\.\n/);
    assert.match(stderr, /Run `npm install` in the repository's root/);
    assert.doesNotMatch(stderr, /not found/);
    assert.equal(spawnSync("ls", [join(home, "dist")], { encoding: "utf8" }).stdout, "index.js\n");
  } finally {
    await rm(folder, { recursive: true });
  }
});
