/** The clusters of the server as an administrator manages them, in a real browser. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type ManagedCluster, routes } from "@millrace/contract";
import { createJob, shell, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { until } from "@millrace/testing/until.ts";
import { noBrowser, Visit } from "./support/browser.ts";

/** Nothing listens there, so that the cluster is one that cannot be reached. */
const nowhere = "http://127.0.0.1:9";
const token = "token-that-nobody-may-see";

describe("clusters in a browser", { skip: noBrowser }, () => {
  let visit: Visit;
  before(async () => {
    visit = await Visit.begin();
  });
  after(() => visit.end());

  const fill = (label: string, text: string) => visit.page.getByLabel(label, { exact: true }).fill(text);
  const press = (name: string) => visit.page.getByRole("button", { name, exact: true }).click();
  const confirm = (name: string) => visit.page.locator("dialog").getByRole("button", { name, exact: true }).click();
  const closed = () => visit.page.locator("dialog").waitFor({ state: "detached" });
  const status = (name: string, word: string) =>
    visit.page.getByRole("region", { name, exact: true }).locator(".status", { hasText: word }).waitFor();
  const cluster = (name: string) => visit.client.call(routes.getManagedCluster, { params: { cluster_name: name } });
  const untilCluster = (what: string, is: (found: ManagedCluster) => boolean, name = "grid") =>
    until(what, async () => is(await cluster(name)));

  it("the server's own machine is there, and says what else there may be", async () => {
    await visit.open("/team/main/clusters");
    await visit.page.getByRole("link", { name: "Manage clusters" }).click();
    await visit.sees(/All jobs run on the machine of the server\. Add a cluster[\s\S]*local[\s\S]*Active/);
    assert.equal(new URL(visit.page.url()).pathname, "/administration/clusters");
    await visit.picture("administration-clusters-empty");
  });

  it("one is added; what is wrong stands beside its field, and its secret is never shown", async () => {
    await press("Add cluster");
    await visit.page.getByLabel("Engine", { exact: true }).selectOption("ray");
    await fill("Name", "Not valid");
    await fill("Slots", "4");
    await fill("Teams", "main");
    await fill("token", token);
    await fill("address", nowhere);
    await confirm("Add the cluster");
    const reason = await visit.page.textContent(".field:has(input[aria-invalid=true]) [role=alert]");
    assert.match(reason ?? "", /^Expected 1 to 39 lower-case letters/);
    await visit.picture("administration-cluster-new");
    await fill("Name", "grid");
    await confirm("Add the cluster");
    await closed();
    await visit.sees(/grid[\s\S]*Cannot be reached[\s\S]*ECONNREFUSED[\s\S]*Secrets that are set: token/, 60);
    const { options, teams, max_workers, secrets } = await cluster("grid");
    assert.deepEqual([options["address"], teams, max_workers, secrets], [nowhere, ["main"], 4, ["token"]]);
    assert.ok(!(await visit.page.content()).includes(token));
    await visit.picture("administration-clusters");
    visit.expectComplaints(/status of 4\d\d/);
  });

  it("its slots, options and secrets change, and what was not touched stays", async () => {
    await press("Change grid");
    assert.equal(await visit.page.getByLabel("token", { exact: true }).inputValue(), "");
    assert.equal(await visit.page.getByLabel("address", { exact: true }).inputValue(), nowhere);
    await fill("Slots", "6");
    await fill("cpus_per_worker", "2");
    await visit.picture("administration-cluster-change");
    await confirm("Save");
    await closed();
    const changed = await cluster("grid");
    assert.deepEqual([changed.max_workers, changed.options["cpus_per_worker"]], [6, 2]);
    assert.deepEqual([changed.secrets, changed.teams], [["token"], ["main"]]);
    await press("Change grid");
    await visit.page.getByLabel("Remove the secret token").check();
    await fill("cpus_per_worker", "");
    await confirm("Save");
    await closed();
    const after = await cluster("grid");
    assert.deepEqual([after.secrets, after.options["cpus_per_worker"]], [[], 1], "an empty field means the default");
  });

  it("an option that is not JSON is told before anything is sent", async () => {
    await press("Add cluster");
    await visit.page.getByLabel("Engine", { exact: true }).selectOption("kubernetes");
    await fill("Name", "pods");
    await fill("Slots", "4");
    await fill("node_selector", "{");
    await visit.page.locator("dialog .field [role=alert]", { hasText: "This is not JSON" }).waitFor();
    await confirm("Add the cluster");
    await visit.page.locator("dialog .problem", { hasText: "Not JSON: node_selector" }).waitFor();
    await visit.picture("administration-cluster-kubernetes");
    await visit.page.keyboard.press("Escape");
    await closed();
  });

  it("a test tells step by step what works, and what does not", async () => {
    await press("Test grid");
    await fill("Seconds that it may take", "5");
    await confirm("Run the test");
    await visit.page.waitForSelector("dialog >> text=The cluster does not work yet.", { timeout: 60_000 });
    await visit.picture("administration-cluster-test");
    await confirm("Close");
    await press("Test local");
    await confirm("Run the test");
    await visit.page.waitForSelector("dialog >> text=The cluster works.", { timeout: 60_000 });
    assert.ok((await visit.page.locator("dialog ol li").count()) > 1);
    await confirm("Close");
  });

  it("one is paused, drained and resumed", async () => {
    await press("Pause local");
    await untilCluster("it is paused", ({ state }) => state === "PAUSED", "local");
    await status("local", "Starts no jobs");
    await press("Drain local");
    await status("local", "Draining");
    assert.equal((await cluster("local")).state, "DRAINING");
    await press("Resume local");
    await status("local", "Active");
    assert.equal(await visit.page.getByRole("button", { name: "Resume local" }).count(), 0);
  });

  it("one with a waiting job is removed only if that is asked for, and the job fails", async () => {
    const { id } = await createJob(visit.client, shell("true", { compute_cluster_name: "grid" }));
    await press("Remove grid");
    await confirm("Remove");
    const why = (await visit.page.textContent("dialog [role=alert]")) ?? "";
    assert.match(why, /job/);
    await waitForStatus(visit.client, id, ["QUEUED"]);
    await visit.picture("administration-cluster-remove");
    await visit.page.getByLabel(/Also if jobs run or wait there/).check();
    await confirm("Remove");
    await closed();
    await visit.misses(/grid/);
    assert.equal((await waitForEnd(visit.client, id)).status, "FAILED");
    visit.expectComplaints(/status of 4\d\d/);
  });

  it("the machine of the server cannot be removed, and its button says why", async () => {
    const button = visit.page.getByRole("button", { name: "Remove local", exact: true });
    assert.equal(await button.getAttribute("title"), "The machine of the server cannot be removed. Pause it instead.");
    // It is not enabled, so that the browser's driver would wait.
    await button.click({ force: true });
    assert.equal(await visit.page.locator("dialog").count(), 0);
  });

  it("a list that cannot be read says so, and is read again", async () => {
    const body = JSON.stringify({ code: "forbidden", message: "Not for you." });
    await visit.page.route("**/api/clusters", (route) =>
      route.fulfill({ status: 403, contentType: "application/json", body }),
    );
    await visit.open("/administration/clusters");
    await visit.sees(/Not allowed[\s\S]*Not for you/);
    await visit.page.unroute("**/api/clusters");
    await press("Try again");
    await visit.sees(/local/);
    visit.expectComplaints(/status of 4\d\d/);
  });

  it("others do not get the link", async () => {
    await visit.asMember("viewer", async (page) => {
      await page.goto(`${visit.url}/team/main/clusters`);
      await page.getByRole("heading", { name: "local" }).waitFor();
      assert.equal(await page.getByRole("link", { name: "Manage clusters" }).count(), 0);
    });
  });
});
