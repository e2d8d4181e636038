/** The settings in a real browser: your own, and those of the team. */
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { createClient, routes } from "@millrace/contract";
import { until } from "@millrace/testing/until.ts";
import { noBrowser, Visit } from "./support/browser.ts";

const params = { team_name: "main" };
const password = "correct horse battery";

describe("settings in a browser", { skip: noBrowser }, () => {
  let visit: Visit;
  let receiver: Server;
  let received = 0;
  before(async () => {
    receiver = createServer((_request, response) => {
      received += 1;
      response.writeHead(received === 1 ? 500 : 200).end();
    }).listen(0, "127.0.0.1");
    visit = await Visit.begin({ env: { MILLRACE_WEBHOOK_NETWORKS: "127.0.0.0/8" } });
    await visit.client.call(routes.createUser, { body: { username: "ada", password } });
    await visit.client.call(routes.addMember, { params, body: { username: "ada", role: "editor" } });
  });
  after(async () => {
    receiver.closeAllConnections();
    receiver.close();
    await visit.end();
  });

  const settings = (tab: string) => visit.open(`/team/main/settings/${tab}`);
  const fill = (label: string, text: string) => visit.page.getByLabel(label, { exact: true }).fill(text);
  const press = (name: string) => visit.page.getByRole("button", { name, exact: true }).click();
  const confirm = (name: string) => visit.page.locator("dialog").getByRole("button", { name, exact: true }).click();

  it("the profile keeps names, e-mail and time zone", async () => {
    await visit.open("/team/main/settings");
    await visit.sees(/Profile/);
    assert.equal(new URL(visit.page.url()).pathname, "/team/main/settings/profile");
    await fill("First name", "<b>Grace</b>");
    await fill("E-mail", "grace@example.com");
    await visit.page.getByLabel("Time zone").selectOption("Europe/Berlin");
    await press("Save");
    await visit.sees(/Saved/);
    const me = await visit.client.call(routes.whoAmI, {});
    assert.deepEqual([me.first_name, me.email, me.timezone], ["<b>Grace</b>", "grace@example.com", "Europe/Berlin"]);
    await visit.picture("settings-profile");
  });

  it("a password that was typed differently the second time is not set, and what was typed stays", async () => {
    await fill("New password", password);
    await fill("New password again", `${password}?`);
    await press("Set a password");
    await visit.sees(/The two new passwords differ/);
    assert.equal(await visit.page.getByLabel("New password", { exact: true }).inputValue(), password);
    await fill("New password again", password);
    await press("Set a password");
    await visit.sees(/Other browsers were signed out/);
    await visit.page.reload();
    await visit.sees(/Current password/);
  });

  it("a token is shown once, works with its scopes only, and is revoked after a question", async () => {
    await settings("tokens");
    await fill("Name", "laptop <i>");
    await visit.page.getByLabel("Datasets", { exact: true }).selectOption("none");
    await press("Create the token");
    await visit.sees(/Copy it now/);
    const token = (await visit.page.textContent("main [role=status] code")) ?? "";
    const client = createClient({ url: visit.server.url, token, team: "main" });
    await client.call(routes.listJobs, { query: {} });
    await assert.rejects(client.call(routes.listDatasets, { query: {} }), /DATASETS/);
    await visit.picture("settings-tokens");
    await visit.page.reload();
    await visit.sees(/laptop <i>/);
    assert.doesNotMatch(await visit.text(), /isat_/);
    await press("Revoke laptop <i>");
    await visit.picture("settings-token-revoke");
    await confirm("Revoke");
    await visit.misses(/laptop <i>/);
    await assert.rejects(client.call(routes.whoAmI, {}), /token/i);
  });

  it("the team shows what it uses of its quotas, and its defaults are changed", async () => {
    await settings("team");
    await visit.sees(/Datasets[\s\S]*Virtualenvs/);
    await fill("Time limit in seconds", "3600");
    await fill("Version of datachain", "0.62.0");
    await press("Save");
    await visit.sees(/Saved/);
    const team = await visit.client.call(routes.getTeam, { params });
    assert.deepEqual([team.job_timeout, team.library_version], [3600, "0.62.0"]);
    await fill("Version of datachain", "0.1.0");
    await press("Save");
    await visit.sees(/0\.56\.1 or newer|older/);
    assert.equal(await visit.page.getByLabel("Version of datachain").inputValue(), "0.1.0");
    visit.expectComplaints(/status of 4\d\d/);
    await visit.picture("settings-team");
  });

  it("members change roles, and leave with their work handed over", async () => {
    const token = await visit.server.token("--user", "ada");
    const theirs = createClient({ url: visit.server.url, token, team: "main" });
    const start = new Date(Date.now() + 86_400_000).toISOString();
    await theirs.call(routes.createJob, {
      body: { query: "echo", query_type: "SHELL", query_name: "nightly.sh", start_after: start },
    });
    await settings("members");
    await visit.sees(/ada/);
    await visit.picture("settings-members");
    await visit.page.getByLabel("Role of ada").selectOption("viewer");
    await until("ada is a viewer", async () => (await roleOf("ada")) === "viewer");
    await visit.page.getByLabel("Role of ada").selectOption("editor");
    await until("ada is an editor again", async () => (await roleOf("ada")) === "editor");
    await press("Remove ada");
    await visit.sees(/1 task/);
    await visit.page.getByLabel("Who takes over schedules, tasks and pipelines").selectOption("admin");
    await visit.picture("settings-member-leaves");
    await confirm("Hand over and remove");
    await until("ada has left", async () => (await roleOf("ada")) === undefined);
    // The form below the table moves up when the row goes.
    await visit.page.getByLabel("Role of ada").waitFor({ state: "detached" });
    // The dialog closes after the row has gone; below it nothing can be typed.
    await visit.page.waitForSelector("dialog", { state: "detached" });
    await fill("Username", "nobody-here");
    await press("Add");
    await visit.sees(/nobody-here/);
    assert.equal(await visit.page.getByLabel("Username").inputValue(), "nobody-here");
    await fill("Username", "ada");
    await press("Add");
    await visit.sees(/Added ada/);
    visit.expectComplaints(/status of 404/);
  });

  const roleOf = async (username: string) =>
    (await visit.client.call(routes.listMembers, { params })).find((one) => one.username === username)?.role;

  it("an invitation is a link that is shown once", async () => {
    await settings("invitations");
    await visit.sees(/No open invitations/);
    await visit.picture("settings-invitations-empty");
    await fill("E-mail", "new@example.com");
    await press("Create a link");
    await visit.sees(/auth\/invitation\?code=[\s\S]*new@example\.com|new@example\.com[\s\S]*auth\/invitation\?code=/);
    await visit.picture("settings-invitations");
    await press("Revoke");
    await visit.sees(/No open invitations/);
  });

  it("the service account is created and gets a token", async () => {
    await settings("service-account");
    await visit.sees(/no service account/);
    await press("Create the service account");
    await visit.sees(/main-service/);
    await fill("Name", "build server");
    await press("Create the token");
    await visit.sees(/isat_/);
    await visit.picture("settings-service-account");
  });

  it("credentials are set, made the default, replaced and deleted; secret values never come back", async () => {
    await settings("credentials");
    await visit.sees(/No credentials yet/);
    await press("New credentials of the team");
    await fill("Name", "bucket");
    await fill("Variables", "KEY=very-secret-value\nREGION=eu-1");
    await fill("Visible variables", "REGION");
    await visit.picture("settings-credentials-new");
    await confirm("Create");
    await visit.sees(/bucket[\s\S]*KEY, REGION=eu-1/);
    await press("Make default: bucket");
    await visit.page.getByRole("button", { name: "No longer default: bucket" }).waitFor();
    await visit.picture("settings-credentials");
    assert.doesNotMatch(await visit.page.content(), /very-secret-value/);
    await press("Replace bucket");
    await fill("Variables", "not a variable");
    await confirm("Replace");
    await visit.page.waitForSelector("dialog [role=alert]");
    assert.equal(await visit.page.getByLabel("Variables", { exact: true }).inputValue(), "not a variable");
    await fill("Variables", "OTHER=x");
    await fill("Visible variables", "");
    await confirm("Replace");
    await visit.sees(/bucket[\s\S]*OTHER/);
    await press("Delete bucket");
    await confirm("Delete");
    await visit.sees(/No credentials yet/);
    visit.expectComplaints(/status of 4\d\d/);
  });

  it("a webhook is created, its deliveries are shown and sent again", async () => {
    await settings("webhooks");
    await visit.sees(/No webhooks yet/);
    await press("New webhook");
    await fill("URL", `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`);
    await visit.picture("settings-webhook-new");
    await confirm("Create and test");
    await visit.sees(/This secret signs its requests/);
    await until("the PING arrived", () => received > 0);
    await visit.page.reload();
    await visit.sees(/PING/);
    await press("Resend: PING");
    await until("it arrived again", () => received > 1);
    await visit.page.getByLabel("Show", { exact: true }).selectOption("delivered");
    await until("the filter is in the URL", () => /delivery=delivered/.test(visit.page.url()));
    await visit.page.reload();
    await visit.sees(/Delivered/);
    await visit.picture("settings-webhooks");
    await visit.page.goBack();
    await until("the filter is gone", () => !/delivery=/.test(visit.page.url()));
  });

  it("notifications say that the server sends no e-mail", async () => {
    await settings("notifications");
    await visit.sees(/This server sends no e-mail[\s\S]*Nobody gets e-mails/);
    await visit.picture("settings-notifications");
  });

  it("an unknown tab says so", async () => {
    await settings("nothing");
    await visit.sees(/There is no such page/);
  });

  describe("for a viewer", () => {
    before(async () => {
      await visit.client.call(routes.updateMember, {
        params: { ...params, username: "ada" },
        body: { role: "viewer" },
      });
      await visit.open("/auth/account");
      await visit.page.click('button:text("Sign out")');
      await visit.open("/team/main/settings/members");
      await visit.page.fill("input[name=username]", "ada");
      await visit.page.fill("input[name=password]", password);
      await visit.page.press("input[name=password]", "Enter");
      visit.expectComplaints(/status of 401/);
    });

    it("actions say why they are not allowed", async () => {
      await visit.sees(/You are a viewer of this team; only admins can add, change or remove members/);
      const button = visit.page.getByRole("button", { name: /^Remove admin/ });
      assert.equal(await button.getAttribute("aria-disabled"), "true");
      await visit.picture("settings-members-viewer");
    });

    it("tabs that a viewer may not see say so", async () => {
      for (const tab of ["invitations", "service-account", "credentials", "webhooks", "notifications"]) {
        await settings(tab);
        await visit.sees(/You cannot see[\s\S]*You are a viewer of this team/);
      }
      await visit.picture("settings-forbidden");
    });
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
