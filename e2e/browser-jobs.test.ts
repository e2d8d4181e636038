/** Jobs in a real browser: the list with its filters, why a job waits, cancel and rerun of several. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Job, routes } from "@millrace/contract";
import { createJob, runJob, shell, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { noBrowser, Visit } from "./support/browser.ts";

const list = "/team/main/datasets/jobs";

describe("jobs in a browser", { skip: noBrowser }, () => {
  let visit: Visit;
  before(async () => {
    visit = await Visit.begin({ env: { MILLRACE_MAX_WORKERS: "2" } });
  });
  after(() => visit.end());

  const names = () => visit.page.locator("main table tbody tr td.wide .job-name").allTextContents();
  /** Waits until the list has exactly these names. */
  const lists = async (...expected: string[]) => {
    for (const deadline = Date.now() + 120_000; ; ) {
      const found = await names();
      if (JSON.stringify(found) === JSON.stringify(expected) || Date.now() > deadline)
        return assert.deepEqual(found, expected);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const chip = (name: string) => visit.page.getByRole("button", { name, exact: true });
  const endless = (name: string) => shell("sleep 600", { query_name: name, tags: ["slow"] });

  it("an empty list teaches how to run a job", async () => {
    await visit.open(list);
    await visit.sees(/No jobs yet[\s\S]*millrace job run hello.sh/);
    await visit.picture("jobs-empty");
  });

  it("a job of the list leads to its page, which says why it failed", async () => {
    const name = "<b>evil</b>.sh";
    await runJob(visit.client, shell("echo one; echo broken >&2; exit 3", { query_name: name, tags: ["urgent"] }));
    await visit.open(list);
    await visit.sees(/<b>evil<\/b>\.sh#urgentbrokenadmin/);
    await visit.page.click(`main a:text("${name}")`);
    await visit.sees(/exit code 3[\s\S]*broken/);
    await visit.picture("job-failed");
  });

  it("chips filter by state; the URL has the filter, so back, forward and reload keep it", async () => {
    await runJob(visit.client, shell("echo fine", { query_name: "fine.sh", tags: ["nightly"] }));
    await visit.open(list);
    await lists("fine.sh", "<b>evil</b>.sh");
    await chip("Failed").click();
    await lists("<b>evil</b>.sh");
    assert.match(visit.page.url(), /status=failed/);
    await chip("Complete").click();
    await lists("fine.sh", "<b>evil</b>.sh");
    await chip("Failed").click();
    await lists("fine.sh");
    await visit.page.reload();
    await lists("fine.sh");
    assert.equal(await chip("Complete").getAttribute("aria-pressed"), "true");
    await visit.page.goBack();
    await lists("fine.sh", "<b>evil</b>.sh");
    await visit.page.goBack();
    await lists("<b>evil</b>.sh");
    await visit.page.goForward();
    await lists("fine.sh", "<b>evil</b>.sh");
  });

  it("text, tag, user, name, cluster and time filter, and can be cleared", async () => {
    await visit.open(list);
    await visit.page.fill("input[type=search]", "ECHO FINE");
    await lists("fine.sh");
    await visit.page.fill("input[type=search]", "nothing has this");
    await visit.sees(/No job matches these filters/);
    await visit.picture("jobs-no-match");
    await visit.page.getByRole("button", { name: "Clear the filters" }).click();
    await lists("fine.sh", "<b>evil</b>.sh");
    await visit.page.getByRole("button", { name: "Filters" }).click();
    await visit.page.getByLabel("Tags").fill("nightly");
    await lists("fine.sh");
    await visit.page.getByLabel("Created by").fill("nobody");
    await visit.sees(/No job matches/);
    await visit.page.getByLabel("Created by").fill("admin");
    await lists("fine.sh");
    await visit.page.getByLabel("Cluster").selectOption("local");
    await visit.page.getByLabel("Created", { exact: true }).selectOption("1h");
    await lists("fine.sh");
    assert.match(visit.page.url(), /tag=nightly&by=admin&cluster=local&since=1h/);
    await visit.picture("jobs-filters");
    await visit.page.getByLabel("From").fill("2100-01-01T00:00");
    await visit.sees(/No job matches/);
    await visit.page.getByRole("button", { name: "Clear", exact: true }).click();
    await lists("fine.sh", "<b>evil</b>.sh");
  });

  it("a waiting job says what holds the slots and how many jobs are ahead", async () => {
    const holders = [await createJob(visit.client, endless("one")), await createJob(visit.client, endless("two"))];
    for (const { id } of holders) await waitForStatus(visit.client, id, ["RUNNING"]);
    for (const name of ["first.sh", "second.sh"]) await createJob(visit.client, shell(":", { query_name: name }));
    await visit.open(`${list}?status=waiting`);
    await lists("second.sh", "first.sh");
    await visit.page.getByRole("button", { name: "Why does second.sh wait" }).click();
    const dialog = visit.page.getByRole("dialog");
    await dialog.getByText("1 job is ahead of it in the queue").waitFor();
    assert.match((await dialog.textContent()) ?? "", /all 2 slots of the cluster local are in use[\s\S]*one 1 slot/);
    await visit.picture("jobs-why");
    await visit.page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });

  it("the clusters show the slots in use and the waiting jobs", async () => {
    await visit.open("/team/main/clusters");
    await visit.sees(/Slots in use2 of 2[\s\S]*Waiting jobs, all teams2/);
    await visit.sees(/What holds the slots.*one 1 slot, admin, started .*two 1 slot/);
    await visit.picture("clusters");
    await visit.page.getByRole("link", { name: "waiting" }).click();
    await lists("second.sh", "first.sh");
  });

  it("several jobs are canceled after a question, with a report for each", async () => {
    await visit.open(`${list}?q=s`);
    const row = visit.page.getByRole("checkbox", { name: "Select second.sh" });
    await row.waitFor();
    const before = await row.boundingBox();
    await row.check();
    await visit.page.getByRole("region", { name: "Selected jobs" }).waitFor();
    assert.deepEqual(await row.boundingBox(), before, "rows do not move under the pointer");
    await visit.page.getByRole("checkbox", { name: "Select first.sh" }).check();
    await visit.page.getByRole("checkbox", { name: "Select fine.sh" }).check();
    await visit.picture("jobs-selected");
    await visit.page.getByRole("button", { name: "Cancel", exact: true }).click();
    const dialog = visit.page.getByRole("dialog");
    await dialog.getByText("One of them has already ended").waitFor();
    await dialog.getByRole("button", { name: "Cancel 2 jobs" }).click();
    await dialog.getByText("Canceled 2 of 3").waitFor();
    assert.match((await dialog.textContent()) ?? "", /fine\.sh Skipped[\s\S]*already ended/);
    assert.match((await dialog.textContent()) ?? "", /second\.sh Done: It is canceled\./);
    await visit.picture("jobs-report");
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await visit.open(`${list}?status=canceled`);
    await lists("second.sh", "first.sh");
    for (const { id } of await visit.client.call(routes.listJobs, { query: { tag: ["slow"] } }))
      await visit.client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
  });

  it("several jobs are rerun with the settings they had", async () => {
    await visit.open(`${list}?name=fine.sh`);
    await visit.page.getByRole("checkbox", { name: "Select all shown jobs" }).check();
    await visit.page.getByRole("button", { name: "Rerun" }).click();
    const dialog = visit.page.getByRole("dialog");
    await dialog.getByText("Started 1 of 1 again").waitFor();
    await dialog.getByRole("link", { name: "Open it" }).click();
    await visit.sees(/fine\.sh/);
    const jobs: Job[] = await visit.client.call(routes.listJobs, { query: { name: "fine.sh" } });
    assert.deepEqual(
      jobs.map(({ tags }) => tags),
      [["nightly"], ["nightly"]],
    );
    assert.equal(jobs[0]?.rerun_from_job_id, jobs[1]?.id);
    await waitForEnd(visit.client, jobs[0]?.id ?? "");
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
