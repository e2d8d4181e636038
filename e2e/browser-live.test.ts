/** Pages that stay current: changes show without a reload, and a lost connection heals by itself. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { routes } from "@millrace/contract";
import { createJob, shell, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { noBrowser, Visit } from "./support/browser.ts";

/** Pretends that the tab is in front or behind. */
const show = (visit: Visit, isShown: boolean) =>
  visit.page.evaluate(`Object.defineProperty(document, "hidden", { value: ${!isShown}, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"))`);

describe("live pages in a browser", { skip: noBrowser }, () => {
  let visit: Visit;
  before(async () => {
    visit = await Visit.begin();
  });
  after(() => visit.end());

  it("a list shows a new job, and its states as they change", async () => {
    await visit.open("/team/main/datasets/jobs");
    await visit.sees(/No jobs yet/);
    const { id } = await createJob(visit.client, shell("sleep 600", { query_name: "long.sh" }));
    await visit.sees(/Running[\s\S]*long\.sh/, 10);
    await visit.client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
    await visit.sees(/Canceled[\s\S]*long\.sh/, 10);
  });

  it("the page of a job shows its end, and asks only once for many changes of other jobs", async () => {
    const { id } = await createJob(visit.client, shell("sleep 600", { query_name: "watched.sh" }));
    await waitForStatus(visit.client, id, ["RUNNING"]);
    await visit.open(`/team/main/datasets/jobs/${id}`);
    await visit.sees(/Running/);
    await new Promise((resolve) => setTimeout(resolve, 6000));
    let asked = 0;
    const count = (request: { url(): string }) => void (request.url().includes(`job_id=${id}`) && asked++);
    visit.page.on("request", count);
    await Promise.all(Array.from({ length: 5 }, () => createJob(visit.client, shell("true"))));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    visit.page.off("request", count);
    assert.equal(asked, 0);
    await visit.client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
    await visit.sees(/Canceled/, 10);
  });

  it("a page says that it reconnects while the server is away, and heals without a reload", async () => {
    await visit.open("/team/main/datasets/jobs");
    await visit.sees(/watched\.sh/);
    await visit.page.evaluate("window.mark = 'same page'");
    await visit.server.stop("SIGKILL");
    await visit.page.waitForSelector(".reconnecting:text('Reconnecting')");
    await visit.picture("reconnecting");
    await visit.server.restart();
    await createJob(visit.client, shell("sleep 600", { query_name: "afterwards.sh" }));
    await visit.sees(/Running[\s\S]*afterwards\.sh/, 30);
    await visit.page.waitForSelector(".reconnecting:not(:text('Reconnecting'))", { state: "attached" });
    assert.equal(await visit.page.evaluate("window.mark"), "same page");
    // The browser itself complained about refused connections.
    visit.complaints.length = 0;
  });

  it("a page that nobody looks at stops following after a minute, and goes on when it is looked at", async () => {
    await visit.page.clock.install();
    await visit.open("/team/main/datasets/jobs");
    await visit.sees(/afterwards\.sh/);
    const closed = visit.page.waitForEvent("requestfailed", (request) => request.url().includes("/api/live"));
    await show(visit, false);
    await visit.page.clock.fastForward(61_000);
    await closed;
    await createJob(visit.client, shell("true", { query_name: "unseen.sh" }));
    const opened = visit.page.waitForRequest(/api\/live/);
    await show(visit, true);
    await opened;
    await visit.page.clock.resume();
    await visit.sees(/unseen\.sh/, 10);
    assert.equal(await visit.page.textContent(".reconnecting"), "");
  });

  it("a page whose session ended leads to the sign-in", async () => {
    await visit.open("/team/main/datasets/jobs");
    await visit.sees(/afterwards\.sh/);
    await visit.context.clearCookies();
    await createJob(visit.client, shell("true"));
    await visit.page.waitForURL(/\/auth\/sign-in\?next=/, { timeout: 20_000 });
    visit.complaints.length = 0;
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
