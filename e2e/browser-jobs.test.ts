/** Jobs in a real browser: the list and the page of a job. */
import { after, before, describe, it } from "node:test";
import { runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { noBrowser, Visit } from "./support/browser.ts";

describe("jobs in a browser", { skip: noBrowser }, () => {
  let visit: Visit;
  before(async () => {
    visit = await Visit.begin();
  });
  after(() => visit.end());

  it("an empty list teaches how to run a job", async () => {
    await visit.open("/team/main/datasets/jobs");
    await visit.sees(/No jobs yet[\s\S]*millrace job run hello.sh/);
    await visit.picture("jobs-empty");
  });

  it("a job of the list leads to its page, which says why it failed", async () => {
    const name = "<b>evil</b>.sh";
    await runJob(visit.client, shell("echo one; echo broken >&2; exit 3", { query_name: name }));
    await visit.open("/team/main/datasets/jobs");
    await visit.page.click(`main a:text("${name}")`);
    await visit.sees(/exit code 3[\s\S]*broken/);
    await visit.picture("job-failed");
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
