/** Datasets in a real browser: the list, the page of a dataset, its versions, schema and changes. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { routes } from "@millrace/contract";
import { shell } from "@millrace/testing/millrace/jobs.ts";
import { openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { recordWarehouse, runWithLibrary } from "@millrace/testing/millrace/warehouse.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { openStore } from "../packages/server/src/store/opening/open-store.ts";
import { noBrowser, Visit } from "./support/browser.ts";

const list = "/team/main/datasets";
const noLibrary = await whyNoDatachain();

/** A dataset with wide integers, bytes and a nested field, in more rows than one page has. */
const saved = `
from pydantic import BaseModel
class Box(BaseModel):
    label: str
    corner: list[int]
chain = dc.read_values(number=[2**63 - 1 - n for n in range(120)], data=[b"\\x00\\xff"] * 120)
chain.map(box=lambda number: Box(label=f"box {number % 7}", corner=[1, 2]), output={"box": Box}).save("saved")
`;

describe("datasets in a browser", { skip: noBrowser }, () => {
  let visit: Visit;
  before(async () => {
    visit = await Visit.begin();
  });
  after(() => visit.end());

  const register = (name: string, rest: object = {}) =>
    visit.client.call(routes.registerVersion, { body: { name, ...rest } });
  const query = () => new URL(visit.page.url()).search;

  it("an empty list teaches how to save a first dataset", async () => {
    await visit.open(list);
    await visit.sees(/No datasets yet[\s\S]*save\("numbers"\)[\s\S]*millrace job run numbers.py/);
    await visit.picture("datasets-empty");
  });

  it("the list shows the newest version of each dataset, and its filters are in the URL", async () => {
    const schema = { id: { type: "Int64" }, file__path: { type: "String" }, file__size: { type: "Int64" } };
    await register("prod.zoo.cats", { num_objects: 1200, size: 5_300_000, schema, description: "All cats" });
    const wider = { ...schema, score: { type: "Float64", dc_nullable: true } };
    await register("prod.zoo.cats", { num_objects: 1500, size: 7_100_000, schema: wider, attrs: ["nightly"] });
    await register("prod.zoo.dogs", { num_objects: 7, dependencies: ["s3://bucket/dogs", "prod.zoo.cats"] });
    await register("raw");
    await visit.open(list);
    await visit.sees(/raw[\s\S]*cats[\s\S]*prod\.zoo[\s\S]*1\.0\.1[\s\S]*1,500[\s\S]*6\.8 MiB[\s\S]*dogs/);
    await visit.picture("datasets");
    await visit.page.fill("main input[type=search]", "CAT");
    await visit.misses(/dogs/);
    assert.equal(query(), "?q=CAT");
    await visit.page.reload();
    await visit.sees(/cats/);
    assert.equal(await visit.page.inputValue("main input[type=search]"), "CAT");
    await visit.page.click('main button:text("prod.zoo")');
    await visit.sees(/Only in prod\.zoo/);
    await visit.page.goBack();
    await visit.misses(/Only in/);
    await visit.page.fill("main input[type=search]", "nothing");
    await visit.sees(/No dataset matches/);
    await visit.picture("datasets-no-match");
    await visit.page.click('main button:text("Clear the filters")');
    await visit.sees(/cats[\s\S]*dogs/);
  });

  it("a dataset's page has its schema as a tree, its versions, and the code that reads it", async () => {
    await visit.open(list);
    await visit.page.click('main a:text("cats")');
    await visit.sees(/prod\.zoo\.cats[\s\S]*All cats[\s\S]*1,500[\s\S]*nightly/);
    const rebuild = visit.page.getByRole("button", { name: /^Rebuild/ });
    assert.match((await rebuild.getAttribute("title")) ?? "", /No job of this team made this version/);
    await visit.page.click('main nav a:text("Schema")');
    await visit.sees(/5 fields[\s\S]*file[\s\S]*path[\s\S]*score\s*Float64 or null/);
    await visit.picture("dataset-schema");
    await visit.page.click('main nav a:text("Versions")');
    await visit.sees(/1\.0\.1[\s\S]*1\.0\.0[\s\S]*1,200/);
    await visit.page.click('main nav a:text("Use and export")');
    await visit.sees(/read_dataset\("prod\.zoo\.cats", version="1\.0\.1"\)/);
    await visit.picture("dataset-use");
    await visit.page.click('main button:text("Export 1.0.1")');
    await visit.sees(/cannot be exported: its rows are not stored on this server/);
  });

  it("rows have all their digits, and a row can be opened", async () => {
    const preview = [
      { id: 1, text: "short", nested: { a: [1, 2] } },
      { id: 2, text: `<i>${"long ".repeat(100)}` },
    ];
    const schema = { id: { type: "Int64" }, text: { type: "String" }, nested__a: { type: "JSON" } };
    await register("zoo.rows", { num_objects: 900, schema, preview });
    await visit.open(`${list}/@admin.zoo.rows`);
    await visit.sees(/2 rows of 900, as the producer registered them[\s\S]*nested\.a[\s\S]*short/);
    await visit.picture("dataset-rows");
    await visit.page.click('main button:has-text("Show row 2")');
    await visit.sees(/<i>long long[\s\S]*The beginning of 503 B/);
    await visit.picture("dataset-row");
    await visit.page.keyboard.press("Escape");
    await visit.page.waitForSelector("dialog", { state: "detached" });
  });

  it("rows that jobs saved are read from the warehouse, and exported to files", { skip: noLibrary }, async () => {
    const { dataDir } = visit.server;
    await runWithLibrary(dataDir, saved);
    const store = await openStore(storeIn(dataDir));
    await recordWarehouse(store, dataDir);
    await store.close();
    await visit.open(`${list}/@admin.default.saved`);
    await visit.sees(/50 rows of 120[\s\S]*9223372036854775807[\s\S]*2 B 00ff/);
    await visit.picture("dataset-rows-saved");
    await visit.page.click('main button:text("Show more rows")');
    await visit.sees(/100 rows of 120/);
    await visit.page.click('main nav a:text("Use and export")');
    await visit.page.click('main button:text("Export 1.0.0")');
    await visit.sees(/1 file to download/);
    await visit.picture("dataset-export");
    const download = visit.page.waitForEvent("download");
    await visit.page.click('main a:text("parquet.lz4")');
    assert.equal((await download).suggestedFilename(), "@admin.default.saved-1.0.0-0.parquet.lz4");
  });

  it("the lineage leads from storage over jobs to datasets; its selection is in the URL", async () => {
    const lineage = await openLineage(visit.server, visit.client);
    const raw = await lineage.make("pets", shell("true", { query_name: "load.sh" }), [{ uri: "s3://bucket/pets/" }]);
    const clean = await lineage.make("clean", shell("true", { query_name: "clean.sh" }), [raw]);
    await lineage.make("report", shell("true", { query_name: "report.sh" }), [clean, raw]);
    await lineage.close();
    await visit.open(`${list}/@admin.default.clean?tab=lineage`);
    await visit.sees(/load\.sh[\s\S]*clean\.sh|clean\.sh[\s\S]*load\.sh/);
    await visit.sees(/Dataset version[\s\S]*@admin\.default\.clean@1\.0\.0[\s\S]*Made from[\s\S]*clean\.sh/);
    const frame = await visit.page.locator(".graph svg").first().boundingBox();
    for (const name of ["s3://bucket/pets/", "report@1.0.0"]) {
      const place = await visit.page.locator(`.graph .node[aria-label*="${name}"]`).boundingBox();
      assert.ok(frame && place && place.x >= frame.x && place.x + place.width <= frame.x + frame.width, name);
    }
    await visit.picture("dataset-lineage");
    await visit.page.click('aside button:text("clean.sh")');
    await visit.sees(/Made from[\s\S]*pets@1\.0\.0[\s\S]*Leads to[\s\S]*clean@1\.0\.0/);
    assert.match(query(), /node=/);
    await visit.page.goBack();
    await visit.sees(/Dataset version[\s\S]*@admin\.default\.clean@1\.0\.0/);
    await visit.page.selectOption("main .beside select", "upstream");
    await visit.misses(/report/);
    assert.match(query(), /direction=upstream/);
    await visit.page.click('aside button:text("clean.sh")');
    await visit.page.click('aside a:text("clean.sh")');
    await visit.page.waitForURL(/\/datasets\/jobs\//);
  });

  it("a viewer sees everything, and every action says why it is refused", async () => {
    await visit.asMember("viewer", async (page) => {
      await page.goto(`${visit.server.url}${list}/prod.zoo.cats`);
      for (const action of ["Edit", "Remove", "Rebuild"]) {
        const button = page.getByRole("button", { name: new RegExp(`^${action}`) });
        assert.match((await button.getAttribute("title")) ?? "", /You are a viewer of this team; only editors/);
        await button.click({ force: true });
        assert.equal(await page.locator("dialog").count(), 0);
      }
    });
  });

  it("two versions are compared by rows, bytes and schema", async () => {
    await visit.open(`${list}/prod.zoo.cats?tab=versions`);
    await visit.page.selectOption("main section select", "1.0.0");
    await visit.sees(/1,200 → 1,500 \(\+300\)[\s\S]*\+1\.7 MiB[\s\S]*\+ added[\s\S]*score/);
    assert.match(query(), /compare=1\.0\.0/);
    await visit.picture("dataset-compare");
  });

  it("the choice of a version is in the URL, and back returns to the newest", async () => {
    await visit.open(`${list}/prod.zoo.cats?tab=schema`);
    await visit.sees(/score/);
    await visit.page.selectOption("main header select", "1.0.0");
    await visit.misses(/score/);
    assert.match(query(), /version=1\.0\.0/);
    await visit.page.goBack();
    await visit.sees(/score/);
  });

  it("description and attributes are edited, and a refused name keeps what was typed", async () => {
    await visit.open(`${list}/prod.zoo.cats`);
    await visit.page.click('main button:text("Edit")');
    await visit.page.fill("dialog input", "dogs");
    await visit.page.fill("dialog textarea >> nth=0", "Every cat\nof the zoo");
    await visit.page.fill("dialog textarea >> nth=1", "nightly\nowner=ann");
    await visit.page.click('dialog button:text("Save")');
    await visit.sees(/prod\.zoo\.dogs already exists/);
    assert.equal(await visit.page.inputValue("dialog textarea >> nth=0"), "Every cat\nof the zoo");
    await visit.picture("dataset-edit");
    await visit.page.fill("dialog input", "lions");
    await visit.page.click('dialog button:text("Save")');
    await visit.sees(/prod\.zoo\.lions[\s\S]*Every cat[\s\S]*owner=ann/);
    assert.match(visit.page.url(), /datasets\/prod\.zoo\.lions/);
  });

  it("removing asks first, and says what will happen", async () => {
    await visit.open(`${list}/prod.zoo.lions?version=1.0.0`);
    await visit.page.click('main button:text("Remove")');
    await visit.sees(/Only version 1\.0\.0[\s\S]*deletes the rows of the version/);
    await visit.picture("dataset-remove");
    await visit.page.click('dialog button:text("Keep it")');
    await visit.page.click('main button:text("Remove")');
    await visit.page.click('dialog button:text("Remove the version")');
    await visit.sees(/1\.0\.0 removed/);
    await visit.page.click('main button:text("Remove")');
    await visit.page.click('dialog label:has-text("The dataset")');
    await visit.page.click('dialog button:text("Remove 1 version")');
    await visit.page.waitForURL(/\/datasets$/);
    await visit.sees(/dogs/);
    assert.doesNotMatch(await visit.text(), /lions/);
  });

  it("a name full of markup stays text, and an unknown name says so", async () => {
    const name = "<img/src=x>%25+&#a?b".replace("/", "");
    await register(`zoo.${name}`, { description: "<script>alert(1)</script>", schema: { "<b>": { type: "<i>" } } });
    await visit.open(list);
    await visit.page.click(`main a:text("${name}")`);
    await visit.sees(/<imgsrc=x>%25\+&#a\?b[\s\S]*<script>alert\(1\)<\/script>/);
    await visit.page.click('main nav a:text("Schema")');
    await visit.sees(/<b>\s*<i>/);
    await visit.page.reload();
    await visit.sees(/<imgsrc=x>%25\+&#a\?b/);
    await visit.open(`${list}/no.such.thing`);
    await visit.sees(/Not found[\s\S]*no\.such\.thing/);
    await visit.picture("dataset-not-found");
    // The browser itself writes this line for every answer of 400 and above.
    visit.complaints.splice(
      0,
      visit.complaints.length,
      ...visit.complaints.filter((line) => !/status of 4\d\d/.test(line)),
    );
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
