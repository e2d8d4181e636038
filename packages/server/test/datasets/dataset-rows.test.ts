/** Rows of a version for people to look at: from a warehouse that the real library wrote, and from registered rows. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { type Client, type RouteInput, routes } from "@millrace/contract";
import { recordWarehouse, runWithLibrary, warehouseFolder } from "@millrace/testing/millrace/warehouse.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { readRows } from "../../src/warehouses/programs/read-rows.ts";
import { putVersion } from "../support/datasets.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { refused } from "../support/people.ts";

const kinds = `
import datetime
from typing import Optional
from pydantic import BaseModel
class Box(BaseModel):
    x: int
    label: str
chain = dc.read_values(
    i=[2**63 - 1, -(2**63), 0],
    f=[1.5, 0.1 + 0.2, float("-inf")],
    s=["plain", '<b>ünï</b>', "x" * 1000],
    b=[b"\\x00\\xff", b"", b"a" * 500],
)
(
    chain.map(d=lambda i: {"k": i}, output={"d": dict})
    .map(no=lambda i: None if i == 0 else 1, output={"no": Optional[int]})
    .map(box=lambda i: Box(x=1, label="ä"), output={"box": Box})
    .save("kinds")
)
dc.read_values(n=list(range(25))).save("many")
`;

type Query = RouteInput<typeof routes.readRows>["query"];

const noLibrary = await whyNoDatachain();

describe("rows of a version", () => {
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess();
    client = await server.client();
  });
  after(() => server.dispose());

  const rows = (query: Query) => client.call(routes.readRows, { query });

  describe("in the team's warehouse", { skip: noLibrary }, () => {
    before(async () => {
      await runWithLibrary(server.dataDir, kinds);
      await recordWarehouse(server.store, server.dataDir);
    });

    it("are texts with all digits; long values and bytes are shortened and tell their length", async () => {
      const { columns, rows: found, source, more_columns, version } = await rows({ name: "kinds" });
      assert.deepEqual([source, more_columns, version], ["warehouse", 0, "1.0.0"]);
      const byName = (row: number) =>
        Object.fromEntries(columns.map(({ name }, index) => [name, found[row]?.[index]] as const));
      assert.deepEqual(byName(0), {
        ...{ i: "9223372036854775807", f: "1.5", s: "plain", b: { text: "00ff", length: 2, binary: true } },
        ...{ d: '{"k":9223372036854775807}', no: "1", box__x: "1", box__label: "ä" },
      });
      const { f, s, b, no } = byName(2);
      assert.equal(byName(1)["f"], "0.30000000000000004");
      assert.deepEqual([f, no], ["-Infinity", null]);
      assert.deepEqual(s, { text: "x".repeat(300), length: 1000, binary: false });
      assert.deepEqual(b, { text: "61".repeat(150), length: 500, binary: true });
      assert.equal(columns.find(({ name }) => name === "b")?.type, "Binary");
    });

    it("come in pages", async () => {
      const seen: unknown[] = [];
      let cursor: string | undefined;
      for (let page = 1; page <= 3; page++) {
        const query = { name: "many", limit: 10, ...(cursor === undefined ? {} : { cursor }) };
        const response = await client.request(routes.readRows, { query });
        seen.push(...((await response.json()) as { rows: unknown[][] }).rows.map(([n]) => n));
        cursor = response.headers.get("x-next-cursor") ?? undefined;
      }
      assert.equal(cursor, undefined);
      assert.deepEqual(
        seen.map(Number).sort((a, b) => a - b),
        Array.from({ length: 25 }, (_, n) => n),
      );
    });

    it("of a broken warehouse are refused with the reason", async () => {
      const db = new DatabaseSync(warehouseFolder(server.dataDir, 1).rows);
      db.exec("create view trap as select 1");
      db.close();
      await refused(rows({ name: "many" }), "wrong_state", /contains a view \(trap\)/);
      const again = new DatabaseSync(warehouseFolder(server.dataDir, 1).rows);
      again.exec("drop view trap");
      again.close();
    });
  });

  it("of an external producer are its registered first rows, with all digits", async () => {
    const preview = '[{"id":9223372036854775807,"tags":["a",1.50]},{"id":2,"more":null},{"id":3}]';
    await putVersion(server.store, "outside", { preview, schema: '{"id":{"type":"Int64"}}' });
    const first = await client.request(routes.readRows, { query: { name: "outside", limit: 2 } });
    assert.equal(first.headers.get("x-next-cursor"), "2");
    const { columns, rows: found, source } = (await first.json()) as Awaited<ReturnType<typeof rows>>;
    assert.deepEqual([source, columns.map(({ name }) => name)], ["preview", ["id", "tags", "more"]]);
    assert.deepEqual(found, [
      ["9223372036854775807", '["a",1.50]', null],
      ["2", null, null],
    ]);
    assert.deepEqual((await rows({ name: "outside", cursor: "2" })).rows, [["3", null, null]]);
    assert.deepEqual((await rows({ name: "outside", cursor: "-9" })).rows.length, 3);
  });

  it("are missing if the dataset is, and if the warehouse is", async () => {
    await refused(rows({ name: "nothing" }), "not_found");
    await putVersion(server.store, "lost", { rows_table: "ds_lost_1_0_0", teamId: 1 });
    await refused(rows({ name: "lost" }), "wrong_state", /cannot be read|no table/);
  });
});

describe("the program that reads rows", () => {
  const limits = { after: undefined, limit: 10, text: 20, bytes: 1000 };
  const table = (columns: string) => {
    const db = new DatabaseSync(":memory:");
    db.exec(`create table rows (sys__id integer primary key, ${columns})`);
    return db;
  };

  it("ends a page at a number of bytes, and continues behind it", () => {
    const db = table("text");
    for (let n = 0; n < 9; n++) db.prepare("insert into rows (text) values (?)").run("x".repeat(15));
    const wish = { table: "rows", columns: ["text"], ...limits, bytes: 60 };
    const first = readRows(db, wish);
    assert.deepEqual([first.rows.length, first.next], [3, "3"]);
    assert.equal(readRows(db, { ...wish, after: "6" }).next, null);
  });

  it("does not load a huge value, and says how long it is", () => {
    const db = table("text, blob");
    db.exec("insert into rows (text, blob) values (hex(zeroblob(10000000)), zeroblob(20000000))");
    assert.deepEqual(readRows(db, { table: "rows", columns: ["text", "blob", "computed"], ...limits }).rows, [
      [["", 20_000_000, false], ["", 20_000_000, true], null],
    ]);
  });

  it("reads no view, and no computed column", () => {
    const db = table("a, b text as (hex(zeroblob(100000000)))");
    db.exec("insert into rows (a) values (1); create view seen as select * from rows");
    assert.deepEqual(readRows(db, { table: "rows", columns: ["a", "b"], ...limits }).rows, [["1", null]]);
    assert.throws(() => readRows(db, { table: "seen", columns: ["a"], ...limits }), /no table seen/);
  });
});
