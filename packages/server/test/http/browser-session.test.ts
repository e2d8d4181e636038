/** The session cookie of a browser authenticates the API, but never for a page of another site. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { routes } from "@millrace/contract";
import { freePort } from "@millrace/testing/servers/server-process.ts";
import { createSignInLink } from "../../src/domain/people/sessions.ts";
import { sessionCookie } from "../../src/http/requests/authenticate.ts";
import { siteOf } from "../../src/http/requests/site.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson, Visitor } from "../support/people.ts";
import { upgradeStatus } from "../support/walk.ts";

const password = "correct horse battery";

describe("the session of a browser", () => {
  let server: InProcessServer;
  let visitor: Visitor;
  before(async () => {
    server = await startInProcess();
    await addPerson(server, "vi", { team: "main", role: "viewer", password });
    visitor = new Visitor(server.url);
    await visitor.post("/auth/sign-in", { username: "vi", password });
  });
  after(() => server.dispose());

  const call = (path: string, headers: Record<string, string>, init: RequestInit = {}) =>
    fetch(server.url + path, { ...init, headers: { cookie: visitor.cookie, ...headers } });
  const create = (headers: Record<string, string>) =>
    call(routes.createJob.path, { "content-type": "application/json", ...headers }, { method: "POST", body: "{}" });

  it("reads with the rights of its user", async () => {
    const response = await call(routes.whoAmI.path, { "sec-fetch-site": "same-origin" });
    assert.equal(response.status, 200);
    assert.deepEqual(((await response.json()) as { teams: unknown }).teams, [{ name: "main", role: "viewer" }]);
  });

  it("changes only what the role allows", async () => {
    const response = await create({ origin: server.url, "sec-fetch-site": "same-origin" });
    assert.equal(response.status, 403);
    assert.match(await response.text(), /viewer/);
  });

  it("is refused for requests of other sites", async () => {
    const other: Record<string, string>[] = [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://elsewhere.example" },
      { origin: "null" },
      { origin: server.url.replace(/\d+$/, "1") },
    ];
    for (const headers of other) {
      for (const response of [await create(headers), await call(routes.whoAmI.path, headers)]) {
        assert.equal(response.status, 403, JSON.stringify(headers));
        assert.match(await response.text(), /page of another site/);
      }
    }
  });

  it("is refused for a change without any word on its origin, as an old browser may send it", async () => {
    assert.match(await (await create({})).text(), /page of another site/);
    assert.equal((await call(routes.whoAmI.path, {})).status, 200);
  });

  it("opens the log socket from our own pages only", async () => {
    const url = `${server.url}${routes.followLogs.path}?job_id=${crypto.randomUUID()}&team_name=main`;
    const status = (headers: Record<string, string>) => upgradeStatus(url, { cookie: visitor.cookie, ...headers });
    assert.equal(await status({ origin: server.url }), 101);
    assert.equal(await status({ origin: "https://elsewhere.example" }), 403);
    assert.equal(await status({}), 403);
  });

  it("does not replace a token that was sent and is wrong", async () => {
    assert.equal((await call(routes.whoAmI.path, { authorization: "Bearer isat_wrong" })).status, 401);
  });

  it("ends with the route that revokes tokens, too", async () => {
    const other = new Visitor(server.url);
    await other.post("/auth/sign-in", { username: "vi", password });
    const headers = { cookie: other.cookie, origin: server.url };
    const response = await fetch(server.url + routes.deviceLogout.path, { method: "POST", headers });
    assert.match(await response.text(), /session of this browser is ended/);
    assert.match(response.headers.getSetCookie().join(), /^millrace_session=; .*Max-Age=0/);
    assert.equal((await fetch(server.url + routes.whoAmI.path, { headers })).status, 401);
  });

  it("ends with the sign-out", async () => {
    const cookie = visitor.cookie;
    await visitor.post("/auth/sign-out", {});
    const response = await fetch(server.url + routes.whoAmI.path, { headers: { cookie } });
    assert.equal(response.status, 401);
    assert.match(await response.text(), /session of this browser has ended/);
  });
});

describe("the session of a browser over HTTPS", () => {
  it("has a cookie that no other host can set", async () => {
    const port = await freePort();
    const root = `http://127.0.0.1:${port}`;
    const settings = { MILLRACE_PORT: String(port), MILLRACE_PUBLIC_URL: "https://millrace.example" };
    const server = await startInProcess(settings);
    const visitor = new Visitor(root);
    await visitor.get(`/auth/sign-in?link=${await createSignInLink(server.store, "admin", Date.now())}`);
    const [cookie = ""] = visitor.cookie.split("; ");
    assert.match(cookie, /^__Host-millrace_session=/);
    const status = async (cookie: string) => (await fetch(root + routes.whoAmI.path, { headers: { cookie } })).status;
    assert.deepEqual([await status(cookie), await status(cookie.replace("__Host-", ""))], [200, 401]);
    assert.match(
      sessionCookie("x", 9, siteOf("https://millrace.example")),
      /^__Host-millrace_session=x; Path=\/; .*; Secure$/,
    );
    await server.dispose();
  });
});
