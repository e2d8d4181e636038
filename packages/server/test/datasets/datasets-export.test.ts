/** Exports: rows that the real library wrote, as files that real Parquet readers read, and their download. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { type Client, routes } from "@millrace/contract";
import { recordWarehouse, runWithLibrary, warehouseFolder } from "@millrace/testing/millrace/warehouse.ts";
import { datachainPython, whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { until } from "@millrace/testing/until.ts";
import { day } from "../../src/domain/time/clock.ts";
import { removeOldExports } from "../../src/loops/old-exports.ts";
import { exportRows } from "../../src/warehouses/programs/export-rows.ts";
import { putVersion } from "../support/datasets.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { refused } from "../support/people.ts";

/** One column of every type, with the values that are most easily corrupted. */
const kinds = `
import datetime, json
from typing import Optional
utc = datetime.timezone.utc
chain = dc.read_values(
    i=[2**63 - 1, -(2**63), 0],
    f=[1.5, float("nan"), float("-inf")],
    s=["plain", 'ünï\\n"q"', ""],
    b=[b"\\x00\\xff", b"", b"abc"],
    t=[
        datetime.datetime(2024, 5, 6, 7, 8, 9, 1, tzinfo=utc),
        datetime.datetime(1960, 1, 1, 0, 0, 0, 999999, tzinfo=utc),
        datetime.datetime(2200, 12, 31, 23, 59, 59, 999999, tzinfo=utc),
    ],
    flag=[True, False, True],
)
chain = (
    chain.map(ints=lambda i: [i, 1], output={"ints": list[int]})
    .map(floats=lambda i: [0.5, float("nan")], output={"floats": list[float]})
    .map(texts=lambda s: [s, "x"], output={"texts": list[str]})
    .map(nested=lambda i: [[1, 2], [i]], output={"nested": list[list[int]]})
    .map(times=lambda i: [datetime.datetime(2024, 1, 1, tzinfo=utc)], output={"times": list[datetime.datetime]})
    .map(d=lambda i: {"k": i, "n": [1, None]}, output={"d": dict})
    .map(dicts=lambda i: [{"k": i}], output={"dicts": list[dict]})
    .map(no_i=lambda i: None if i == 0 else i, output={"no_i": Optional[int]})
    .map(no_t=lambda i: None, output={"no_t": Optional[datetime.datetime]})
    .map(no_b=lambda i: None if i == 0 else b"\\x80", output={"no_b": Optional[bytes]})
    .map(no_flag=lambda i: None if i == 0 else True, output={"no_flag": Optional[bool]})
    .map(no_list=lambda i: None if i == 0 else [1], output={"no_list": Optional[list[int]]})
)
chain.save("kinds")
dc.read_dataset("kinds").filter(dc.C("s") == "nobody").save("empty")
dc.read_values(n=list(range(25))).save("many")
`;

/** Reads a file as the client does and prints its values. */
const readBack = `
import io, json, os, sys, lz4.frame, pandas
data = pandas.read_parquet(io.BytesIO(lz4.frame.decompress(open(sys.argv[1], "rb").read())))
for name in ("t", "no_t"):
    if name in data:
        data[name] = pandas.to_datetime(data[name], unit="s")
def plain(value):
    if hasattr(value, "to_pydatetime"):
        return None if pandas.isna(value) else value.to_pydatetime(warn=False).isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    return None if value is None or value is pandas.NA or value != value else value if isinstance(value, (bool, str)) else str(value)
print(json.dumps({name: [plain(value) for value in data[name]] for name in data}), flush=True)
# Without the end of the interpreter: on a busy machine a thread of Arrow's may abort in it.
os._exit(0)
`;

import { blobsIn } from "../support/folder-blobs.ts";

