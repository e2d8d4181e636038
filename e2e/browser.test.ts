/** The pages in a real browser. */
import assert from "node:assert/strict";
import { access } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { type Client, createClient, routes } from "@millrace/contract";
import { type Browser, chromium, type Page } from "playwright-core";
import { createJob, runJob, shell, waitForStatus } from "./support/jobs.ts";
import { TestServer } from "./support/server.ts";

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
  /** Where the pages asked for anything, and what they complained of. */
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
    assert.match((await page.textContent("main")) ?? "", new RegExp(`Let DataChain in[\\s\\S]*${login.user_code}`));
    await page.click('button:text("Approve")');
    assert.match((await page.textContent("main")) ?? "", /Approved/);
    const { access_token } = await client.call(routes.pollDeviceLogin, { body: { code: login.device_code } });
    assert.equal(
      (await createClient({ url: server.url, token: access_token }).call(routes.whoAmI, {})).username,
      "admin",
    );
  });

  it("a code typed by hand leads to the same page, and a wrong one says what to do", async () => {
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

  it("no page asked for anything from elsewhere, or broke its own policy", () => {
    assert.deepEqual([...origins], [server.url]);
    assert.deepEqual(complaints, []);
  });
});
