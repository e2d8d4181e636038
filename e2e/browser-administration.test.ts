/** The administration of the server in a real browser. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createClient, routes } from "@millrace/contract";
import { createJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { until } from "@millrace/testing/until.ts";
import { noBrowser, Visit } from "./support/browser.ts";

const password = "correct horse battery";

describe("administration in a browser", { skip: noBrowser }, () => {
  let visit: Visit;
  before(async () => {
    visit = await Visit.begin();
  });
  after(() => visit.end());

  const open = (tab: string) => visit.open(`/administration/${tab}`);
  const fill = (label: string, text: string) => visit.page.getByLabel(label, { exact: true }).fill(text);
  const press = (name: string) => visit.page.getByRole("button", { name, exact: true }).click();
  const confirm = (name: string) => visit.page.locator("dialog").getByRole("button", { name, exact: true }).click();
  const userOf = (username: string) => visit.client.call(routes.getUser, { params: { username } });

  it("the menu of an administrator leads to the state of the server", async () => {
    await createJob(visit.client, shell("sleep 60", { query_name: "long.sh" }));
    await visit.open("/team/main");
    await visit.page.click(".user-menu summary");
    await visit.page.click('.user-menu a:text("Administration")');
    await visit.sees(/Ready[\s\S]*Free disk[\s\S]*Slots/);
    assert.equal(new URL(visit.page.url()).pathname, "/administration/system");
    await until("the running job is counted", async () => {
      await press("Refresh");
      return /main\s*1\s*0/.test(await visit.text());
    });
    await visit.picture("administration-system");
  });

  it("the doctor shows what `millrace doctor` checks", async () => {
    await open("doctor");
    await visit.sees(/runtime[\s\S]*isolation/, 60);
    await visit.picture("administration-doctor");
  });

  it("a user is created, edited, disabled with a look at their work, and enabled", async () => {
    await open("users");
    await press("New user");
    await fill("Username", "Not valid");
    await fill("Password", password);
    await confirm("Create the user");
    // The reason stands beside its field, in words without the name that the API has for it.
    const reason = await visit.page.textContent(".field:has(input[aria-invalid=true]) [role=alert]");
    assert.match(reason ?? "", /^Expected 1 to 39 lower-case letters/);
    assert.equal(await visit.page.locator("dialog .problem").count(), 0);
    await visit.picture("administration-user-new");
    await fill("Username", "ada");
    await fill("First name", "<img src=x onerror=alert(1)>");
    await confirm("Create the user");
    await visit.sees(/ada[\s\S]*<img src=x/);
    await visit.picture("administration-users");
    await press("Edit ada");
    await visit.page.getByLabel("Administrator of the server").check();
    await confirm("Save");
    await until("ada is an administrator", async () => (await userOf("ada")).is_admin);
    await press("Edit ada");
    await visit.page.getByLabel("Administrator of the server").uncheck();
    await confirm("Save");
    await until("ada is none", async () => !(await userOf("ada")).is_admin);
    await press("Disable ada");
    await visit.page.waitForSelector("dialog >> text=No work runs with the rights of this user");
    await visit.picture("administration-user-disable");
    await confirm("Disable");
    await visit.sees(/Disabled/);
    await press("Enable ada");
    await confirm("Enable");
    await visit.misses(/Disabled/);
    visit.expectComplaints(/status of 4\d\d/);
  });

  it("the last administrator cannot be disabled, and the page says why", async () => {
    await press("Disable admin");
    await confirm("Disable");
    await visit.page.waitForSelector("dialog [role=alert]");
    await visit.page.keyboard.press("Escape");
    assert.equal((await userOf("admin")).disabled_at, null);
    visit.expectComplaints(/status of 4\d\d/);
  });

  it("a team is created, and gets quotas", async () => {
    await open("teams");
    await press("New team");
    await fill("Name", "research");
    await fill("First admin", "ada");
    await confirm("Create the team");
    await visit.sees(/research/);
    await press("Quotas of research");
    await fill("Running jobs", "3");
    await fill("Datasets in GiB", "1.5");
    await visit.picture("administration-quotas");
    await confirm("Save");
    const params = { team_name: "research" };
    await until("the quotas are set", async () => {
      const { max_running, max_dataset_bytes } = await visit.client.call(routes.getTeam, { params });
      return max_running === 3 && max_dataset_bytes === 1.5 * 1024 ** 3;
    });
    await press("Usage of research");
    await visit.page.waitForSelector("dialog >> text=Virtualenvs");
    await visit.page.keyboard.press("Escape");
    await visit.picture("administration-teams");
    const { max_queued } = await visit.client.call(routes.getTeam, { params });
    assert.equal(max_queued, null, "what was left empty is the server's default");
  });

  it("the audit has filters in the URL and pages; back and reload keep them", async () => {
    for (let i = 0; i < 60; i++)
      await visit.client.call(routes.createToken, { body: { name: `many <b>${i}</b>`, scopes: ["JOB:read"] } });
    await open("audit");
    await visit.sees(/token\.create/);
    await press("Older");
    await visit.sees(/user\.create/);
    assert.match(visit.page.url(), /before=\d+/);
    await visit.page.goBack();
    await visit.sees(/many <b>59<\/b>/);
    await fill("Action", "user");
    await fill("User", "admin");
    await press("Filter");
    await visit.misses(/token\.create/);
    await visit.sees(/user\.create/);
    assert.match(visit.page.url(), /user=admin/);
    await visit.page.reload();
    await visit.sees(/user\.create/);
    assert.equal(await visit.page.getByLabel("Action", { exact: true }).inputValue(), "user");
    await visit.picture("administration-audit");
    await fill("User", "nobody-here");
    await press("Filter");
    await visit.sees(/No entries match/);
    await press("Remove the filters");
    await visit.sees(/token\.create/);
  });

  it("an unknown tab says so", async () => {
    await open("nothing");
    await visit.sees(/There is no such page/);
  });

  it("others are told why they cannot see it, and the API refuses them", async () => {
    await visit.open("/auth/account");
    await visit.page.click('button:text("Sign out")');
    await open("users");
    await visit.page.fill("input[name=username]", "ada");
    await visit.page.fill("input[name=password]", password);
    await visit.page.press("input[name=password]", "Enter");
    await visit.sees(/Only administrators of the server can see this[\s\S]*ada/);
    await visit.picture("administration-forbidden");
    await visit.page.click(".user-menu summary");
    assert.equal(await visit.page.locator('.user-menu a:text("Administration")').count(), 0);
    const theirs = createClient({ url: visit.server.url, token: await visit.server.token("--user", "ada") });
    for (const call of [() => theirs.call(routes.getSystem, {}), () => theirs.call(routes.getDoctor, {})])
      await assert.rejects(call, /administrator/);
    visit.expectComplaints(/status of 401/);
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