describe("an export", { skip: await whyNoDatachain() }, () => {
  let server: InProcessServer;
  let client: Client;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-export-"));
    server = await startInProcess({ MILLRACE_EXPORT_ROWS: "10" });
    client = await server.client();
    await runWithLibrary(server.dataDir, kinds);
    await recordWarehouse(server.store, server.dataDir);
  });
  after(async () => {
    await server.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  const ask = (name: string) => client.call(routes.exportDataset, { query: { name } });
  const statusOf = (export_id: string) => client.call(routes.exportStatus, { query: { export_id } });
  const ended = (id: string) =>
    until("the export has ended", async () => {
      const now = await statusOf(id);
      return ["pending", "running"].includes(now.status) ? undefined : now;
    });

  async function read(url: string): Promise<Record<string, unknown[]>> {
    const response = await fetch(url);
    assert.equal(response.status, 200, await response.clone().text());
    const path = join(folder, crypto.randomUUID());
    await writeFile(path, Buffer.from(await response.arrayBuffer()));
    const { stdout } = await promisify(execFile)(datachainPython, ["-c", readBack, path]);
    return JSON.parse(stdout) as Record<string, unknown[]>;
  }

  it("has every value of every column type as the library wrote it", async () => {
    const { export_id, signed_urls } = await ask("kinds");
    assert.equal((await ended(export_id)).status, "complete");
    const { sys__id, sys__rand, ...columns } = await read(signed_urls[0] ?? "");
    assert.deepEqual(sys__id, ["1", "2", "3"]);
    assert.ok(sys__rand?.every((value) => /^\d+$/.test(String(value))));
    const [most, least] = ["9223372036854775807", "-9223372036854775808"];
    assert.deepEqual(columns, {
      i: [most, least, "0"],
      f: ["1.5", null, "-inf"],
      s: ["plain", 'ünï\n"q"', ""],
      b: ["00ff", "", "616263"],
      t: ["2024-05-06T07:08:09.000001", "1960-01-01T00:00:00.999999", "2200-12-31T23:59:59.999999"],
      flag: [true, false, true],
      ints: [
        [most, "1"],
        [least, "1"],
        ["0", "1"],
      ],
      floats: Array(3).fill(["0.5", null]),
      texts: [
        ["plain", "x"],
        ['ünï\n"q"', "x"],
        ["", "x"],
      ],
      nested: [
        [["1", "2"], [most]],
        [["1", "2"], [least]],
        [["1", "2"], ["0"]],
      ],
      times: Array(3).fill(["2024-01-01T00:00:00Z"]),
      d: [`{"k":${most},"n":[1,null]}`, `{"k":${least},"n":[1,null]}`, '{"k":0,"n":[1,null]}'],
      dicts: [[`{"k":${most}}`], [`{"k":${least}}`], ['{"k":0}']],
      no_i: [most, least, null],
      no_t: [null, null, null],
      no_b: ["80", "80", null],
      no_flag: [true, true, null],
      no_list: [["1"], ["1"], null],
    });
  });

  it("of many rows consists of several files, whose URLs are known from the start", async () => {
    const { export_id, signed_urls } = await ask("many");
    assert.equal(signed_urls.length, 3);
    assert.deepEqual(await ended(export_id), { status: "complete", files_done: 3, num_files: 3, error_message: "" });
    const rows = await Promise.all(signed_urls.map(read));
    assert.deepEqual(
      rows.map(({ n }) => n?.length),
      [9, 9, 7],
    );
    assert.deepEqual(
      rows.flatMap(({ n }) => n),
      Array.from({ length: 25 }, (_, index) => String(index)),
    );
  });

  it("of wide rows has more and smaller files, estimated from the first rows", async () => {
    const preview = JSON.stringify([{ text: "x".repeat(32 * 1024 ** 2) }]);
    await putVersion(server.store, "wide", { rows_table: "ds_nowhere", num_objects: 9, preview });
    assert.equal((await ask("wide")).signed_urls.length, 9);
    assert.equal((await ask("many")).signed_urls.length, 3);
  });

  it("of an implausible number of rows is refused instead of counted", async () => {
    await putVersion(server.store, "untrue", { rows_table: "ds_nowhere", num_objects: Number.MAX_SAFE_INTEGER });
    await refused(ask("untrue"), "wrong_state", /need more than 10000 files, the maximum/);
    await putVersion(server.store, "negative", { rows_table: "ds_nowhere", num_objects: -5 });
    assert.deepEqual((await ask("negative")).signed_urls, []);
  });

  it("of no rows has no files and is complete at once", async () => {
    const { export_id, signed_urls } = await ask("empty");
    assert.deepEqual(signed_urls, []);
    assert.equal((await statusOf(export_id)).status, "complete");
  });

  it("is shared by all requests for the same version while it is kept", async () => {
    const [one, two] = [await ask("many"), await ask("@admin.default.many@1.0.0")];
    assert.deepEqual(one, two);
  });

  it("is downloaded without a token, but only with its signature", async () => {
    const { export_id, signed_urls } = await ask("many");
    await ended(export_id);
    const url = new URL(signed_urls[0] ?? "");
    const { status, headers } = await fetch(url);
    assert.deepEqual(
      [status, headers.get("content-disposition"), headers.get("x-content-type-options")],
      [200, "attachment", "nosniff"],
    );
    const changed = (change: (copy: URL) => void) => {
      const copy = new URL(url);
      change(copy);
      return fetch(copy);
    };
    const statuses = [
      await changed((copy) => copy.searchParams.set("signature", "x")),
      await changed((copy) => copy.searchParams.set("expires", String(Number(copy.searchParams.get("expires")) + 1))),
      await changed((copy) => (copy.pathname = copy.pathname.replace(/0$/, "1"))),
    ].map(({ status }) => status);
    assert.deepEqual(statuses, [403, 403, 403]);
    assert.equal((await changed((copy) => copy.searchParams.delete("signature"))).status, 422);
    assert.equal((await changed((copy) => (copy.pathname = copy.pathname.replace(/0$/, "..%2f0")))).status, 422);
  });

  it("continues after the server was killed", async () => {
    const row = await server.store.write(async (db) => {
      const { id } = await db
        .selectFrom("dataset_versions")
        .select("id")
        .where("num_objects", "=", 25)
        .executeTakeFirstOrThrow();
      const cut = {
        id: crypto.randomUUID(),
        team_id: 1,
        version_id: id,
        status: "running",
        num_files: 3,
        files_done: 1,
      } as const;
      await db
        .insertInto("exports")
        .values({ ...cut, error: null, created_at: "2020-01-01T00:00:00.000Z" })
        .execute();
      return cut;
    });
    assert.deepEqual(await ended(row.id), { status: "complete", files_done: 3, num_files: 3, error_message: "" });
    assert.deepEqual((await readdir(join(server.dataDir, "exports", row.id))).sort(), ["1", "2"]);
  });

  it("ends when its version is removed: its files are no longer served", async () => {
    await runWithLibrary(server.dataDir, 'dc.read_values(n=[1]).save("short")');
    await recordWarehouse(server.store, server.dataDir);
    const { export_id, signed_urls } = await ask("short");
    await ended(export_id);
    await client.call(routes.removeDataset, { body: { name: "short@1.0.0" } });
    assert.equal((await statusOf(export_id)).status, "removed");
    assert.equal((await fetch(signed_urls[0] ?? "")).status, 409);
    await refused(ask("short@1.0.0"), "not_found", /was removed/);
  });

  it("fails with a reason if its rows cannot be read", async () => {
    await putVersion(server.store, "lost", { rows_table: "ds_nowhere" });
    const { export_id, signed_urls } = await ask("lost");
    const { status, error_message } = await ended(export_id);
    assert.deepEqual([status, error_message], ["failed", "There is no table ds_nowhere in the team's warehouse"]);
    assert.equal((await fetch(signed_urls[0] ?? "")).status, 409);
  });

  it("is a 409 for rows that are stored elsewhere and a 404 for an unknown version", async () => {
    await client.call(routes.registerVersion, { body: { name: "registered" } });
    await refused(ask("registered"), "wrong_state", /are not stored on this server/);
    await refused(ask("nothing"), "not_found");
    await refused(statusOf("nothing"), "not_found", /There is no export nothing/);
  });

  it("is deleted with its files when it expires, and orphaned files are deleted, too", async () => {
    const { export_id } = await ask("kinds");
    await ended(export_id);
    const exports = { folder: join(server.dataDir, "exports"), life: day };
    await writeFile(join(exports.folder, "orphan"), "");
    const clock = { now: () => Date.now() + 2 * day, monotonic: () => 0 };
    await removeOldExports({ store: server.store, clock, exports, blobs: blobsIn(server.dataDir) });
    assert.deepEqual(await readdir(exports.folder), []);
    await refused(statusOf(export_id), "not_found");
    assert.notEqual((await ask("kinds")).export_id, export_id);
  });

  describe("of a warehouse that a hostile job wrote", () => {
    const columns = [
      { name: "sys__id", type: "UInt64" },
      { name: "n", type: "Int64" },
    ];
    const exporting =
      (sql: string, table = "t") =>
      () => {
        const rows = new DatabaseSync(":memory:");
        rows.exec(`pragma trusted_schema = off; ${sql}`);
        return exportRows(rows, { table, columns, from: 0, limit: 10 });
      };

    it("reads tables only: no view, no virtual table, no other name", () => {
      assert.throws(exporting("create view t as select 1 as sys__id, 2 as n"), /There is no table t/);
      assert.throws(exporting("create virtual table t using fts5(sys__id, n)"), /There is no table t/);
      assert.throws(
        exporting("create table u (sys__id integer primary key, n)", 't" union select 1, 2 --'),
        /no table/,
      );
    });

    it("refuses values that do not fit their column, and names the column", () => {
      for (const value of ["'text'", "1.5", "x'00'"])
        assert.throws(
          exporting(`create table t (sys__id integer primary key, n); insert into t values (1, ${value})`),
          /The column n of type Int64 contains a value of another type/,
        );
    });

    it("refuses a table that lacks columns of the version", () => {
      assert.throws(
        exporting("create table t (sys__id integer primary key)"),
        /has a column n, but the table t does not store it/,
      );
    });

    it("exports each stored column once: other spellings and computed columns could produce files of any size", () => {
      const fill = "insert into t (sys__id) values (1)";
      assert.throws(exporting(`create table t (sys__id integer primary key, N); ${fill}`), /does not store it/);
      assert.throws(
        exporting(`create table t (sys__id integer primary key, n as (zeroblob(1000000))); ${fill}`),
        /does not store it/,
      );
    });
  });

  describe("and the team's warehouse", () => {
    const tables = () => {
      const rows = new DatabaseSync(warehouseFolder(server.dataDir, 1).rows, { readOnly: true });
      const found = rows.prepare("select name from sqlite_schema where name like 'ds_@admin%'").all();
      rows.close();
      return found.map(({ name }) => String(name));
    };

    it("are renamed together: jobs and exports find the rows under the new name", async () => {
      await runWithLibrary(server.dataDir, 'dc.read_values(n=[1, 2]).save("before")');
      await recordWarehouse(server.store, server.dataDir);
      await client.call(routes.editDataset, {
        body: { name: "before", new_name: "after", description: "said", attrs: ["x"] },
      });
      assert.ok(tables().includes("ds_@admin_default_after_1_0_0"));
      const script =
        'd = dc.read_dataset("after"); print(sorted(d.to_values("n")), d.dataset.description, d.dataset.attrs)';
      assert.equal((await runWithLibrary(server.dataDir, script)).trim(), "[1, 2] said ['x']");
      const { export_id } = await ask("after");
      assert.equal((await ended(export_id)).status, "complete");
    });

    it("are removed together: the rows are gone, and the library assigns the next number", async () => {
      await runWithLibrary(server.dataDir, 'dc.read_values(n=[1]).save("dropped")');
      await recordWarehouse(server.store, server.dataDir);
      await client.call(routes.removeDataset, { body: { name: "dropped@1.0.0" } });
      assert.ok(!tables().includes("ds_@admin_default_dropped_1_0_0"));
      const script = 'print(dc.read_values(n=[2]).save("dropped").version)';
      assert.equal((await runWithLibrary(server.dataDir, script)).trim(), "1.0.1");
    });

    it("stay unchanged together, with a 409 that says why, if the warehouse cannot be changed", async () => {
      await runWithLibrary(server.dataDir, 'dc.read_values(n=[1]).save("stuck")');
      await recordWarehouse(server.store, server.dataDir);
      const rows = new DatabaseSync(warehouseFolder(server.dataDir, 1).rows);
      rows.exec('create table "ds_@admin_default_unstuck_1_0_0" (x)');
      rows.close();
      const call = client.call(routes.editDataset, { body: { name: "stuck", new_name: "unstuck" } });
      await refused(call, "wrong_state", /The team's warehouse already has a table ds_@admin_default_unstuck_1_0_0/);
      assert.equal((await client.call(routes.getDataset, { query: { name: "stuck" } })).name, "stuck");
    });
  });
});
