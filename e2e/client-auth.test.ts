/** Signing in and out with the real `datachain` client. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { type ApiError, createClient, routes } from "@millrace/contract";
import { millrace, type TestServer } from "@millrace/testing/millrace/server.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { assertFollowed } from "./support/client-output.ts";
import { ClientSuite } from "./support/client-suite.ts";
import type { RunningCommand } from "./support/datachain.ts";

const skip = await whyNoDatachain();

// The client polls every five seconds, so the tests run in parallel.
describe("datachain auth", { skip, concurrency: 4 }, () => {
  const suite = ClientSuite.use();
  const whoAmI = (token: string) => createClient({ url: suite.server.url, token }).call(routes.whoAmI, {});

  test("a login that is approved over the API yields a token with the requested name, team and lifetime", async () => {
    const client = await suite.stranger();
    const login = client.start(...loginTo(suite.server.url), "--team", "main", "-n", "laptop", "--expires-in", "30");
    await suite.api.call(routes.approveDeviceLogin, { body: { user_code: await codeOf(login) } });
    const { code, stdout, stderr } = await login.ended();
    assert.equal(code, 0, stderr);
    assert.match(stdout, /Authentication complete\. Saved token to/);
    assert.match(stdout, /Token is scoped to teams: main\nToken will expire in 30 days\.\nSet default team to 'main'/);

    const token = (await client.run("auth", "token")).stdout.trim();
    assert.match(token, /^isat_\S+$/);
    const me = await whoAmI(token);
    assert.deepEqual([me.username, me.teams, me.token_name], ["admin", [{ name: "main", role: "admin" }], "laptop"]);
    const days = (Date.parse(me.expires_at ?? "") - Date.now()) / 86_400_000;
    assert.ok(days > 29.9 && days < 30.1, `expires in ${days} days`);
  });

  test("after login a job runs; logout revokes and deletes the token", async () => {
    const client = await suite.stranger();
    const login = client.start(...loginTo(suite.server.url), "--team", "main");
    await suite.api.call(routes.approveDeviceLogin, { body: { user_code: await codeOf(login) } });
    assert.equal((await login.ended()).code, 0);

    await client.write("hello.py", 'print("signed in")\n');
    assertFollowed(await client.run("job", "run", "hello.py"), "COMPLETE", "signed in\n");

    const token = (await client.run("auth", "token")).stdout.trim();
    const logout = await client.run("auth", "logout");
    assert.equal(logout.code, 0, logout.stderr);
    assert.match(logout.stdout, /^Logged out from Studio\./);
    await assert.rejects(whoAmI(token), (error: ApiError) => error.status === 401);
    const forgotten = await client.run("auth", "token");
    assert.equal(forgotten.code, 1);
    assert.match(forgotten.stderr, /Not logged in to Studio/);
  });

  test("a login is approved in a browser that signed in with the one-use link of the first start", async () => {
    const link = await firstStartLink(suite.server);
    const signIn = await fetch(link, { redirect: "manual" });
    assert.equal(signIn.status, 303);
    const cookie = signIn.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    assert.notEqual((await fetch(link, { redirect: "manual" })).status, 303, "the link works once");

    const client = await suite.stranger();
    const login = client.start(...loginTo(suite.server.url), "-n", "from a browser");
    const [, address = "", code = ""] = await login.seen(/web browser: (\S+\?code=(\S+))\n/);
    assert.equal(new URL(address).pathname, "/auth/device-login");
    assert.equal((await fetch(address, { redirect: "manual" })).status, 401, "nobody is signed in without the cookie");
    const page = await fetch(address, { headers: { cookie }, redirect: "manual" });
    assert.equal(page.status, 200);
    const text = await page.text();
    assert.ok(text.includes(code) && text.includes("from a browser"), text);
    const form = new URLSearchParams({ code, answer: "approve" });
    const answer = await fetch(address, {
      method: "POST",
      headers: { cookie, origin: new URL(address).origin },
      body: form,
      redirect: "manual",
    });
    assert.ok(answer.status < 400, await answer.text());

    assert.equal((await login.ended()).code, 0);
    const me = await whoAmI((await client.run("auth", "token")).stdout.trim());
    assert.equal(me.token_name, "from a browser");
  });

  test("a login is approved with `millrace auth approve`", async () => {
    const client = await suite.stranger();
    const login = client.start(...loginTo(suite.server.url), "--team", "main");
    const { server, token } = suite;
    const env = { ...server.settings, DATACHAIN_STUDIO_URL: server.url, DATACHAIN_STUDIO_TOKEN: token };
    await promisify(execFile)(millrace, ["auth", "approve", await codeOf(login)], { env });
    const { code, stderr } = await login.ended();
    assert.equal(code, 0, stderr);
  });

  test("a denied login ends with exit code 1 and no token", async () => {
    const client = await suite.stranger();
    const login = client.start(...loginTo(suite.server.url));
    await suite.api.call(routes.denyDeviceLogin, { body: { user_code: await codeOf(login) } });
    const { code, stderr } = await login.ended();
    assert.equal(code, 1);
    assert.match(stderr, /Failed to authenticate with Studio/);
    assert.equal((await client.run("auth", "token")).code, 1);
  });

  test("whatever scopes a login requests, its token can run jobs", async () => {
    const client = await suite.stranger();
    const login = client.start(...loginTo(suite.server.url), "--scopes", "experiments,Datasets");
    await suite.api.call(routes.approveDeviceLogin, { body: { user_code: await codeOf(login) } });
    const { code, stdout, stderr } = await login.ended();
    assert.equal(code, 0, stderr);
    assert.match(stdout, /You can now use 'datachain auth team'/);
    const team = await client.run("auth", "team", "main");
    assert.match(team.stdout, /^Set default team to 'main'/);
    assert.equal((await client.run("auth", "team")).stdout, "Default team is 'main'\n");
    await client.write("hello.sh", "echo may run\n");
    assertFollowed(await client.run("job", "run", "hello.sh"), "COMPLETE", "may run\n");
  });

  test("logout with a revoked token says so and deletes it", async () => {
    const client = await suite.client({ token: "isat_unknown" });
    const { code, stdout, stderr } = await client.run("auth", "logout");
    assert.equal(code, 0, stderr);
    assert.match(stderr, /already revoked or is invalid/);
    assert.match(stdout, /^Logged out from Studio\./);
  });
});

const loginTo = (url: string) => ["auth", "login", "--no-open", "-H", url];

const codeOf = async (login: RunningCommand) => (await login.seen(/\?code=(\S+)\n/))[1] ?? "";

/** The link is printed just after the line that says that the server is ready. */
async function firstStartLink(server: TestServer): Promise<string> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const link = /^\s*(http\S+\/auth\/sign-in\?link=\S+)$/m.exec(server.output)?.[1];
    if (link) return link;
    assert.ok(Date.now() < deadline, `no sign-in link was printed:\n${server.output}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
