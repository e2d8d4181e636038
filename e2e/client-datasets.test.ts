/** Datasets with the real client: listed, changed, removed, downloaded with equal rows. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { routes } from "@millrace/contract";
import { recordWarehouse, runWithLibrary } from "@millrace/testing/millrace/warehouse.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { until } from "@millrace/testing/until.ts";
import { openStore } from "../packages/server/src/store/opening/open-store.ts";
import { ClientSuite } from "./support/client-suite.ts";
import type { Datachain, Result } from "./support/datachain.ts";

/** One column of every type, with the values that are most easily corrupted. */
const kinds = `
import datetime
from typing import Optional
from pydantic import BaseModel
utc = datetime.timezone.utc
chain = dc.read_values(
    i=[2**63 - 1, -(2**63), 0],
    f=[1.5, -2.5e300, float("inf")],
    s=["plain", 'ünï\\n"q"', ""],
    b=[b"\\x00\\xff", b"", b"abc"],
    t=[datetime.datetime(2024, 5, 6, 7, 8, 9, us, tzinfo=utc) for us in (1, 999999, 123457)],
    flag=[True, False, True],
)
(
    chain.map(ints=lambda i: [i, 1], output={"ints": list[int]})
    .map(texts=lambda s: [s, "x"], output={"texts": list[str]})
    .map(nested=lambda i: [[1, 2], [i]], output={"nested": list[list[int]]})
    .map(times=lambda t: [t], output={"times": list[datetime.datetime]})
    .map(d=lambda i: {"k": i, "n": [1, None]}, output={"d": dict})
    .map(dicts=lambda i: [{"k": i}], output={"dicts": list[dict]})
    .map(no_i=lambda i: None if i == 0 else i, output={"no_i": Optional[int]})
    .map(no_s=lambda i: None if i == 0 else "s", output={"no_s": Optional[str]})
    .map(no_t=lambda i: None if i == 0 else datetime.datetime(1960, 1, 1, 0, 0, 0, 7, tzinfo=utc), output={"no_t": Optional[datetime.datetime]})
    .map(no_b=lambda i: None if i == 0 else b"\\x80", output={"no_b": Optional[bytes]})
    .map(no_flag=lambda i: None if i == 0 else True, output={"no_flag": Optional[bool]})
    .map(no_list=lambda i: None if i == 0 else [1], output={"no_list": Optional[list[int]]})
    .save("kinds")
)
dc.read_dataset("kinds").filter(dc.C("s") == "nobody").save("empty")
dc.read_values(n=list(range(2500))).save("many")
for n in range(3):
    dc.read_values(n=[n]).save("cats")
dc.read_values(n=[1]).save("dogs")
`;

import { storeIn } from "@millrace/testing/millrace/store-in.ts";

/** Rows as text that distinguishes types, in one order; the client also prints other things. */
const show = (name: string) =>
  `import datachain as dc; print(*sorted(f"row {row!r}" for row in dc.read_dataset("${name}").to_list()), sep="\\n")`;
const rowsIn = (stdout: string) => stdout.split("\n").filter((line) => line.startsWith("row "));

