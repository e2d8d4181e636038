/** With `auto`, a bad moment at the start must not weaken the isolation of jobs. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { isPassing, tryLevel } from "../../src/engines/local/isolation/kept-level.ts";
import { openIsolation } from "../../src/engines/local/isolation/open-isolation.ts";
import { findPrograms } from "../../src/engines/local/isolation/programs.ts";
import { DataFolder } from "../../src/machine/data-folder.ts";

const run = promisify(execFile);
const skip = process.getuid?.() === 0 ? false : "needs root, to mount a small disk";

describe("the isolation level of a data folder", { skip }, () => {
  let dataDir: string;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "millrace-level-"));
    await run("mount", ["-t", "tmpfs", "-o", "size=4m,mode=755", "tmpfs", dataDir]);
    await mkdir(join(dataDir, "jobs"));
  });
  after(async () => {
    await run("umount", ["-l", dataDir]);
    await rm(dataDir, { recursive: true });
  });

  const open = async (wanted: "auto" | "uid" = "auto", broken = {}) => {
    const options = { users: { first: 58_100, last: 58_105 }, jobPaths: [], hidden: [], jobEnvironment: {} };
    const { isolation } = await openIsolation(
      { ...options, wanted, folders: new DataFolder(dataDir).engine, limits: { memory: 0 }, countsMemory: true },
      { ...(await findPrograms({})), ...broken },
    );
    isolation.close();
    return isolation.level;
  };
  it("stays the same if the disk is full at a start", async () => {
    assert.equal(await open(), "bwrap");
    const { bavail, bsize } = await statfs(dataDir);
    await writeFile(join(dataDir, "fill"), Buffer.alloc(bavail * bsize));
    assert.equal((await statfs(dataDir)).bavail, 0);
    assert.equal(await open(), "bwrap");
    await rm(join(dataDir, "fill"));
    assert.equal(await open(), "bwrap");
  });

  it("is not weakened without a decision of the operator", async () => {
    await assert.rejects(
      open("auto", { env: "/nonexistent" }),
      /isolation level bwrap does not work at the moment.*does not start.*weaker/,
    );
    assert.equal(await open("uid"), "uid");
    assert.equal(await open(), "bwrap");
  });
});

it("a level that has worked is tried again, another one is not", async () => {
  let tries = 0;
  const failsAtFirst = async () => {
    if (++tries === 1) throw new Error("not now");
  };
  await tryLevel(failsAtFirst, true);
  assert.equal(tries, 2);
  tries = 0;
  await assert.rejects(tryLevel(failsAtFirst, false), /not now/);
  assert.equal(tries, 1);
});

it("a lack of processes, files or memory says nothing about a level, also if only the text of a program says so", () => {
  for (const words of [
    "bwrap: Can't fork for pid 1: Resource temporarily unavailable",
    "bwrap: Creating new namespace failed: Resource temporarily unavailable",
    "sh: 1: Cannot fork",
    "bwrap: Can't mount: Cannot allocate memory",
    "bwrap: open: Too many open files",
    "bwrap: Can't write: No space left on device",
  ])
    assert.ok(isPassing(new Error(`The test command failed: ${words}`)), words);
  for (const words of ["bwrap: No permissions to create new namespace", "bwrap: setting up uid map: Permission denied"])
    assert.ok(!isPassing(new Error(`The test command failed: ${words}`)), words);
});
