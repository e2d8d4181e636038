/** The pages in a real browser. */
import assert from "node:assert/strict";
import { access } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { type Client, createClient, routes } from "@millrace/contract";
import { createJob, runJob, shell, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { type Browser, chromium, type Page } from "playwright-core";

const executablePath = "/usr/bin/chromium";
const missing = await access(executablePath).then(
  () => false as const,
  () => `no browser at ${executablePath} (Debian's package chromium)`,
);
const quiet =
  "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

describe("in a real browser", { skip: missing }, () => {
  let server: TestServer;
  let client: Client;
  let browser: Browser;
  let page: Page;
  /** URLs that the pages requested, and errors in their console. */
  const origins = new Set<string>();
  const complaints: string[] = [];

  before(async () => {
    server = await TestServer.start();
    client = await server.client();
    browser = await chromium.launch({ executablePath, args: quiet.split(" ") });
    page = await browser.newPage();
    page.on("request", (request) => void origins.add(new URL(request.url()).origin));
    page.on("console", (message) => void (message.type() === "error" && complaints.push(message.text())));
    await page.goto(/http\S+\/auth\/sign-in\?link=\S+/.exec(server.output)?.[0] ?? "");
  });
  after(async () => {
    await browser.close();
    await server.dispose();
  });

  it("the link of the first start signs in, and an empty team shows a command to copy", async () => {
    assert.equal(new URL(page.url()).pathname, "/");
    assert.match((await page.textContent("main")) ?? "", /No jobs yet[\s\S]*datachain job run hello.py/);
  });

  it("a device login is approved with one click", async () => {
    const login = await client.call(routes.startDeviceLogin, { body: { client_name: "DataChain" } });
    await page.goto(`${login.verification_uri}?code=${login.user_code}`);
    assert.match((await page.textContent("main")) ?? "", new RegExp(`Sign in DataChain[\\s\\S]*${login.user_code}`));
    await page.click('button:text("Approve")');
    assert.match((await page.textContent("main")) ?? "", /Approved/);
    const { access_token } = await client.call(routes.pollDeviceLogin, { body: { code: login.device_code } });
    assert.equal(
      (await createClient({ url: server.url, token: access_token }).call(routes.whoAmI, {})).username,
      "admin",
    );
  });

  it("a code typed by hand leads to the same page, and a wrong one explains what to do", async () => {
    const login = await client.call(routes.startDeviceLogin, { body: {} });
    await page.goto(`${server.url}/auth/device-login`);
    await page.fill("input[name=code]", login.user_code.toLowerCase());
    await page.click("text=Continue");
    await page.click('button:text("Deny")');
    assert.match((await page.textContent("main")) ?? "", /Denied/);
    await page.goto(`${server.url}/auth/device-login?code=AAAA-AAAA`);
    assert.match(
      (await page.textContent("main")) ?? "",
      /No login waits for the code AAAA-AAAA[\s\S]*start the login again/,
    );
    complaints.length = 0;
  });

  it("a job's page follows it to its end", async () => {
    const job = await createJob(client, shell("echo one; sleep 1; echo two; exit 3", { query_name: "followed.sh" }));
    await waitForStatus(client, job.id, ["RUNNING"]);
    await page.goto(job.url);
    await page.waitForSelector("text=FAILED", { timeout: 20_000 });
    assert.match((await page.textContent("main")) ?? "", /exit code 3[\s\S]*one\ntwo/);
  });

  it("fits a phone, in light and in dark", async () => {
    const { job } = await runJob(
      client,
      shell(`echo ${"x".repeat(500)}`, { query_name: `${"long-".repeat(20)}name.sh` }),
    );
    await page.setViewportSize({ width: 375, height: 700 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const url of [job.url, `${server.url}/`, `${server.url}/api/docs`]) {
        await page.goto(url);
        const [wide, seen] = (await page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")) as [
          number,
          number,
        ];
        assert.ok(wide <= seen, `${url} is ${wide} px wide in ${colorScheme}`);
      }
    }
  });

  describe("signing in with a password", () => {
    const password = "correct horse battery";
    const text = async () => (await page.textContent("main")) ?? "";
    let invitation: string;
    before(async () => {
      await page.setViewportSize({ width: 1000, height: 800 });
      await page.goto(server.url);
      await page.click('button:text("Sign out")');
      const params = { team_name: "main" };
      invitation = (await client.call(routes.createInvitation, { params, body: { role: "viewer" } })).url;
    });

    it("an invitation creates an account that is signed in at once", async () => {
      await page.goto(invitation);
      assert.match(await text(), /admin invites you as viewer/);
      await page.fill("input[name=username]", "guest");
      await page.fill("input[name=first_name]", "Gerda");
      await page.fill("input[name=password]", password);
      await page.fill("input[name=again]", password);
      await page.click('button:text("Create the account and join")');
      assert.equal(new URL(page.url()).pathname, "/");
      assert.match(await text(), /Team main/);
      assert.match((await page.textContent("header")) ?? "", /guest/);
    });

    it("a wrong password is reported, the right one returns to the requested page", async () => {
      await page.click('button:text("Sign out")');
      const login = await client.call(routes.startDeviceLogin, { body: { client_name: "DataChain" } });
      await page.goto(`${login.verification_uri}?code=${login.user_code}`);
      await page.fill("input[name=username]", "guest");
      await page.fill("input[name=password]", "a wrong password");
      await page.click('button:text("Sign in")');
      assert.match(await text(), /The username or the password is not right/);
      assert.equal(await page.inputValue("input[name=username]"), "guest");
      await page.fill("input[name=password]", password);
      await page.press("input[name=password]", "Enter");
      assert.match(await text(), new RegExp(`Sign in DataChain[\\s\\S]*${login.user_code}`));
    });

    it("the account page changes names and the password", async () => {
      await page.click('header a:text("guest")');
      await page.fill("input[name=last_name]", "G");
      await page.click('button:text("Save")');
      assert.match(await text(), /Your profile was changed/);
      await page.fill("input[name=current_password]", password);
      await page.fill("input[name=password]", `${password}!`);
      await page.fill("input[name=again]", `${password}!`);
      await page.click('button:text("Change the password")');
      assert.match(await text(), /Your password was changed/);
    });

    it("fits a phone, in light and in dark", async () => {
      await page.setViewportSize({ width: 375, height: 700 });
      const params = { team_name: "main" };
      const other = await client.call(routes.createInvitation, { params, body: { role: "admin" } });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        for (const path of [
          "/auth/account",
          "/auth/sign-in",
          "/auth/device-login",
          new URL(other.url).pathname + new URL(other.url).search,
        ]) {
          await page.goto(server.url + path);
          const wide = (await page.evaluate("document.documentElement.scrollWidth")) as number;
          assert.ok(wide <= 375, `${path} is ${wide} px wide in ${colorScheme}`);
        }
      }
      // A browser also logs the expected error responses.
      assert.deepEqual(
        complaints.filter((complaint) => !/status of (401|404)/.test(complaint)),
        [],
      );
      complaints.length = 0;
    });
  });

  it("no page requested anything from another site or violated its own policy", () => {
    assert.deepEqual([...origins], [server.url]);
    assert.deepEqual(complaints, []);
  });
});
