import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { reveal } from "../../src/engines/local/isolation/reveal.ts";

const run = promisify(execFile);
const somebody = ["setpriv", "--reuid=60998", "--regid=60998", "--clear-groups"];

describe("code in a folder that only root may enter", {
  skip: process.getuid?.() !== 0 && "needs root",
}, () => {
  let home: string;
  let code: string;
  let program: string;
  before(async () => {
    home = await mkdtemp(join(tmpdir(), "millrace-home-"));
    code = join(home, "it's code");
    program = join(home, "bin", "program");
    await mkdir(code);
    await mkdir(join(home, "bin"));
    await writeFile(join(code, "file"), "code\n");
    await writeFile(program, "#!/bin/sh\necho ran\n", { mode: 0o755 });
    await writeFile(join(home, "secret"), "secret\n");
  });
  after(() => rm(home, { recursive: true }));

  const as = (...words: string[]) => {
    const [first = "", ...rest] = [...reveal([code, program]), ...somebody, ...words];
    return run(first, rest);
  };

  it("cannot be reached by another user, and needs no bind mount if it can", async () => {
    await assert.rejects(run("setpriv", [...somebody.slice(1), "cat", join(code, "file")]), /Permission denied/);
    assert.deepEqual(reveal(["/usr/bin", "/bin/sh"]), []);
  });

  it("is made visible to a child process of another user, at the same path", async () => {
    assert.equal((await as("cat", join(code, "file"))).stdout, "code\n");
    assert.equal((await as(program)).stdout, "ran\n");
  });

  it("is the only part of the folder that the child sees", async () => {
    assert.equal((await as("ls", home)).stdout, "bin\nit's code\n");
    await assert.rejects(as("cat", join(home, "secret")), /No such file/);
  });

  it("is visible to that child only", async () => {
    assert.equal((await run("ls", [home])).stdout, "bin\nit's code\nsecret\n");
  });
});
