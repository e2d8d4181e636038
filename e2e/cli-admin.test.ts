/** `millrace admin`: tokens and sign-in links, created directly in the store. */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { type ApiError, createClient, routes } from "@millrace/contract";
import { createJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

describe("millrace admin", () => {
  const suite = ClientSuite.use();
  const commandLine = Millrace.use();
  let cli: Millrace;

  before(async () => {
    const { dataDir, port } = suite.server;
    cli = await commandLine({ env: { MILLRACE_DATA_DIR: dataDir, MILLRACE_PORT: String(port) } });
  });

  const whoIs = (token: string) => createClient({ url: suite.server.url, token }).call(routes.whoAmI, {});

  test("token prints a new token and nothing else, with the server running and stopped", async () => {
    const tokens: string[] = [];
    const takeToken = async () => {
      const { code, stdout, stderr } = await cli.run("admin", "token");
      assert.deepEqual([code, stderr], [0, ""]);
      assert.match(stdout, /^isat_\S+\n$/);
      tokens.push(stdout.trim());
    };
    await takeToken();
    await suite.server.stop();
    await takeToken();
    await suite.server.start();
    assert.equal(new Set(tokens).size, 2);
    for (const token of tokens) {
      const { username, teams, expires_at } = await whoIs(token);
      assert.deepEqual([username, teams, expires_at], ["admin", [{ name: "main", role: "admin" }], null]);
    }
  });

  test("token creates none if no server was ever started, and leaves no store behind", async () => {
    const fresh = await commandLine();
    const result = await fresh.run("admin", "token", "--data-dir", "store");
    assert.equal(result.code, 1);
    assert.equal(result.stdout, "");
    assert.match(result.stderr, /There is no database in \S+store[\s\S]*--data-dir/);
    assert.equal((await fresh.run("admin", "token", "--data-dir", "store")).code, 1);
  });

  test("token --scopes, --team and --expires-in limit what the token can do, where, and for how long", async () => {
    const flags = ["--user", "admin", "--scopes", "JOB:read, clusters:read", "--team", "main", "--expires-in", "3"];
    const token = (await cli.print("admin", "token", ...flags)).trim();
    const { scopes, teams, expires_at } = await whoIs(token);
    assert.deepEqual([scopes.toSorted(), teams.map(({ name }) => name)], [["CLUSTERS:read", "JOB:read"], ["main"]]);
    const days = (Date.parse(expires_at ?? "") - Date.now()) / 86_400_000;
    assert.ok(days > 2.99 && days <= 3, `expires in ${days} days`);
    const limited = createClient({ url: suite.server.url, token });
    assert.ok(Array.isArray(await limited.call(routes.listJobs, { query: {} })));
    await assert.rejects(createJob(limited, shell("true")), (error: ApiError) => error.code === "forbidden");
  });

  test("token for an unknown user, team or scope creates none and names it", async () => {
    assert.match(await cli.refused(1, "admin", "token", "--user", "bob"), /There is no user bob/);
    assert.match(
      await cli.refused(1, "admin", "token", "--team", "others"),
      /not a member of a team named others\. Teams of the user: main/,
    );
    const scope = await cli.refused(1, "admin", "token", "--scopes", "JOB,COFFEE");
    assert.match(scope, /^error: Could not create the token\n {2}why: scopes: .*JOB, DATASETS:read.*"COFFEE"/);
    const life = await cli.refused(64, "admin", "token", "--expires-in", "0");
    assert.match(life, /^error: --expires-in: invalid value '0'\n {2}why: .*from 1 to 3650\n/);
  });

  test("token reports a folder that cannot be used", async () => {
    const said = await cli.refused(1, "admin", "token", "--data-dir", "/dev/null/store");
    assert.match(said, /^error: Could not create the token\n {2}why: .*\/dev\/null\/store/);
  });

  test("link prints a link that signs a browser in once", async () => {
    const { code, stdout, stderr } = await cli.run("admin", "link");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^http:\/\/127\.0\.0\.1:\d+\/auth\/sign-in\?link=\S+\n$/);
    const visit = () => fetch(stdout.trim(), { redirect: "manual" });
    const first = await visit();
    assert.deepEqual([first.status, first.headers.get("location")], [303, "/"]);
    const cookie = first.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    const page = (headers: Record<string, string>) => fetch(suite.server.url, { headers, redirect: "manual" });
    assert.equal((await page({ cookie })).status, 200);
    assert.equal((await page({})).status, 401);
    const second = await visit();
    assert.deepEqual([second.status, second.headers.getSetCookie()], [401, []]);
    assert.match(await second.text(), /used before or has expired/);
  });

  test("link for an unknown user creates none and says so", async () => {
    const said = await cli.refused(1, "admin", "link", "--user", "bob");
    assert.match(said, /^error: Could not create the link\n {2}why: There is no user bob/);
  });
});
