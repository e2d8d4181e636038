/** The pages that the server renders, in a real browser: signing in, device login, invitations, account, tokens. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createClient, routes } from "@millrace/contract";
import { noBrowser, Visit } from "./support/browser.ts";

describe("pages without script in a browser", { skip: noBrowser }, () => {
  let visit: Visit;
  before(async () => {
    visit = await Visit.begin();
  });
  after(() => visit.end());

  const params = { team_name: "main" };
  const heading = () => visit.page.textContent("h1");

  it("the link of the first start signs in, and the app shows the team", async () => {
    await visit.sees(/Home/);
    assert.equal(new URL(visit.page.url()).pathname, "/team/main");
  });

  it("a device login is approved with one click", async () => {
    const login = await visit.client.call(routes.startDeviceLogin, { body: { client_name: "DataChain" } });
    await visit.page.goto(`${login.verification_uri}?code=${login.user_code}`);
    await visit.sees(new RegExp(`Let DataChain sign in[\\s\\S]*${login.user_code}`));
    await visit.sees(/It may use\s*(Everything|Jobs)/);
    await visit.picture("page-device-login");
    await visit.page.click('button:text("Approve")');
    await visit.sees(/Approved/);
    const { access_token } = await visit.client.call(routes.pollDeviceLogin, { body: { code: login.device_code } });
    const me = await createClient({ url: visit.server.url, token: access_token }).call(routes.whoAmI, {});
    assert.equal(me.username, "admin");
  });

  it("a code typed by hand leads to the same page, and a wrong one explains what to do", async () => {
    const login = await visit.client.call(routes.startDeviceLogin, { body: {} });
    await visit.open("/auth/device-login");
    await visit.picture("page-device-code");
    await visit.page.fill("input[name=code]", login.user_code.toLowerCase());
    await visit.page.click("text=Continue");
    await visit.page.click('button:text("Deny")');
    await visit.sees(/Denied/);
    await visit.open("/auth/device-login?code=AAAA-AAAA");
    await visit.sees(/No login waits for the code AAAA-AAAA[\s\S]*start the login again/);
    await visit.picture("page-error");
    visit.expectComplaints(/status of 404/);
  });

  it("an unknown path says so", async () => {
    await visit.open("/nothing-here");
    assert.equal(await heading(), "There is no such page");
    visit.expectComplaints(/status of 404/);
  });

  it("the theme that was chosen in the app is the theme of these pages", async () => {
    await visit.open("/team/main");
    await visit.page.click(".user-menu summary");
    await visit.page.selectOption(".user-menu select", "dark");
    await visit.open("/auth/account");
    assert.equal(await visit.page.getAttribute("html", "data-theme"), "dark");
    await visit.open("/team/main");
    await visit.page.click(".user-menu summary");
    await visit.page.selectOption(".user-menu select", "system");
    await visit.open("/auth/account");
    assert.equal(await visit.page.getAttribute("html", "data-theme"), null);
  });

  it("a token is created, shown once, and revoked", async () => {
    await visit.open("/auth/tokens");
    await visit.page.fill("input[name=name]", "from a page");
    await visit.page.click('button:text("Create")');
    await visit.sees(/Copy it now[\s\S]*isat_/);
    await visit.picture("page-tokens");
    await visit.open("/auth/tokens");
    await visit.sees(/from a page/);
    assert.doesNotMatch(await visit.text(), /isat_/);
    await visit.page.click('li:has-text("from a page") button:text("Revoke")');
    await visit.sees(/The token is revoked/);
  });

  describe("signing in with a password", () => {
    const password = "correct horse battery";
    let invitation: string;
    const signOut = async () => {
      await visit.open("/auth/account");
      await visit.page.click('button:text("Sign out")');
    };
    before(async () => {
      await signOut();
      invitation = (await visit.client.call(routes.createInvitation, { params, body: { role: "viewer" } })).url;
    });

    it("an invitation creates an account that is signed in at once", async () => {
      await visit.page.goto(invitation);
      await visit.sees(/admin invites you as viewer/);
      await visit.picture("page-invitation");
      await visit.page.fill("input[name=username]", "guest");
      await visit.page.fill("input[name=first_name]", "Gerda");
      await visit.page.fill("input[name=password]", password);
      await visit.page.fill("input[name=again]", password);
      await visit.page.click('button:text("Create the account and join")');
      await visit.sees(/Home/);
      assert.equal(new URL(visit.page.url()).pathname, "/team/main");
      assert.match((await visit.page.textContent("header")) ?? "", /guest/);
    });

    it("a wrong password is reported, the right one returns to the requested page", async () => {
      await signOut();
      const login = await visit.client.call(routes.startDeviceLogin, { body: { client_name: "DataChain" } });
      await visit.page.goto(`${login.verification_uri}?code=${login.user_code}`);
      await visit.picture("page-sign-in");
      await visit.page.fill("input[name=username]", "guest");
      await visit.page.fill("input[name=password]", "a wrong password");
      await visit.page.click('button:text("Sign in")');
      await visit.sees(/The username or the password is not right/);
      assert.equal(await visit.page.inputValue("input[name=username]"), "guest");
      await visit.page.fill("input[name=password]", password);
      await visit.page.press("input[name=password]", "Enter");
      await visit.sees(new RegExp(`Let DataChain sign in[\\s\\S]*${login.user_code}`));
      visit.expectComplaints(/status of 401/);
    });

    it("a link into the app leads there after signing in, with its filters", async () => {
      await signOut();
      await visit.open("/team/main/datasets/jobs?status=FAILED");
      await visit.page.fill("input[name=username]", "guest");
      await visit.page.fill("input[name=password]", password);
      await visit.page.press("input[name=password]", "Enter");
      await visit.sees(/Jobs/);
      const { pathname, search } = new URL(visit.page.url());
      assert.equal(pathname + search, "/team/main/datasets/jobs?status=FAILED");
      visit.expectComplaints(/status of 401/);
    });

    it("the account page changes names and the password", async () => {
      await visit.open("/auth/account");
      await visit.page.fill("input[name=last_name]", "G");
      await visit.page.click('button:text("Save")');
      await visit.sees(/Your profile was changed/);
      await visit.page.fill("input[name=current_password]", password);
      await visit.page.fill("input[name=password]", `${password}!`);
      await visit.page.fill("input[name=again]", `${password}!`);
      await visit.page.click('button:text("Change the password")');
      await visit.sees(/Your password was changed/);
      await visit.picture("page-account");
    });

    it("the API reference fits every window", async () => {
      await visit.open("/api/docs");
      await visit.picture("page-reference");
    });

    it("signing in and joining a team work with scripts turned off", async () => {
      const context = await visit.browser.newContext({ javaScriptEnabled: false });
      const page = await context.newPage();
      const other = await visit.client.call(routes.createInvitation, { params, body: { role: "editor" } });
      await page.goto(other.url);
      await page.fill("input[name=username]", "scriptless");
      await page.fill("input[name=password]", password);
      await page.fill("input[name=again]", password);
      await page.click('button:text("Create the account and join")');
      await page.goto(`${visit.server.url}/auth/account`);
      assert.match((await page.textContent("main")) ?? "", /main \(editor\)/);
      await context.close();
    });
  });

  it("no page requested anything from another site or violated its own policy", () => visit.assertClean());
});
