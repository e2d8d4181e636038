/** Backups of sparse files: a job can make its log long without writing it. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { copyPlain, digestPlain } from "../../src/admin/backup/archive-files.ts";
import { takeBackup } from "../../src/admin/backup/backup.ts";
import { restoreBackup } from "../../src/admin/backup/restore.ts";
import { DataFolder } from "../../src/machine/data-folder.ts";
import { BackupWarehouses } from "../../src/warehouses/backup-warehouses.ts";
import { startInProcess } from "../support/in-process.ts";
import { placeIn } from "../support/place-in.ts";

const mebibyte = 1024 ** 2;
const onDisk = async (path: string) => (await stat(path)).blocks * 512;

/** Creates a file of this length that contains these texts and holes. */
async function writeSparse(path: string, length: number, texts: Readonly<Record<number, string>>): Promise<void> {
  const file = await open(path, "w");
  for (const [offset, text] of Object.entries(texts)) await file.write(text, Number(offset));
  await file.truncate(length);
  await file.close();
}

describe("a backup of files with holes", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-sparse-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("a copy has the same bytes and takes no more disk space than the data", async () => {
    const [from, to] = [join(folder, "from"), join(folder, "to")];
    const texts = { 0: "first", 70000: "x".repeat(10_000), [100 * mebibyte + 1]: "middle" };
    await writeSparse(from, 200 * mebibyte + 77, texts);
    const copied = await copyPlain(from, to);
    assert.equal(copied?.size, 200 * mebibyte + 77);
    assert.deepEqual(await digestPlain(to), copied);
    assert.deepEqual(await digestPlain(from), copied);
    assert.ok((await onDisk(to)) <= 128 * 1024, `${await onDisk(to)} bytes on disk`);
  });

  it("files without holes, with zeros at their ends, and empty files are copied byte for byte", async () => {
    const contents = ["", "\0", "a", `a${"\0".repeat(4095)}`, `${"\0".repeat(4096)}a`, "b".repeat(300_000)];
    for (const [index, content] of contents.entries()) {
      const [from, to] = [join(folder, `plain-${index}`), join(folder, `copy-${index}`)];
      await writeFile(from, content);
      await copyPlain(from, to);
      assert.equal(await readFile(to, "utf8"), content);
    }
  });

  it("a log with 8 KiB of data and 300 MB of holes takes kilobytes in the backup and after the restore", async (t) => {
    const server = await startInProcess();
    t.after(() => server.dispose());
    const client = await server.client();
    const { job } = await runJob(client, shell("echo hello"));
    const log = join("jobs", `${job.id}.1`, "log");
    await writeSparse(join(server.dataDir, log), 300_000_000, { 0: "a".repeat(4096), 299990000: "b".repeat(4096) });
    const expected = await digestPlain(join(server.dataDir, log));
    const stores = (dataDir: string) => new BackupWarehouses(new DataFolder(dataDir).warehouses, () => []);
    const options = { onProgress: () => {}, now: Date.now, stores: stores(server.dataDir) };
    const backup = join(folder, "backup");
    await takeBackup(await placeIn(server.dataDir), backup, {
      ...options,
      keyFile: undefined,
    });
    const restored = join(folder, "restored");
    await mkdir(restored);
    const openStores = async () => stores(restored);
    await restoreBackup(await placeIn(restored), backup, {
      ...options,
      openStores,
      cancelQueued: false,
    });
    for (const place of [backup, restored]) {
      assert.deepEqual(await digestPlain(join(place, log)), expected);
      assert.ok((await onDisk(join(place, log))) <= 64 * 1024);
    }
  });
});
