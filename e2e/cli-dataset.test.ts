/** `millrace dataset`: list, show, lineage, edit, rm. */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { type Dataset, type Lineage, type ListedDataset, routes } from "@millrace/contract";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

describe("millrace dataset", () => {
  const suite = ClientSuite.use();
  const commandLine = Millrace.useWith(suite);
  let cli: Millrace;
  before(async () => {
    cli = await commandLine();
  });

  const register = (name: string, rest: object = {}) =>
    suite.api.call(routes.registerVersion, { body: { name, ...rest } });
  const lines = (text: string) => text.replace(/\n$/, "").split("\n");

  test("ls without datasets says how to create one", async () => {
    const { code, stdout, stderr } = await cli.run("dataset", "ls");
    assert.deepEqual([code, stdout], [0, ""]);
    assert.match(stderr, /No datasets yet\. Run a script that saves one: millrace job run/);
    assert.deepEqual(await cli.json("dataset", "ls"), []);
  });

  test("ls lists each dataset with its newest version, with --versions all versions, and can filter by prefix", async () => {
    await register("cats", { num_objects: 3, size: 1234, description: "all cats" });
    await register("cats", { num_objects: 4, size: 5678 });
    await register("prod.zoo.dogs", { num_objects: 1 });
    const rows = lines(await cli.print("dataset", "ls")).map((line) => line.split("\t"));
    assert.deepEqual(
      rows.map(([name, version, count, size, , , description]) => [name, version, count, size, description]),
      [
        ["@admin.default.cats", "1.0.1", "4", "5678", "all cats"],
        ["prod.zoo.dogs", "1.0.0", "1", "", ""],
      ],
    );
    assert.equal(lines(await cli.print("dataset", "ls", "--versions")).length, 3);
    assert.match(await cli.print("dataset", "ls", "prod."), /^prod\.zoo\.dogs\t/);
    const listed = await cli.json<ListedDataset[]>("dataset", "ls", "cats");
    assert.deepEqual(
      listed[0]?.versions.map(({ version }) => version),
      ["1.0.0", "1.0.1"],
    );
    assert.match((await cli.run("dataset", "ls", "birds")).stderr, /No dataset begins with birds/);
  });

  test("show has versions, columns and first rows, with all digits, also as JSON", async () => {
    const body = `{"team_name":"main","name":"big","num_objects":2,"schema":{"sys__id":{"type":"UInt64"},"n":{"type":"Int64"},
      "tags":{"type":"Array","item_type":{"type":"String"}},"when":{"type":"DateTime","dc_nullable":true}},
      "preview":[{"sys__id":1,"n":9223372036854775807,"tags":["a","b"],"when":null},{"sys__id":2,"n":-1,"tags":[],"when":"2030"}]}`;
    const headers = { authorization: `Bearer ${suite.token}`, "content-type": "application/json" };
    const url = `${suite.server.url}/api/datachain/datasets/versions`;
    assert.equal((await fetch(url, { method: "POST", headers, body })).status, 200);
    const said = await cli.print("dataset", "show", "big");
    assert.match(said, /^name\t@admin\.default\.big$/m);
    assert.match(said, /^versions\n1\.0\.0\t2\t/m);
    assert.match(said, /^columns of 1\.0\.0\nn\tInt64\ntags\tlist of String\nwhen\tDateTime or null$/m);
    assert.match(said, /^first rows of 1\.0\.0\n9223372036854775807\t\["a","b"\]\t\n-1\t\[\]\t2030$/m);
    assert.match(await cli.print("dataset", "show", "big@1.0.0", "--json"), /"n": 9223372036854775807,/);
    const { stdout } = await cli.type([], "dataset", "show", "big");
    assert.match(stdout, /VERSION +ROWS +SIZE +CREATED +JOB/);
  });

  test("show says if a version has nothing to show, and is an error for an unknown one", async () => {
    await register("bare", { num_objects: 0 });
    const { stderr } = await cli.run("dataset", "show", "bare");
    assert.match(stderr, /The schema is unknown\.\nIt has no rows\./);
    assert.match(
      await cli.refused(1, "dataset", "show", "bare@7.0.0"),
      /The dataset has no version 7\.0\.0[\s\S]*Its versions: 1\.0\.0/,
    );
    assert.match(
      await cli.refused(1, "dataset", "show", "nothing"),
      /There is no dataset @admin\.default\.nothing in the team main/,
    );
    assert.match(await cli.refused(1, "dataset", "show", "a.b.c.d"), /expected a dataset such as/);
  });

  test("lineage draws upstream and downstream of a dataset", async () => {
    await register("raw", { dependencies: ["s3://bucket/raw"] });
    await register("clean", { dependencies: ["raw"] });
    for (const name of ["left", "right"]) await register(name, { dependencies: ["clean"] });
    await register("final", { dependencies: ["left", "right"] });
    const full = (name: string) => `@admin.default.${name}@1.0.0`;
    assert.deepEqual(lines(await cli.print("dataset", "lineage", "final")), [
      full("final"),
      "made from",
      `├─ ${full("left")}`,
      `│  └─ ${full("clean")}`,
      `│     └─ ${full("raw")}`,
      "│        └─ s3://bucket/raw",
      `└─ ${full("right")}`,
      `   └─ ${full("clean")} (above)`,
    ]);
    assert.deepEqual(lines(await cli.print("dataset", "lineage", "clean", "--downstream", "--depth", "1")), [
      full("clean"),
      "used by",
      `├─ ${full("left")}`,
      `└─ ${full("right")}`,
    ]);
    assert.match((await cli.run("dataset", "lineage", "clean", "--depth", "1")).stderr, /The graph is incomplete/);
    const { nodes, edges } = await cli.json<Lineage>("dataset", "lineage", "final", "--upstream");
    assert.deepEqual([nodes.length, edges.length], [6, 6]);
    assert.match(
      await cli.refused(64, "dataset", "lineage", "raw", "--upstream", "--downstream"),
      /cannot be combined/,
    );
    const { stderr } = await cli.run("dataset", "lineage", "bare");
    assert.match(stderr, /No lineage is known/);
  });

  test("edit changes name, description and attributes", async () => {
    await register("old", { description: "before", attrs: ["a"] });
    const said = await cli.print("dataset", "edit", "old", "--new-name", "new", "--attrs", "b", "k=v");
    assert.match(said, /^name\t@admin\.default\.new$/m);
    assert.match(said, /^attrs\tb, k=v$/m);
    const edited = await cli.json<Dataset>("dataset", "edit", "new", "--description=", "--no-attrs");
    assert.deepEqual([edited.description, edited.attrs], ["", []]);
    assert.match(await cli.refused(64, "dataset", "edit", "new"), /There is nothing to change/);
    assert.match(await cli.refused(1, "dataset", "edit", "new", "--new-name", "cats"), /already exists/);
  });

  test("rm removes a version, and all versions only with --force", async () => {
    for (let count = 0; count < 3; count++) await register("gone");
    assert.match(
      await cli.refused(1, "dataset", "rm", "gone"),
      /expected a version, as in @admin.default.gone@1.0.0. To remove all versions of @admin.default.gone, set `force`/,
    );
    assert.equal(await cli.print("dataset", "rm", "gone@1.0.0"), "Version 1.0.0 is removed.\n");
    assert.deepEqual(await cli.json("dataset", "rm", "gone", "--version", "v1.0.1"), {
      message: "Version 1.0.1 is removed.",
    });
    assert.equal(await cli.print("dataset", "rm", "gone", "--force", "--yes"), "Version 1.0.2 is removed.\n");
    assert.match(await cli.refused(1, "dataset", "rm", "gone", "--force"), /All versions of .* were removed/);
    assert.equal(lines(await cli.print("dataset", "ls", "gone", "--versions", "--include-removed")).length, 3);
  });
});
