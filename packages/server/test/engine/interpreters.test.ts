/** Which interpreters of the machine jobs can use. */
import assert from "node:assert/strict";
import { chmod, copyFile, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Interpreters } from "../../src/engines/local/environments/interpreters.ts";
import { becoming } from "../../src/engines/local/isolation/isolation.ts";
import { whyNot } from "../support/local-engine.ts";

describe("an interpreter", { skip: await whyNot("uid") }, () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-python-"));
    await copyFile(await realpath("/usr/bin/python3"), join(folder, "python3"));
  });
  after(() => rm(folder, { recursive: true }));
  const offered = async () => {
    const found = await new Interpreters(folder, becoming("setpriv", 61_999)).list();
    return found.map(({ path }) => path).includes(join(folder, "python3"));
  };

  it("is offered if a job's user can reach it, and not if it is below a folder that only the server may enter", async () => {
    await chmod(folder, 0o755);
    assert.equal(await offered(), true);
    await chmod(folder, 0o700);
    assert.equal(await offered(), false);
  });
});
