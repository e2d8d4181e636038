/** What doctor finds: each problem with its remedy; and that it changes nothing. */
import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";
import { diagnoseAside } from "../../src/admin/doctor/diagnose-aside.ts";
import { diagnose } from "../../src/admin/doctor/doctor.ts";
import { describeInodes, describeKind, describeRoom } from "../../src/admin/doctor/file-system.ts";
import { describeClock } from "../../src/admin/doctor/store.ts";
import { readConfig } from "../../src/configuration/config.ts";
import { iso } from "../../src/domain/time/clock.ts";
import { openStore } from "../../src/store/opening/open-store.ts";

describe("doctor", () => {
  let root: string;
  let postgres: TestPostgres;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), "millrace-doctor-"));
    postgres = await startPostgres();
  });
  after(async () => {
    await postgres.stop();
    await rm(root, { recursive: true });
  });

  const finding = async (topic: string, env: Record<string, string>) => {
    const found = (await diagnose(readConfig({}, { PATH: process.env["PATH"], ...env }))).find(
      (one) => one.topic === topic,
    );
    return found ?? assert.fail(`nothing about ${topic}`);
  };
  const makeStore = async (name: string, databaseUrl = "") => {
    const dataDir = join(root, name);
    await mkdir(dataDir, { mode: 0o700 });
    const store = await openStore(storeIn(dataDir, databaseUrl));
    return { dataDir, store };
  };

  it("detects a store that is newer or older than the program; on both databases", async () => {
    for (const databaseUrl of ["", await postgres.createDatabase()]) {
      const { dataDir, store } = await makeStore(databaseUrl ? "versions-postgres" : "versions-sqlite", databaseUrl);
      const env = { MILLRACE_DATA_DIR: dataDir, MILLRACE_DATABASE_URL: databaseUrl };
      assert.equal((await finding("store", env)).level, "ok");
      const setVersion = (version: number) =>
        store.write((db) =>
          db
            .updateTable("schema_version" as "users")
            .set({ version } as never)
            .execute(),
        );
      await setVersion(99);
      const newer = await finding("store", env);
      assert.deepEqual([newer.level, newer.next], ["error", "upgrade this program"]);
      assert.match(newer.message, /its schema version is 99/);
      await setVersion(1);
      const older = await finding("store", env);
      assert.equal(older.level, "warn");
      assert.match(older.next ?? "", /take a backup/);
      await store.close();
    }
  });

  it("changes nothing: a store that no server has open stays the same, to the last file", async () => {
    const { dataDir, store } = await makeStore("untouched");
    await store.close();
    const before = await readdir(dataDir);
    assert.equal((await finding("store", { MILLRACE_DATA_DIR: dataDir })).level, "ok");
    assert.deepEqual(await readdir(dataDir), before);
    const absent = join(root, "absent");
    await diagnose(readConfig({}, { MILLRACE_DATA_DIR: absent }));
    await assert.rejects(readdir(absent));
  });

  it("inside a server, waits for locks in a thread of its own", async () => {
    const { dataDir, store } = await makeStore("locked");
    await store.close();
    const holder = new DatabaseSync(join(dataDir, "millrace.db"));
    holder.exec(
      "pragma locking_mode = exclusive; begin immediate; update schema_version set version = version; commit",
    );
    let longest = 0;
    let last = performance.now();
    const watch = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 10);
    const config = readConfig(
      {},
      { PATH: process.env["PATH"], MILLRACE_DATA_DIR: dataDir, MILLRACE_ISOLATION: "none" },
    );
    const findings = await diagnoseAside(config);
    clearInterval(watch);
    holder.close();
    assert.match(findings.find(({ topic }) => topic === "store")?.message ?? "", /database is locked/);
    assert.ok(findings.some(({ topic }) => topic === "isolation"));
    assert.ok(longest < 2500, `${longest} ms`);
  });

  it("detects a store file that is not a database", async () => {
    const dataDir = join(root, "garbage");
    await mkdir(dataDir, { mode: 0o700 });
    await writeFile(join(dataDir, "millrace.db"), "this is no database at all".repeat(100));
    const found = await finding("store", { MILLRACE_DATA_DIR: dataDir });
    assert.equal(found.level, "error");
    assert.match(`${found.message} ${found.next}`, /does not answer: .*not a database.* restore a backup/);
  });

  it("detects a key or a store that others can read", async () => {
    const { dataDir, store } = await makeStore("wide");
    await store.close();
    const env = { MILLRACE_DATA_DIR: dataDir };
    const key = join(dataDir, "secret.key");
    await writeFile(key, "", { mode: 0o600 });
    assert.equal((await finding("permissions", env)).level, "ok");
    await chmod(key, 0o640);
    const wideKey = await finding("permissions", env);
    assert.deepEqual([wideKey.level, wideKey.next], ["error", `chmod 600 ${key}`]);
    await chmod(key, 0o600);
    await chmod(dataDir, 0o711);
    await chmod(join(dataDir, "millrace.db"), 0o644);
    assert.deepEqual((await finding("permissions", env)).next, `chmod 600 ${join(dataDir, "millrace.db")}`);
    await chmod(join(dataDir, "millrace.db"), 0o600);
    assert.equal((await finding("permissions", env)).level, "ok");
    await chmod(dataDir, 0o755);
    assert.deepEqual((await finding("permissions", env)).next, `chmod 700 ${dataDir}`);
  });

  it("detects a disk below or near the floor", async () => {
    const gibibyte = 1024 ** 3;
    assert.equal(describeRoom(10 * gibibyte, gibibyte).level, "ok");
    assert.equal(describeRoom(1.5 * gibibyte, gibibyte).level, "warn");
    const low = describeRoom(0.5 * gibibyte, gibibyte);
    assert.deepEqual([low.level, low.message], ["error", "0.5 GiB free, less than the required 1.0 GiB"]);
    assert.match(low.next ?? "", /MILLRACE_DISK_FLOOR/);
    assert.equal((await finding("disk", { MILLRACE_DISK_FLOOR: "1000000TiB" })).level, "error");
  });

  it("detects unsuitable file systems and a shortage of inodes", async () => {
    assert.match(describeKind(0x6969)?.message ?? "", /^NFS: file locks/);
    assert.equal(describeKind(0x6969)?.level, "error");
    assert.match(describeKind(0x01021994)?.message ?? "", /^tmpfs: all data is lost/);
    assert.equal(describeKind(0xef53), undefined);
    assert.equal(describeInodes(0, 0).level, "ok");
    assert.equal(describeInodes(1_000_000, 500_000).level, "ok");
    assert.equal(describeInodes(1_000_000, 20_000).level, "warn");
    assert.equal(describeInodes(1_000_000, 500).level, "error");
    assert.match(describeInodes(1_000_000, 500).next ?? "", /MILLRACE_LOG_DAYS/);
  });

  it("detects clocks that disagree, and a machine without a time zone", () => {
    const good = { now: 1_900_000_000_000, zone: "Europe/Berlin", ahead: 0, newestCreated: undefined };
    assert.equal(describeClock(good).level, "ok");
    assert.equal(describeClock({ ...good, newestCreated: iso(good.now + 1000) }).level, "ok");
    const future = describeClock({ ...good, newestCreated: iso(good.now + 60_000) });
    assert.equal(future.level, "error");
    assert.match(future.message, /creation time 60 s in the future/);
    assert.match(describeClock({ ...good, ahead: -2500 }).message, /2\.5 s behind/);
    assert.match(describeClock({ ...good, ahead: 2500 }).message, /2\.5 s ahead of/);
    assert.equal(describeClock({ ...good, zone: "Etc/Unknown" }).next, "set MILLRACE_TIMEZONE");
  });

  it("detects missing programs, and interpreters that other users cannot reach", async () => {
    const hidden = join(root, "hidden");
    await mkdir(hidden, { mode: 0o700 });
    const script = `#!/bin/sh\nexec ${process.execPath} "$@"\n`;
    await writeFile(join(hidden, "uv"), script, { mode: 0o755 });
    assert.match((await finding("programs", { PATH: hidden })).message, /; uv builds virtualenvs$/);
    assert.match((await finding("programs", { PATH: "/nowhere" })).message, /; no uv: venv and pip/);
    const python = await finding("python", { MILLRACE_ISOLATION: "uid" });
    assert.ok(["ok", "warn"].includes(python.level));
    if (python.level === "warn") assert.match(python.message, /jobs cannot reach \//);
  });
});
