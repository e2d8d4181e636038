/** The page of a job in a real browser. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { noBrowser, Visit } from "./support/browser.ts";

describe("the page of a job", { skip: noBrowser }, () => {
  let visit: Visit;
  before(async () => {
    visit = await Visit.begin();
  });
  after(() => visit.end());

  it("plots the durations of recent runs; a bar leads to its run, by keyboard, too", async () => {
    const query_name = "nightly <i>runs</i>";
    const { job: first } = await runJob(visit.client, shell("exit 1", { query_name }));
    await runJob(visit.client, shell("sleep 0.3", { query_name }));
    const { job: last } = await runJob(visit.client, shell("sleep 2.5", { query_name }));
    await visit.open(`/team/main/datasets/jobs/${last.id}`);
    await visit.sees(/Durations of recent runs/);
    assert.equal(await visit.page.locator(".plot-bar").count(), 3);
    await visit.page.focus(".plot-bar[tabindex='0']");
    await visit.page.keyboard.press("ArrowLeft");
    await visit.page.keyboard.press("ArrowLeft");
    await visit.sees(/Failed after 0\.\d s/);
    await visit.picture("job-plots");
    await visit.page.keyboard.press("Enter");
    await visit.page.waitForURL(`**/${first.id}`);
  });

  it("plots CPU and memory, with the numbers as a table", async () => {
    const { job } = await runJob(visit.client, shell("sleep 3.2"));
    await visit.open(`/team/main/datasets/jobs/${job.id}`);
    await visit.page.focus("[role=slider][aria-label='Memory in use']");
    await visit.page.keyboard.press("Home");
    await visit.sees(/\d+:\d+:\d+.*: [\d.]+ [kM]?B/);
    await visit.page.locator("summary:text('Numbers')").last().click();
    assert.match((await visit.page.textContent("section[aria-label='Memory in use: numbers']")) ?? "", /MB/);
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
