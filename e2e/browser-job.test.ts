/** The page of a job in a real browser. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { routes } from "@millrace/contract";
import { createJob, python, runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import axe from "axe-core";
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
    await visit.open(`/team/main/datasets/jobs/${last.id}?tab=runs`);
    await visit.sees(/Durations of recent runs/);
    assert.equal(await visit.page.locator(".plot-bar").count(), 3);
    await visit.page.focus(".plot-bar[tabindex='0']");
    await visit.page.keyboard.press("ArrowLeft");
    await visit.page.keyboard.press("ArrowLeft");
    await visit.sees(/Failed after [\d.]+ s/);
    await visit.picture("job-plots");
    await visit.page.keyboard.press("Enter");
    await visit.page.waitForURL(`**/${first.id}`);
  });

  it("plots CPU and memory, with the numbers as a table", async () => {
    const { job } = await runJob(visit.client, shell("sleep 3.2"));
    await visit.open(`/team/main/datasets/jobs/${job.id}?tab=resources`);
    await visit.page.focus("[role=slider][aria-label='Memory in use']");
    await visit.page.keyboard.press("Home");
    await visit.sees(/\d+:\d+:\d+.*: [\d.]+ ([KM]i)?B/);
    await visit.page.locator("summary:text('Numbers')").last().click();
    assert.match((await visit.page.textContent("section[aria-label='Memory in use: numbers']")) ?? "", /[KM]iB/);
  });

  it("says why the job failed, and leads to the line in the log", async () => {
    const script =
      "def broken():\n    raise ValueError('<b>no</b> rows')\n\nfor i in range(3000):\n    print(i, flush=True)\nbroken()\n";
    const { job } = await runJob(visit.client, python(script, { query_name: "broken.py", tags: ["nightly"] }));
    await visit.open(`/team/main/datasets/jobs/${job.id}`);
    await visit.sees(/Why it failed[\s\S]*Traceback[\s\S]*ValueError: <b>no<\/b> rows/);
    await visit.sees(/Queue.*Run the query/);
    assert.match(await visit.page.title(), /^Failed: broken\.py/);
    assert.match((await visit.page.getAttribute("#favicon", "href")) ?? "", /^data:image\/svg/);
    await visit.picture("job-failed");
    await visit.page.click("text=Show in the log");
    await visit.page.waitForSelector(".log-row.selected");
    assert.match((await visit.page.textContent(".log-row.selected .log-text")) ?? "", /ValueError: <b>no<\/b> rows/);
  });

  it("cancels after asking, reruns, and offers the editor", async () => {
    const job = await createJob(visit.client, shell("echo begun; sleep 100", { query_name: "long.sh" }));
    await visit.open(`/team/main/datasets/jobs/${job.id}`);
    await visit.sees(/Running[\s\S]*Running for [\s\S]*begun/);
    await visit.picture("job-running");
    await visit.page.click("button:text-is('Cancel')");
    await visit.page.waitForSelector("dialog:has-text('Its processes are stopped')");
    await visit.picture("job-cancel");
    await visit.page.click("dialog button:text-is('Cancel the job')");
    await visit.sees(/Canceled/);
    assert.match(await visit.page.title(), /^Canceled: long\.sh/);
    assert.match((await visit.page.getAttribute("a:text('Edit and rerun')", "href")) ?? "", /editor\?from=/);
    await visit.page.click("button:text-is('Rerun')");
    await visit.page.waitForURL((url) => !url.href.includes(job.id));
    await visit.sees(/Running[\s\S]*Rerun of [0-9a-f]{8}/);
    await visit.page.click("button:text-is('Cancel')");
    await visit.page.click("dialog button:text-is('Cancel the job')");
    await visit.sees(/Canceled/);
  });

  it("compares with the last success, shows attempts side by side, script and settings", async () => {
    const query_name = "compared.sh";
    await runJob(visit.client, shell("echo 1\necho 2\n", { query_name, workers: 1 }));
    const input = shell("echo 1\necho 3\nexit 4\n", {
      query_name,
      environment: "MODE=<i>fast</i>",
      retries: 1,
      retry_delay: 0,
    });
    const { job } = await runJob(visit.client, input);
    await visit.open(`/team/main/datasets/jobs/${job.id}`);
    await visit.sees(
      /Why it failed[\s\S]*Changed since the last success, .*: script \(2 lines\), environment, retries\./,
    );
    await visit.picture("job-changed");
    await visit.page.click("text=last success");
    await visit.page.waitForURL(/tab=runs/);
    await visit.sees(/− echo 2\+ echo 3\+ exit 4/);
    await visit.sees(/MODE=<i>fast<\/i>/);
    await visit.picture("job-difference");
    await visit.page.getByRole("link", { name: "Attempts", exact: true }).click();
    await visit.sees(/Attempt 1[\s\S]*Exit code4[\s\S]*Attempt 2/);
    await visit.picture("job-attempts");
    assert.equal((await visit.text()).match(/ends with/g)?.length, 3, "once in the panel, once in each attempt");
    await visit.page.click("text=Log of this attempt >> nth=1");
    await visit.sees(/\d+ lines?/);
    await visit.page.click("nav >> text=Settings >> nth=-1");
    await visit.sees(/Environment[\s\S]*Retries1[\s\S]*Not set: .*Requirements/);
    await visit.picture("job-settings");
    await visit.page.goBack();
    await visit.page.waitForURL(/attempt=2/);
    await visit.open(`/team/main/datasets/jobs/${job.id}?tab=datasets`);
    await visit.sees(/No datasets/);
  });

  it("every part passes axe in both themes", async () => {
    const { job } = await runJob(
      visit.client,
      python("print('a/b', 'Epoch 3/10', '\\x1b[31mred\\x1b[36mcyan\\x1b[90mgray')\nraise ValueError(1)", {
        query_name: "broken.py",
      }),
    );
    for (const tab of ["log", "script", "settings", "datasets", "resources", "attempts", "runs"]) {
      await visit.open(`/team/main/datasets/jobs/${job.id}?tab=${tab}`);
      await visit.sees(/Why it failed/);
      for (const colorScheme of ["light", "dark"] as const) {
        await visit.page.emulateMedia({ colorScheme });
        await visit.page.evaluate(axe.source);
        const { violations } = await visit.page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
          "axe.run(document)",
        );
        const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
        assert.deepEqual(found, [], `${tab} ${colorScheme}`);
      }
    }
    await visit.page.emulateMedia({ colorScheme: "light" });
  });

  it("a viewer sees the actions, and why they are not allowed", async () => {
    const { job } = await runJob(visit.client, shell("exit 1"));
    await visit.asMember("viewer", async (page) => {
      await page.goto(`${visit.url}/team/main/datasets/jobs/${job.id}`);
      const rerun = page.locator("main button:has-text('Rerun')").first();
      await rerun.waitFor();
      assert.equal(await rerun.getAttribute("aria-disabled"), "true");
      assert.match((await rerun.textContent()) ?? "", /You are a viewer of this team/);
      const before = (await visit.client.call(routes.listJobs, { query: {} })).length;
      await rerun.click({ force: true });
      assert.equal((await visit.client.call(routes.listJobs, { query: {} })).length, before);
    });
  });

  it("a job that does not exist has its own page", async () => {
    await visit.open("/team/main/datasets/jobs/01a1e913-3b68-7068-8fa1-02d8a982fce0");
    await visit.sees(/Not found/);
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
