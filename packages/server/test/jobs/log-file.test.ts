import assert from "node:assert/strict";
import { mkdtemp, readdir, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { LogFile } from "../../src/engines/log-file.ts";

describe("the file of a log", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-log-"));
  });
  after(() => rm(folder, { recursive: true }));

  /** How often this process has the file open. */
  async function openCount(path: string): Promise<number> {
    const links = await Promise.all(
      (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")),
    );
    return links.filter((link) => link === path).length;
  }

  it("is opened once for all concurrent readers, and closed after the last", async () => {
    const path = join(folder, "log");
    await writeFile(path, "text");
    const file = new LogFile(path);
    await Promise.all([file.size(), file.read(0, 4), file.size(), file.read(1, 2)]);
    assert.equal(await openCount(path), 1);
    await file.close();
    assert.equal(await openCount(path), 0);
  });

  it("is closed even if a reader was about to open it, and not opened again", async () => {
    const path = join(folder, "closed");
    await writeFile(path, "text");
    const file = new LogFile(path);
    const reading = file.read(0, 4).catch(() => Buffer.alloc(0));
    await file.close();
    await reading;
    assert.equal((await file.read(0, 4)).length, 0);
    assert.equal(await openCount(path), 0);
  });

  it("is empty while it does not exist, and is read once it does", async () => {
    const path = join(folder, "later");
    const file = new LogFile(path);
    assert.deepEqual(await Promise.all([file.size(), file.read(0, 10)]), [0, Buffer.alloc(0)]);
    await writeFile(path, "text");
    assert.equal((await file.read(0, 10)).toString(), "text");
    await file.close();
  });
});
