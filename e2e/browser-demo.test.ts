/** The home in a real browser: a new team is taught, the demo is made and removed with one click each. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { routes } from "@millrace/contract";
import { createJob, runJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { makeDemo, removeDemo } from "../packages/web/src/home/demo.ts";
import { noBrowser, Visit } from "./support/browser.ts";

describe("the home in a browser", { skip: noBrowser }, () => {
  let visit: Visit;
  before(async () => {
    visit = await Visit.begin();
  });
  after(() => visit.end());

  it("teaches a new team: editor, client, command line, demo", async () => {
    await visit.open("/team/main");
    await visit.sees(/Nothing has run in the team main yet/);
    await visit.sees(
      /Open the editor[\s\S]*Make the demo[\s\S]*datachain auth login -H http[\s\S]*millrace job run hello\.sh/,
    );
    await visit.picture("home-empty");
  });

  it("a viewer sees the same, and the buttons say why they are refused", async () => {
    await visit.asMember("viewer", async (page) => {
      await page.goto(`${visit.server.url}/team/main`);
      for (const words of ["Open the editor", "Make the demo"]) {
        const button = page.locator(`main button:has-text('${words}')`);
        assert.match((await button.getAttribute("title")) ?? "", /You are a viewer of this team; only editors/);
      }
    });
  });

  it("one click makes the demo: a lineage of three jobs, a running job, a failure with its reason, a paused schedule", async () => {
    await visit.page.click("button:has-text('Make the demo')");
    await visit.sees(/1 job failed since yesterday\./);
    await visit.sees(/demo-import\.sh[\s\S]*No such file or directory/);
    await visit.sees(/Running[\s\S]*demo-indexing\.sh/);
    await visit.sees(/Demo: nightly revenue\s*Paused/);
    await visit.sees(/Demo\. This team has the demo/);
    const { client } = visit;
    const { nodes } = await client.call(routes.getLineage, { query: { dataset: "demo.shop.revenue" } });
    assert.equal(nodes.filter(({ kind }) => kind === "dataset").length, 3);
    assert.equal(nodes.filter(({ kind }) => kind === "job").length, 3);
    const [pipeline] = await client.call(routes.listPipelines, { query: {} });
    for (const { created_job_id } of pipeline?.job_runs ?? [])
      if (created_job_id) assert.equal((await waitForEnd(client, created_job_id)).status, "COMPLETE");
    await visit.picture("home-demo");
  });

  it("leads from the failure to its job", async () => {
    await visit.page.click("main a:has-text('demo-import.sh')");
    await visit.sees(/importing orders-of-yesterday\.csv|No such file/);
    await visit.page.goBack();
    await visit.sees(/Failed today and yesterday/);
  });

  it("one click, after a question, removes the demo; the home says that all is well", async () => {
    await visit.page.click("button:has-text('Remove the demo')");
    await visit.sees(/Its ended jobs stay in the list of jobs/);
    await visit.page.click("dialog button.danger");
    await visit.sees(/All is well: 1 pipeline completed since yesterday, and nothing failed\./);
    assert.doesNotMatch(await visit.text(), /This team has the demo|Demo: nightly|demo-import/);
    const { client } = visit;
    assert.deepEqual(await client.call(routes.listSchedules, { query: {} }), []);
    assert.deepEqual(await client.call(routes.listDatasets, { query: {} }), []);
    await visit.sees(/Nothing is running/);
    await visit.picture("home-well");
  });

  it("a schedule shows its last results and its trouble, and the sentence names it", async () => {
    const { client } = visit;
    const { id } = await createJob(client, shell("exit 4", { query_name: "nightly.sh" }));
    await client.call(routes.registerVersion, { body: { name: "night.default.stars", job_id: id } });
    await waitForEnd(client, id);
    const { pipeline } = await client.call(routes.triggerPipeline, {
      body: { datasets: ["night.default.stars"], review: true },
    });
    const start_after = new Date(Date.now() + 1000).toISOString();
    await client.call(routes.createSchedule, {
      body: { schedule_name: "stars", pipeline_name: pipeline.name, start_after },
    });
    await visit.sees(/The schedule stars is failing; 1 pipeline and 1 job failed since yesterday\./);
    await visit.sees(/stars\s*Failing/);
    assert.equal(await visit.page.locator(".last-runs a").count(), 1);
    await visit.picture("home-failing");
  });

  it("says what failed in the words of the job, as text", async () => {
    const name = "<b>evil</b>.sh";
    await runJob(visit.client, shell("echo '<img src=x onerror=alert(1)>' >&2; exit 3", { query_name: name }));
    await visit.sees(/1 pipeline and 2 jobs failed since yesterday\.[\s\S]*<b>evil<\/b>\.sh[\s\S]*exit code 3/);
    await visit.picture("home-failed");
  });

  it("offers to remove what is left if one person removed the demo while another made it", async () => {
    const { client } = visit;
    await makeDemo(client);
    for (const name of ["revenue", "valid_orders", "orders"])
      await client.call(routes.removeDataset, { body: { name: `demo.shop.${name}`, force: true } });
    await visit.sees(/Demo\. This team has the demo/);
    await removeDemo(client);
    assert.doesNotMatch(
      (await client.call(routes.listSchedules, { query: {} })).map((one) => one.schedule_name).join(),
      /Demo/,
    );
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});

describe("removing the demo", () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start({ env: { MILLRACE_MAX_WORKERS: "6" } });
  });
  after(() => server.dispose());

  it("leaves alone what is the team's own, however similar its name is", async () => {
    const client = await server.client();
    /** Starts a pipeline that rebuilds a dataset of the team. */
    const own = async (name: string) => {
      const { id } = await createJob(client, shell("exit 0"));
      await client.call(routes.registerVersion, { body: { name, job_id: id } });
      const datasets = [name];
      const { pipeline } = await client.call(routes.triggerPipeline, { body: { datasets, review: true } });
      return pipeline.name;
    };
    const names = ["demo.shopping.baskets", "eu-demo.shop.stock", "demo.shop.own"];
    const pipelines = [];
    for (const name of names) pipelines.push(await own(name));
    await makeDemo(client);
    await removeDemo(client);
    const live = await client.call(routes.listPipelines, { query: { status: ["RUNNING", "PAUSED"], limit: 100 } });
    assert.deepEqual(live.map(({ name }) => name).sort(), pipelines.sort());
    const datasets = await client.call(routes.listDatasets, { query: {} });
    assert.deepEqual(datasets.map(({ name }) => name).sort(), ["baskets", "own", "stock"]);
  });

  it("does not touch a dataset with a name of the demo that the demo did not make, and making it is refused", async () => {
    const client = await server.client();
    await client.call(routes.registerVersion, { body: { name: "demo.shop.orders" } });
    await assert.rejects(makeDemo(client), /The team has a dataset demo\.shop\.orders of its own/);
    await removeDemo(client);
    const [kept] = await client.call(routes.listDatasets, { query: { prefix: "demo.shop.orders" } });
    assert.equal(kept?.versions.length, 1);
  });
});