describe("the client's datasets", { skip: await whyNoDatachain() }, () => {
  const suite = ClientSuite.use({ MILLRACE_EXPORT_ROWS: "1000" });
  let client: Datachain;
  before(async () => {
    const { dataDir } = suite.server;
    await runWithLibrary(dataDir, kinds);
    const store = await openStore(storeIn(dataDir));
    await recordWarehouse(store, dataDir);
    await store.close();
    client = await suite.client();
  });

  const ok = ({ code, stdout, stderr }: Result) => {
    assert.equal(code, 0, stdout + stderr);
    return stdout;
  };
  const original = async (name: string) => rowsIn(await runWithLibrary(suite.server.dataDir, show(name)));

  test("dataset ls --studio shows each with its newest version, or all versions of one", async () => {
    const listed = ok(await client.run("dataset", "ls", "--studio"));
    for (const [name, version] of [
      ["cats", "1.0.2"],
      ["dogs", "1.0.0"],
      ["kinds", "1.0.0"],
    ])
      assert.match(listed, new RegExp(`^@admin\\.default\\.${name} +v${version}$`, "m"));
    const versions = ok(await client.run("dataset", "ls", "--studio", "@admin.default.cats"));
    assert.deepEqual(
      [...versions.matchAll(/v(1\.0\.\d)/g)].map(([, version]) => version),
      ["1.0.0", "1.0.1", "1.0.2"],
    );
  });

  test("dataset pull into an empty folder yields equal rows of every column type", async () => {
    const clean = await suite.client();
    ok(await clean.run("dataset", "pull", "ds://@admin.default.kinds"));
    const expected = await original("@admin.default.kinds");
    assert.equal(expected.length, 3);
    assert.deepEqual(rowsIn(ok(await clean.script(show("@admin.default.kinds")))), expected);
    assert.match(
      ok(await clean.run("dataset", "pull", "ds://@admin.default.kinds@v1.0.0")),
      /already available locally/,
    );
  });

  test("read_dataset of a dataset that is not local downloads it: equal rows, from several files", async () => {
    const clean = await suite.client();
    for (const name of ["@admin.default.kinds", "@admin.default.many"])
      assert.deepEqual(rowsIn(ok(await clean.script(show(name)))), await original(name));
  });

  test("an export that a killed server left continues, and everybody gets all rows", async () => {
    const ask = () => suite.api.call(routes.exportDataset, { query: { name: "@admin.default.dogs" } });
    const before = await ask();
    await suite.server.restart();
    const { export_id, signed_urls } = await ask();
    assert.deepEqual(signed_urls, before.signed_urls);
    await until("the export is complete", async () => {
      const { status } = await suite.api.call(routes.exportStatus, { query: { export_id } });
      return status === "complete";
    });
    for (const url of signed_urls) assert.equal((await fetch(url)).status, 200);
  });

  test("a dataset without rows is downloaded as one without rows", async () => {
    const clean = await suite.client();
    ok(await clean.run("dataset", "pull", "ds://@admin.default.empty"));
    assert.deepEqual(rowsIn(ok(await clean.script(show("@admin.default.empty")))), []);
  });

  test("pull of an unknown dataset says so", async () => {
    const lost = await client.run("dataset", "pull", "ds://@admin.default.nothing");
    assert.notEqual(lost.code, 0);
    assert.match(lost.stderr, /Dataset @admin\.default\.nothing not found/);
    const version = await client.run("dataset", "pull", "ds://@admin.default.cats@v7.0.0");
    assert.match(version.stderr, /doesn't have version 7\.0\.0/);
  });

  test("datasets(studio=True) lists them with their version numbers", async () => {
    const script = `import datachain as dc
for (d,) in dc.datasets(studio=True, column="d").to_list("d"):
    print(d.namespace, d.project, d.name, d.version, d.num_objects)`;
    assert.match(ok(await client.script(script)), /^@admin default many 1\.0\.0 2500$/m);
  });

  test("dataset edit changes name, description and attributes; jobs see them too", async () => {
    const words = ["--new-name", "hounds", "--description", "good dogs", "--attrs", "a", "k=v"];
    assert.match(ok(await client.run("dataset", "edit", "@admin.default.dogs", ...words)), /updated in Studio/);
    assert.match(ok(await client.run("dataset", "ls", "--studio")), /@admin\.default\.hounds/);
    const script = 'd = dc.read_dataset("@admin.default.hounds").dataset; print(d.description, d.attrs)';
    assert.equal(await runWithLibrary(suite.server.dataDir, script), "good dogs ['a', 'k=v']\n");
    const lost = await client.run("dataset", "edit", "@admin.default.dogs", "--description", "x");
    assert.match(lost.stderr, /There is no dataset @admin\.default\.dogs in the team main/);
  });

  test("dataset rm --studio removes one version, or with --force all; a short name belongs to the caller", async () => {
    const vague = await client.run("dataset", "rm", "--studio", "cats");
    assert.notEqual(vague.code, 0);
    assert.match(vague.stderr, /version/i);
    ok(await client.run("dataset", "rm", "--studio", "cats", "--version", "1.0.1"));
    const left = ok(await client.run("dataset", "ls", "--studio", "@admin.default.cats"));
    assert.deepEqual(
      [...left.matchAll(/v(1\.0\.\d)/g)].map(([, version]) => version),
      ["1.0.0", "1.0.2"],
    );
    ok(await client.run("dataset", "rm", "--studio", "@admin.default.cats", "--force"));
    assert.doesNotMatch(ok(await client.run("dataset", "ls", "--studio")), /cats/);
    assert.equal(
      await runWithLibrary(suite.server.dataDir, 'print(dc.read_values(n=[9]).save("cats").version)'),
      "1.0.3\n",
    );
  });

  test("ls --studio lists a folder that jobs may use, and reports one that it cannot list", async () => {
    await mkdir(join(suite.shared, "folder"));
    await writeFile(join(suite.shared, "file.csv"), "1");
    const listed = ok(await client.run("ls", "--studio", `file://${suite.shared}`));
    assert.match(listed, /^file\.csv$/m);
    assert.match(listed, /^folder\/$/m);
    assert.match(ok(await client.run("ls", "--studio", "-l", `file://${suite.shared}`)), /file\.csv/);
    const other = await client.run("ls", "--studio", "s3://bucket");
    assert.match(other.stdout, /Error: source: expected a folder below file:\/\//);
  });
});
