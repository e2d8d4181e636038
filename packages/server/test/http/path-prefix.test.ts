/** A server below a path prefix: links, redirects and cookies have the prefix, and requests may have it or not. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { routes } from "@millrace/contract";
import { freePort } from "@millrace/testing/servers/server-process.ts";
import { readConfig } from "../../src/configuration/config.ts";
import { sessionCookie } from "../../src/http/requests/authenticate.ts";
import { isOwnSite } from "../../src/http/requests/own-site.ts";
import { siteOf } from "../../src/http/requests/site.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson, Visitor } from "../support/people.ts";

const password = "correct horse battery";

describe("a server below a path prefix", () => {
  let server: InProcessServer;
  /** What a proxy that removes the prefix calls. */
  let root: string;
  before(async () => {
    const port = await freePort();
    root = `http://127.0.0.1:${port}`;
    const settings = { MILLRACE_PORT: String(port), MILLRACE_PUBLIC_URL: `${root}/tools/millrace/` };
    server = await startInProcess(settings);
    await addPerson(server, "ada", { team: "main", password });
  });
  after(() => server.dispose());

  it("adds the prefix to the links, forms and redirects of its pages, and to its cookies", async () => {
    const browser = new Visitor(root);
    const form = await (await browser.get("/auth/account")).text();
    assert.match(form, /<form class="card" method="post" action="\/tools\/millrace\/auth\/sign-in">/);
    assert.match(form, /name="next" value="\/auth\/account"/);
    assert.doesNotMatch(form, /(href|action)="\/(?!tools\/millrace\/)/);
    const next = { next: "/auth/account" };
    const response = await browser.post("/auth/sign-in", { username: "ada", password, ...next });
    assert.equal(response.headers.get("location"), "/tools/millrace/auth/account");
    assert.deepEqual(
      response.headers.getSetCookie().map((cookie) => /Path=[^;]*; .*; SameSite=Lax/.exec(cookie)?.[0]),
      [
        "Path=/tools/millrace; Max-Age=1209600; HttpOnly; SameSite=Lax",
        "Path=/tools/millrace/auth; Max-Age=31536000; HttpOnly; SameSite=Lax",
      ],
    );
    assert.match(await (await browser.get("/")).text(), /<base href="\/tools\/millrace\/">/);
    assert.equal((await browser.post("/auth/sign-out", {})).headers.get("location"), "/tools/millrace/");
  });

  it("names the prefix in the URLs of the API", async () => {
    const client = await server.client();
    const login = await client.call(routes.startDeviceLogin, { body: {} });
    assert.equal(login.verification_uri, `${root}/tools/millrace/auth/device-login`);
    const params = { team_name: "main" };
    const { url } = await client.call(routes.createInvitation, { params, body: { role: "viewer" } });
    assert.ok(url.startsWith(`${root}/tools/millrace/auth/invitation?code=`), url);
  });

  it("answers requests whose path still has the prefix, and no other prefix", async () => {
    const statuses = async (...paths: string[]) =>
      Promise.all(paths.map(async (path) => (await fetch(root + path)).status));
    assert.deepEqual(await statuses("/readyz", "/tools/millrace/readyz", "/tools/millrace/readyz?x"), [200, 200, 200]);
    assert.deepEqual(await statuses("/tools/millrace", "/tools/millrace/", "/tools/millrace?x=1"), [401, 401, 401]);
    assert.deepEqual(
      await statuses("/tools/readyz", "/tools/millracereadyz", "/tools/millrace/tools/millrace/readyz"),
      [404, 404, 404],
    );
  });

  it("removes no second prefix behind a proxy that says that it has removed one", async () => {
    const headers = { "x-forwarded-prefix": "/tools/millrace" };
    const statuses = ["/readyz", "/tools/millrace/readyz"].map(
      async (path) => (await fetch(root + path, { headers })).status,
    );
    assert.deepEqual(await Promise.all(statuses), [200, 404]);
  });

  it("does not redirect to another site whatever `next` says", async () => {
    for (const next of ["//elsewhere.example", "https://elsewhere.example", "/\\elsewhere.example"]) {
      const response = await new Visitor(root).post("/auth/sign-in", { username: "ada", password, next });
      assert.match(response.headers.get("location") ?? "", /^\/tools\/millrace\/(?![/\\])/, next);
    }
  });

  it("accepts forms from the origin of its public URL, even if the proxy passes the host without its port", () => {
    const site = siteOf("https://shared.example:8443/tools/millrace");
    const from = (origin: string) => isOwnSite({ method: "POST", headers: { origin, host: "shared.example" } }, site);
    assert.deepEqual(
      ["https://shared.example:8443", "https://shared.example", "https://shared.example:9443", "null"].map(from),
      [true, true, false, false],
    );
    assert.match(sessionCookie("x", 9, site), /^millrace_session=x; Path=\/tools\/millrace; .*; Secure$/);
  });

  it("a prefix that is a path of the server itself is refused at the start", () => {
    const read = (url: string) => readConfig({}, { MILLRACE_PUBLIC_URL: url });
    assert.throws(() => read("https://host.example/team"), /path prefix that is not a path of Millrace itself/);
    assert.throws(() => read("https://host.example/x?y"), /without \? and #/);
    assert.equal(read("https://host.example/teams/").listening.publicUrl, "https://host.example/teams");
  });
});
