/** A real browser that is signed in visits a hostile site: the session cannot be used from there, and scripts in text stay text. */
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { routes } from "@millrace/contract";
import { runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import type { Page } from "playwright-core";
import { noBrowser, Visit } from "./support/browser.ts";

const evil = `<script>window.hit=1</script><img src=x onerror="window.hit=2">`;

describe("a hostile page in a browser that is signed in", { skip: noBrowser }, () => {
  let visit: Visit;
  let elsewhere: Server;
  let page: Page;
  /** The same host as Millrace, so that the browser sends the cookie: only the port differs. */
  let origin: string;
  before(async () => {
    visit = await Visit.begin();
    elsewhere = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Elsewhere</title>");
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => elsewhere.once("listening", resolve));
    origin = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
    page = await visit.context.newPage();
  });
  after(async () => {
    elsewhere.closeAllConnections();
    elsewhere.close();
    await visit.end();
  });

  const tokens = () => visit.client.call(routes.listTokens, { query: {} });

  it("cannot read the API with the session", async () => {
    await page.goto(origin);
    const read = await page.evaluate(
      (url) =>
        fetch(url, { credentials: "include" })
          .then((response) => response.text())
          .catch(() => "blocked"),
      visit.url + routes.whoAmI.path,
    );
    assert.equal(read, "blocked");
  });

  it("cannot change anything with the session, even without reading the answer", async () => {
    const before = (await tokens()).length;
    const requests = [
      { method: "POST", headers: { "content-type": "application/json" } },
      { method: "POST", mode: "no-cors", headers: { "content-type": "text/plain" } },
    ];
    for (const init of requests)
      await page.evaluate(
        ([url, options]) =>
          fetch(url as string, {
            ...(options as RequestInit),
            credentials: "include",
            body: '{"name":"stolen"}',
          }).catch(() => "blocked"),
        [visit.url + routes.createToken.path, init] as const,
      );
    assert.equal((await tokens()).length, before);
  });

  it("cannot submit a form of ours with the session", async () => {
    const before = (await tokens()).length;
    await page.goto(origin);
    await page.evaluate(`{
      const form = document.createElement("form");
      form.method = "post";
      form.action = ${JSON.stringify(`${visit.url}/auth/tokens`)};
      const field = document.createElement("input");
      field.name = "name";
      field.value = "stolen";
      form.append(field);
      document.body.append(form);
      form.submit();
    }`);
    await page.waitForSelector("text=sent from a page of another site");
    assert.equal((await tokens()).length, before);
  });

  it("cannot open a socket with the session", async () => {
    const { job } = await runJob(visit.client, shell("echo secret-line"));
    await page.goto(origin);
    const seen = await page.evaluate(
      (url) =>
        new Promise<string>((resolve) => {
          const socket = new WebSocket(url);
          socket.onopen = () => resolve("open");
          socket.onerror = () => resolve("refused");
        }),
      `${visit.url.replace("http", "ws")}${routes.followLogs.path}?job_id=${job.id}&team_name=main`,
    );
    assert.equal(seen, "refused");
  });

  it("cannot show our pages in a frame", async () => {
    for (const path of ["/team/main", "/auth/device-login"]) {
      const response = await page.request.get(visit.url + path);
      assert.match(response.headers()["content-security-policy"] ?? "", /frame-ancestors 'none'/, path);
    }
    await page.goto(origin);
    await page.evaluate(`new Promise((resolve) => {
      const frame = document.createElement("iframe");
      frame.src = ${JSON.stringify(`${visit.url}/auth/device-login`)};
      frame.addEventListener("load", resolve);
      document.body.append(frame);
    }).then(() => undefined)`);
    const [, frame] = page.frames();
    assert.doesNotMatch((await frame?.content()) ?? "", /Device login/);
  });

  it("inline scripts, handlers and styles do not run in our pages, and nothing loads from elsewhere", async () => {
    for (const path of ["/team/main", "/auth/account"]) {
      await visit.open(path);
      await visit.page.waitForSelector("main h1");
      const ran = await visit.page.evaluate(`(async () => {
        const other = ${JSON.stringify(`${origin}/x.js`)};
        const place = document.createElement("div");
        place.innerHTML = '<img src="data:," onerror="window.hit=1">';
        const script = document.createElement("script");
        script.textContent = "window.hit=2";
        const foreign = document.createElement("script");
        foreign.src = other;
        document.body.append(place, script, foreign);
        const fetched = await fetch(other).then(() => "fetched", () => "blocked");
        await new Promise((resolve) => setTimeout(resolve, 200));
        return [window.hit ?? "none", fetched];
      })()`);
      assert.deepEqual(ran, ["none", "blocked"], path);
    }
    assert.ok(visit.complaints.some((complaint) => /Content Security Policy/.test(complaint)));
    visit.complaints.length = 0;
    visit.origins.clear();
  });

  it("scripts cannot read the session cookie", async () => {
    assert.doesNotMatch(await visit.page.evaluate("document.cookie"), /millrace_session|millrace_browser/);
  });

  it("names and errors full of HTML stay text on every screen that shows them", async () => {
    const { job } = await runJob(visit.client, shell(`echo '${evil}' >&2; exit 3`, { query_name: evil }));
    await visit.client.call(routes.createToken, { body: { name: evil } });
    await visit.client.call(routes.updateProfile, { body: { first_name: evil } });
    const paths = [
      "/team/main",
      "/team/main/datasets/jobs",
      `/team/main/datasets/jobs/${job.id}`,
      "/team/main/settings/tokens",
      "/team/main/settings/members",
      "/administration/users",
      "/administration/audit",
      "/auth/tokens",
      "/auth/account",
      `/team/main/${encodeURIComponent(evil)}`,
      `/${encodeURIComponent(evil)}`,
    ];
    for (const path of paths) {
      await visit.open(path);
      await visit.page.waitForSelector("main h1");
      await visit.page.waitForTimeout(300);
      assert.equal(await visit.page.evaluate("window.hit ?? null"), null, path);
      assert.equal(await visit.page.locator('main script, main img[src="x"]').count(), 0, path);
    }
    visit.expectComplaints(/status of 404/);
  });

  it("a link cannot lead from the sign-in page to another site", async () => {
    for (const next of [origin, origin.replace("http:", ""), `/\\${origin.slice(7)}`]) {
      await visit.open(`/auth/sign-in?next=${encodeURIComponent(next)}`);
      assert.match(await visit.page.inputValue("input[name=next]"), /^\/(?![/\\])/, next);
    }
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
