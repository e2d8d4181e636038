/** How the disk usage of an attempt is counted. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { AttemptFolder } from "../../src/engines/local/attempt/attempt-folder.ts";
import { DiskWatch } from "../../src/engines/local/attempt/limits.ts";

const mebibyte = 1024 * 1024;
const limits = { seconds: 0, memory: 0, processes: 0, openFiles: 0, log: 0, disk: mebibyte };

/** The build ends while its files are counted. */
class EndsItsBuild extends AttemptFolder {
  override building() {
    const building = super.building();
    rmSync(this.file("building"), { force: true });
    return building;
  }
}

it("files that were in the team's cache before do not count, even if the build ends during counting", async (t) => {
  const data = mkdtempSync(join(tmpdir(), "millrace-watch-"));
  t.after(() => rmSync(data, { recursive: true }));
  const cache = join(data, "envs/1/cache");
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, "wheel"), Buffer.alloc(4 * mebibyte, 1));
  const folder = new EndsItsBuild(join(data, "jobs"), "some.1");
  mkdirSync(folder.file("work"), { recursive: true });
  writeFileSync(folder.file("building"), `${join(data, "envs/1/some")}\n${4 * mebibyte}\n`);
  mkdirSync(join(data, "envs/1/some"));
  assert.equal(await new DiskWatch().over(folder, limits, 0), undefined);
});

it("the growth of the cache is divided among the attempts that build from it", async (t) => {
  const data = mkdtempSync(join(tmpdir(), "millrace-watch-"));
  t.after(() => rmSync(data, { recursive: true }));
  const cache = join(data, "envs/1/cache");
  mkdirSync(cache, { recursive: true });
  const watch = new DiskWatch();
  const [one, other] = ["one.1", "other.1"].map((key) => {
    const folder = new AttemptFolder(join(data, "jobs"), key);
    mkdirSync(folder.file("work"), { recursive: true });
    writeFileSync(folder.file("building"), `${join(data, "envs/1", key)}\n0\n`);
    mkdirSync(join(data, "envs/1", key));
    return folder;
  });
  assert.ok(one && other);
  await watch.over(one, limits, 0);
  writeFileSync(join(cache, "wheel"), Buffer.alloc(1.5 * mebibyte, 1));
  assert.equal(await watch.over(other, limits, 0), undefined);
  watch.forget(one.key);
  watch.forget(other.key);
  assert.match((await watch.over(other, limits, 0)) ?? "", /exceeded its limit of 1 MiB/);
});
