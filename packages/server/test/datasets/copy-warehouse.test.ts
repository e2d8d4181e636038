/** Copies of a team's warehouse whose files a job has manipulated. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { it, type TestContext } from "node:test";
import { unconfined } from "@millrace/testing/millrace/unconfined.ts";
import { compactWarehouse } from "../../src/warehouses/programs/compact-warehouse.ts";
import { copyWarehouse } from "../../src/warehouses/programs/copy-warehouse.ts";
import { WarehouseFolder } from "../../src/warehouses/warehouse-folder.ts";
import { WarehouseProcesses } from "../../src/warehouses/warehouse-processes.ts";

/** Creates an empty warehouse and a folder for its copy. */
function openFixture(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "millrace-copy-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const filesIn = (name: string) => {
    mkdirSync(join(folder, name));
    return { metadata: join(folder, name, "metadata.db"), rows: join(folder, name, "rows.db") };
  };
  const store = filesIn("store");
  for (const path of Object.values(store)) {
    const db = new DatabaseSync(path);
    db.exec("pragma journal_mode=wal; create table datasets_versions (id integer); create table datasets (id integer)");
    db.close();
  }
  return { store, to: filesIn("copy") };
}

it("a warehouse with sparse files is not copied, because the copy would be a thousand times as large", async (t) => {
  const { store, to } = openFixture(t);
  truncateSync(store.rows, 5 * 1024 ** 3);
  await assert.rejects(copyWarehouse(store, { to, registered: [] }), /its files are sparse/);
  assert.equal(statSync(to.rows, { throwIfNoEntry: false }), undefined);
});

/** Computes the checksum of a SQLite write-ahead log over the previous sums and these bytes. */
function checksum(bytes: Buffer, [a, b]: readonly [number, number]): readonly [number, number] {
  let [first, second] = [a, b];
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + bytes.readUInt32BE(at) + second) >>> 0;
    second = (second + bytes.readUInt32BE(at + 4) + first) >>> 0;
  }
  return [first, second];
}

const numbers = (...values: number[]) => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
};

/** Builds a write-ahead log with one commit that sets the number of pages of the database. */
function writeLog(path: string, pages: number): void {
  const size = 4096;
  const page = readFileSync(path).subarray(0, size);
  page.writeUInt32BE(pages, 28);
  const salt = numbers(1, 2);
  const head = Buffer.concat([numbers(0x377f0683, 3007000, size, 0), salt]);
  const begun = checksum(head, [0, 0]);
  const frame = numbers(1, pages);
  const ended = checksum(page, checksum(frame, begun));
  writeFileSync(`${path}-wal`, Buffer.concat([head, numbers(...begun), frame, salt, numbers(...ended), page]));
}

it("a warehouse whose write-ahead log claims more pages than exist is not copied, because the copy would contain them all", async (t) => {
  const { store, to } = openFixture(t);
  writeLog(store.rows, 3_000_000);
  const db = new DatabaseSync(store.rows, { readOnly: true });
  assert.deepEqual({ ...db.prepare("pragma page_count").get() }, { page_count: 3_000_000 }, "SQLite believes it");
  db.close();
  writeLog(store.rows, 3_000_000);
  await assert.rejects(copyWarehouse(store, { to, registered: [] }), /it claims more pages than its files contain/);
  assert.equal(statSync(to.rows, { throwIfNoEntry: false }), undefined);
});

it("a copy contains all pages of a warehouse, including those that are only in its write-ahead log", async (t) => {
  const { store, to } = openFixture(t);
  const writer = new DatabaseSync(store.rows);
  t.after(() => writer.close());
  writer.exec("pragma wal_autocheckpoint=0; create table filled (bytes blob)");
  for (let row = 0; row < 100; row++) writer.exec("insert into filled values (zeroblob(20000))");
  await copyWarehouse(store, { to, registered: [] });
  const copy = new DatabaseSync(to.rows, { readOnly: true });
  assert.deepEqual({ ...copy.prepare("select count(*) as rows from filled").get() }, { rows: 100 });
  copy.close();
});

it("a process that works with a warehouse cannot write a file beyond its size limit", async (t) => {
  const { store, to } = openFixture(t);
  const writer = new DatabaseSync(store.rows);
  writer.exec("create table filled (bytes blob)");
  for (let row = 0; row < 100; row++) writer.exec("insert into filled values (zeroblob(20000))");
  writer.close();
  const folder = dirname(dirname(store.rows));
  const processes = new WarehouseProcesses(unconfined.confine, join(folder, "compiled"));
  t.after(() => processes.close());
  const team = new WarehouseFolder(folder, 1);
  team.make();
  const copy = (longestFile: number) =>
    processes.ask(team, {
      ...{ program: "copy-warehouse", request: { to, registered: [] }, writable: [dirname(to.rows)] },
      ...{ data: dirname(store.rows), seconds: 60, longestFile },
    });
  await assert.rejects(copy(1_000_000));
  assert.ok((statSync(to.rows, { throwIfNoEntry: false })?.size ?? 0) <= 1_000_448);
  for (const path of Object.values(to)) rmSync(path, { force: true });
  await copy(10_000_000);
  assert.ok(statSync(to.rows).size > 2_000_000);
});

it("a damaged warehouse is not compacted, because pages that rows share would be written once per row", (t) => {
  const { store } = openFixture(t);
  const db = new DatabaseSync(store.rows);
  db.exec("create table filled (bytes text)");
  for (let row = 0; row < 20; row++) db.exec(`insert into filled values ('${"a".repeat(20_000)}')`);
  db.exec("delete from filled where rowid > 10; pragma wal_checkpoint(truncate)");
  db.close();
  const bytes = readFileSync(store.rows);
  const isOverflow = (at: number) =>
    bytes.readUInt32BE(at) > 0 && bytes.subarray(at + 4, at + 4096).every((b) => b === 97);
  const page = Array.from({ length: bytes.length / 4096 }, (_, index) => index).find((index) =>
    isOverflow(index * 4096),
  );
  assert.ok(page !== undefined);
  bytes.writeUInt32BE(page + 1, page * 4096);
  writeFileSync(store.rows, bytes);
  assert.throws(() => compactWarehouse(store), /it is damaged/);
  assert.deepEqual(readFileSync(store.rows), bytes);
});
