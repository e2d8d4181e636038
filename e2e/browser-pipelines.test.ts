/** Pipelines in a real browser: create, review, run, fail, rerun; and what a viewer may do. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, type Pipeline, routes } from "@millrace/contract";
import { shell } from "@millrace/testing/millrace/jobs.ts";
import { openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { until } from "@millrace/testing/until.ts";
import { noBrowser, Visit } from "./support/browser.ts";

const evil = "<img src=x onerror=alert(1)>.sh";

/** Waits until the pipeline has one of these states, as the server sees it. */
async function reaches(client: Client, pipeline_id: string, ...states: Pipeline["status"][]): Promise<Pipeline> {
  for (let round = 0; round < 300; round++) {
    const pipeline = await client.call(routes.getPipeline, { query: { pipeline_id } });
    if (states.includes(pipeline.status)) return pipeline;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the pipeline did not become ${states.join(" or ")}`);
}

describe("pipelines in a browser", { skip: noBrowser }, () => {
  let visit: Visit;
  before(async () => {
    visit = await Visit.begin();
    const lineage = await openLineage(visit.server, visit.client);
    const raw = await lineage.make("raw", shell("sleep 0.3", { query_name: "list_photos.sh" }));
    const small = await lineage.make("small", shell("sleep 0.2", { query_name: "resize.sh" }), [raw]);
    const labels = await lineage.make("labels", shell("true", { query_name: evil }), [raw]);
    await lineage.make("final", shell("true", { query_name: "train.sh" }), [small, labels]);
    const input = await lineage.make("input", shell("sleep 1", { query_name: "load_input.sh" }));
    const script = '[ "$FIXED" = yes ] || { echo "the table has no column price" >&2; exit 3; }';
    const middle = await lineage.make("middle", shell(script, { query_name: "join_prices.sh" }), [input]);
    await lineage.make("report", shell("true", { query_name: "write_report.sh" }), [middle]);
    await lineage.close();
  });
  after(() => visit.end());

  const button = (name: string) => visit.page.getByRole("button", { name: new RegExp(`^${name}`) });
  const node = (name: string) => visit.page.locator(`.graph .node[aria-label*="${name}"]`);
  const tab = (name: string) => visit.page.locator("main .tabs").getByText(name);
  const idOf = () => new URL(visit.page.url()).pathname.split("/").at(-1) ?? "";

  it("an empty list says what a pipeline is, and how to create one", async () => {
    await visit.open("/team/main/pipelines");
    await visit.sees(/No pipelines yet[\s\S]*millrace pipeline create/);
    await visit.picture("pipelines-empty");
  });

  it("a pipeline is created from chosen datasets, for review", async () => {
    await visit.page.getByRole("link", { name: "New pipeline" }).click();
    await visit.page.getByLabel("@admin.default.final").check();
    await visit.sees(/Rebuild 1 dataset/);
    await visit.picture("pipeline-new");
    await visit.page.reload();
    await visit.sees(/Rebuild 1 dataset[\s\S]*@admin.default.final/);
    await button("Create for review").click();
    await visit.sees(/Nothing runs yet. Review the 4 jobs/);
    await visit.picture("pipeline-review");
  });

  it("a dataset that does not exist is refused, and what was typed stays", async () => {
    const { page } = visit;
    const reviewed = page.url();
    await visit.open("/team/main/pipelines/new");
    await page.getByLabel("Name of a dataset, with a version if you like").fill("nothing@1.0.0");
    await button("Add").click();
    await button("Create for review").click();
    await visit.sees(/nothing@1.0.0[\s\S]*There is no dataset/);
    visit.complaints.length = 0;
    await page.goto(reviewed);
  });

  it("the graph is read with the arrow keys; a selection is in the URL and dims what is not related", async () => {
    const { page } = visit;
    await node("list_photos.sh").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.locator('.graph .node:focus[aria-label*="train.sh"]').waitFor();
    await node("resize.sh").click();
    await page.waitForURL(/job=/);
    await visit.sees(/It waits for list_photos.sh/);
    assert.equal(await page.locator(".graph .node.dim").count(), 1);
    await visit.picture("pipeline-selected");
    await page.goBack();
    await page.locator(".graph .node.dim").waitFor({ state: "detached" });
  });

  it("a job is removed from the draft after a question, and settings are changed", async () => {
    const { page } = visit;
    await node(evil.slice(0, 8)).click();
    await button("Remove").click();
    await visit.picture("pipeline-remove-question");
    await page.getByRole("button", { name: "Remove the job" }).click();
    await visit.sees(/Review the 3 jobs/);
    await tab("Settings").click();
    await page.getByLabel("Variables").fill("FIXED=no");
    await page.getByLabel("Priority").selectOption("1");
    await page.getByLabel("Python version").fill("not a version");
    await button("Save the settings").click();
    await page.waitForSelector("[role=alert]");
    assert.equal(await page.getByLabel("Variables").inputValue(), "FIXED=no");
    visit.complaints.length = 0;
    await page.getByLabel("Python version").fill("");
    await button("Save the settings").click();
    await visit.sees(/Saved/);
    await visit.picture("pipeline-settings");
    const saved = await visit.client.call(routes.getPipeline, { query: { pipeline_id: idOf() } });
    assert.deepEqual([saved.environment_variables, saved.priority], [{ FIXED: "no" }, 1]);
  });

  it("it is started, paused, resumed, and completes", async () => {
    await tab("Graph").click();
    await button("Start").click();
    await button("Pause").click();
    await visit.sees(/Paused/);
    await button("Resume").click();
    // Without a reload: the page follows its pipeline.
    await visit.sees(/3 of 3[\s\S]*Critical path/);
    await visit.picture("pipeline-complete");
  });

  it("a complete pipeline is run again from the form, with its datasets chosen; what cannot be done is left out", async () => {
    const { page } = visit;
    for (const name of ["Resume", "Start", "Pause", "Rerun from failed", "Cancel"])
      assert.equal(await button(name).count(), 0, name);
    await page.getByRole("link", { name: "Run again" }).click();
    await visit.sees(/Rebuild 1 dataset[\s\S]*@admin\.default\.final/);
    await page.goBack();
    await visit.sees(/3 of 3/);
  });

  it("a failed pipeline shows the failing job's error beside the graph", async () => {
    const body = { datasets: ["report"] };
    const { pipeline } = await visit.client.call(routes.triggerPipeline, { body });
    await reaches(visit.client, pipeline.pipeline_id, "FAILED");
    await visit.open(`/team/main/pipelines/${pipeline.pipeline_id}`);
    await visit.sees(/join_prices.sh[\s\S]*exit code 3[\s\S]*the table has no column price/);
    // The line of the log is said once.
    assert.equal((await visit.text()).split("the table has no column price").length, 2);
    await visit.picture("pipeline-failed");
    await visit.page.getByRole("link", { name: "Open the job" }).click();
    await visit.sees(new RegExp(`Part of the pipeline ${pipeline.name}`));
    await visit.page.goBack();
    await node("write_report.sh").click();
    await visit.sees(/It did not run, because join_prices.sh failed/);
  });

  it("the jobs are also a list, a timeline, and a grid of the last runs, each with its own URL", async () => {
    const { page } = visit;
    await tab("Jobs").click();
    await page.getByRole("button", { name: /^Failed/ }).click();
    await page.waitForURL(/view=list&state=FAILED/);
    await visit.picture("pipeline-list");
    await page.reload();
    await visit.sees(/join_prices.sh.*the table has no column price/);
    assert.equal(await page.locator("main table tbody tr").count(), 1);
    await tab("Timeline").click();
    await visit.sees(/write_report\.shIt did not run, because join_prices\.sh failed/);
    await visit.picture("pipeline-timeline");
    await tab("Last runs").click();
    await visit.sees(/The only pipeline for @admin.default.report/);
    await visit.sees(/Failed: .*, took [\d.]+ s/);
    assert.match((await page.textContent(".run-grid thead .when")) ?? "", /^[A-Z][a-z]{2} \d+$/);
    await visit.picture("pipeline-last-runs");
  });

  it("the list of pipelines says why one failed", async () => {
    const address = visit.page.url();
    await visit.open("/team/main/pipelines?status=FAILED");
    await visit.sees(/@admin\.default\.report.*the table has no column price/);
    await visit.picture("pipelines-failed");
    await visit.page.goto(address);
  });

  it("after the settings are mended, rerun from failed completes it", async () => {
    const { page } = visit;
    await tab("Settings").click();
    await page.getByLabel("Variables").fill("FIXED=yes");
    await button("Save the settings").click();
    await visit.sees(/Saved/);
    await button("Rerun from failed").click();
    await visit.sees(/3 of 3/);
    await until("the title of the tab", async () => (await page.title()).startsWith("Complete 3/3: "));
  });

  it("the list is filtered by status and text; back and reload keep the filter", async () => {
    const { page } = visit;
    const { pipeline } = await visit.client.call(routes.triggerPipeline, {
      body: { datasets: ["final"], review: true },
    });
    await visit.open("/team/main/pipelines");
    await visit.sees(/3 of 3/);
    await visit.picture("pipelines");
    await page.getByRole("button", { name: "Paused" }).click();
    await page.locator("main table tbody tr").nth(1).waitFor({ state: "detached" });
    await visit.sees(new RegExp(pipeline.name));
    await page.reload();
    await visit.sees(/0 of 4/);
    await page.goBack();
    await visit.sees(/3 of 3/);
    await page.getByLabel("Search pipelines and datasets").fill("report");
    await page.waitForURL(/search=report/);
    await page.locator("main table tbody tr").nth(1).waitFor({ state: "detached" });
    await page.getByLabel("Search pipelines and datasets").fill("nothing like it");
    await visit.sees(/No pipeline matches/);
    await visit.open(`/team/main/pipelines/${pipeline.pipeline_id}`);
    await button("Cancel").click();
    await button("Cancel the pipeline").click();
    await visit.sees(/Canceled/);
  });

  it("a viewer sees everything, and each action says why it is not allowed", async () => {
    const { client, server, browser } = visit;
    const [username, password] = ["vera", "correct horse battery"];
    await client.call(routes.createUser, { body: { username, password } });
    await client.call(routes.addMember, { params: { team_name: "main" }, body: { username, role: "viewer" } });
    const [pipeline] = await client.call(routes.listPipelines, { query: { search: "report" } });
    const { pipeline: paused } = await client.call(routes.triggerPipeline, {
      body: { datasets: ["final"], review: true },
    });
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${server.url}/auth/sign-in`);
    await page.fill("input[name=username]", username);
    await page.fill("input[name=password]", password);
    await page.press("input[name=password]", "Enter");
    await page.waitForURL(/team/);
    const why = /^You are a viewer of this team; only editors and admins can do this/;
    const refusal = async (name: RegExp) => (await page.getByRole("button", { name }).getAttribute("title")) ?? "";
    await page.goto(`${server.url}/team/main/pipelines`);
    assert.match(await refusal(/^New pipeline/), why);
    await page.goto(`${server.url}/team/main/pipelines/${pipeline?.pipeline_id}`);
    assert.match(await refusal(/^Run again/), why);
    await page.locator('.graph .node[aria-label*="join_prices.sh"]').click();
    for (const name of [/^Retry only this job/, /^Remove/]) assert.match(await refusal(name), why);
    await page.locator("main .tabs").getByText("Settings").click();
    assert.match(await refusal(/^Save the settings/), why);
    await page.goto(`${server.url}/team/main/pipelines/${paused.pipeline_id}`);
    for (const name of [/^Start/, /^Cancel/]) assert.match(await refusal(name), why);
    await client.call(routes.cancelPipeline, { body: { pipeline_id: paused.pipeline_id } });
    await page.reload();
    for (const name of [/^Rerun the rest/, /^Run again/]) assert.match(await refusal(name), why);
    await page.context().close();
  });

  it("a pipeline that does not exist is not found", async () => {
    await visit.open("/team/main/pipelines/00000000-0000-4000-8000-000000000000");
    await visit.sees(/Not found/);
    await visit.picture("pipeline-not-found");
    visit.complaints.length = 0;
  });

  it("names stay text", async () => {
    assert.equal(await visit.page.locator("main img").count(), 0);
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
