/** `millrace auth`: sign in and out, approve logins, and share the settings with the `datachain` client. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import { describe, test } from "node:test";
import { type ApiError, createClient, routes } from "@millrace/contract";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { ClientSuite } from "./support/client-suite.ts";
import type { RunningCommand } from "./support/datachain.ts";
import { Millrace } from "./support/millrace.ts";

// A login polls once a second or slower, so the tests run in parallel.
describe("millrace auth", { concurrency: 4 }, () => {
  const suite = ClientSuite.use();
  const commandLine = Millrace.useWith(suite);
  const create = Millrace.use();
  const stranger = (env: NodeJS.ProcessEnv = {}) => create({ url: suite.server.url, env });
  const whoIs = (token: string) => createClient({ url: suite.server.url, token }).call(routes.whoAmI, {});
  const isRevoked = (token: string) => assert.rejects(whoIs(token), (error: ApiError) => error.code === "unauthorized");

  const codeOf = async (login: RunningCommand) => (await login.seen(/millrace auth approve (\S+)\n/))[1] ?? "";

  /** Signs in: one machine starts the login, another, signed-in one approves it. */
  async function signIn(cli: Millrace, ...flags: string[]): Promise<string> {
    const login = cli.start("auth", "login", "--no-open", ...flags);
    const code = await codeOf(login);
    await (await commandLine()).print("auth", "approve", code);
    const { code: exitCode, stdout, stderr } = await login.ended();
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^Signed in\. The token is in \S+$/m);
    return code;
  }

  test("an approved login stores server, token and team, readable by the owner only", async () => {
    const cli = await create();
    const flags = ["--team", "main", "--name", "laptop", "--expires-in", "30"];
    await signIn(cli, "--url", `${suite.server.url}/`, ...flags);
    const file = cli.path(".config/datachain/config");
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const token = (await cli.print("auth", "token")).trim();
    assert.match(token, /^isat_\S+$/);
    const stored = `[studio]\nurl = "${suite.server.url}"\ntoken = "${token}"\nteam = "main"\n`;
    assert.equal(await readFile(file, "utf8"), stored);

    const me = await whoIs(token);
    assert.deepEqual([me.username, me.teams, me.token_name], ["admin", [{ name: "main", role: "admin" }], "laptop"]);
    const days = (Date.parse(me.expires_at ?? "") - Date.now()) / 86_400_000;
    assert.ok(days > 29.9 && days <= 30, `expires in ${days} days`);
    await cli.write("hello.sh", "echo signed in\n");
    assert.equal(await cli.print("job", "run", "hello.sh"), "signed in\n");
    assert.equal(await cli.print("auth", "team"), "main\n");
  });

  test("a login shows the page and the code, and the code is accepted as people type it", async () => {
    const cli = await stranger();
    const login = cli.start("auth", "login", "--no-open", "--scopes", "DATASETS");
    const code = await codeOf(login);
    const page = `${suite.server.url}/auth/device-login?code=${code}`;
    assert.ok(login.stdout.startsWith(`Open ${page}\nand confirm the code ${code}\n`), login.stdout);
    await (await commandLine()).print("auth", "approve", ` ${code.toLowerCase().replace("-", "")} `);
    assert.equal((await login.ended()).code, 0);
    const { scopes } = await whoIs((await cli.print("auth", "token")).trim());
    assert.ok(scopes.includes("JOB:write") && !scopes.includes("ADMIN:write"), String(scopes));
  });

  test("a denied login ends with 1 and stores nothing", async () => {
    const cli = await stranger();
    const login = cli.start("auth", "login", "--no-open");
    await (await commandLine()).print("auth", "deny", await codeOf(login));
    const { code, stderr } = await login.ended();
    assert.equal(code, 1);
    assert.equal(stderr, "error: The sign-in failed\n  why: The request was denied\n next: millrace auth login\n");
    await cli.refused(4, "auth", "token");
  });

  test("a code works once; an unknown one is an error that says so", async () => {
    const code = await signIn(await stranger());
    const cli = await commandLine();
    for (const [answer, word] of [
      ["approve", code],
      ["deny", code],
      ["approve", "XXXX-XXXX"],
    ] as const) {
      assert.match(await cli.refused(1, "auth", answer, word), new RegExp(`No login waits for the code ${word}`));
    }
  });

  test("a second login is refused while the first token works; logout revokes and deletes that token", async () => {
    const cli = await stranger();
    await signIn(cli);
    const token = (await cli.print("auth", "token")).trim();
    const second = await cli.refused(1, "auth", "login", "--no-open");
    assert.match(second, /^error: You are already signed in as admin\n {2}why: .*\n next: millrace auth logout\n$/);
    assert.match(await cli.print("auth", "logout"), /^Signed out\. Removed the token from \S+\n$/);
    await isRevoked(token);
    assert.doesNotMatch(await readFile(cli.path(".config/datachain/config"), "utf8"), /token|team/);
    await cli.refused(4, "auth", "logout");
  });

  test("logout with an unknown token says so and deletes it", async () => {
    const cli = await stranger();
    const file = cli.path(".config/datachain/config");
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, '# mine\n[studio]\ntoken = "isat_gone"\n\n[other]\nkept = true\n');
    const { code, stderr } = await cli.run("auth", "logout");
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^The server had already revoked the token/);
    assert.equal(await readFile(file, "utf8"), "# mine\n[studio]\n\n[other]\nkept = true\n");
  });

  test("a command without sign-in ends with 4 and shows the command to sign in", async () => {
    const cli = await stranger();
    await cli.write("job.sh", "true\n");
    const unknown = await commandLine({ token: "isat_unknown" });
    await unknown.write("job.sh", "true\n");
    for (const words of [
      ["job", "ls"],
      ["job", "run", "job.sh"],
      ["job", "logs", "abcdef"],
      ["auth", "approve", "ABCD-EFGH"],
    ]) {
      assert.match(
        await cli.refused(4, ...words),
        /^error: You are not signed in\n(.*\n)* next: millrace auth login\n$/,
      );
      assert.match(
        await unknown.refused(4, ...words),
        /^error: The server does not accept your token\n(.*\n)* next: .*login\n$/,
      );
    }
    for (const words of [
      ["auth", "token"],
      ["auth", "logout"],
    ]) {
      assert.match(await cli.refused(4, ...words), /^error: You are not signed in\n next: millrace auth login\n$/);
    }
  });

  test("status shows user, server, team and token; without sign-in it ends with 4", async () => {
    const cli = await create();
    await cli.refused(4, "auth", "status");
    await signIn(cli, "--url", suite.server.url, "--team", "main", "--name", "desk");
    const file = cli.path(".config/datachain/config");
    const lines = (await cli.print("auth", "status")).trimEnd().split("\n");
    const fields = Object.fromEntries(lines.map((line) => line.split("\t")));
    assert.equal(fields["server"], `${suite.server.url} (${file})`);
    assert.equal(fields["user"], "admin");
    assert.deepEqual([fields["team"], fields["teams"]], [`main (${file}), as admin`, "main (admin)"]);
    assert.equal(fields["token"], `desk (${file})`);
    const status = await cli.json<Record<string, unknown>>("auth", "status");
    assert.deepEqual([status["username"], status["team"], status["url"]], ["admin", "main", suite.server.url]);
    assert.ok(
      !JSON.stringify([lines, status]).includes((await cli.print("auth", "token")).trim()),
      "the token is not shown",
    );
    const other = await commandLine({ team: "elsewhere" });
    assert.match(
      await other.print("auth", "status"),
      /^team\telsewhere \(DATACHAIN_STUDIO_TEAM\), but you are not a member$/m,
    );
    const wrong = await commandLine({ token: "isat_wrong" });
    await wrong.refused(4, "auth", "status");
  });

  test("team shows, sets and uses the default team, and reports if there is none", async () => {
    const cli = await stranger({ DATACHAIN_STUDIO_TOKEN: suite.token });
    assert.match(
      await cli.refused(1, "auth", "team"),
      /^error: There is no default team\n next: millrace auth team NAME\n$/,
    );
    const said = await cli.refused(1, "auth", "team", "others");
    assert.match(
      said,
      /^error: You are not a member of a team named 'others'\n {2}why: Your teams at \S+: main\n next: millrace team ls\n$/,
    );
    await cli.refused(1, "auth", "team");
    const offline = await create({ url: "http://127.0.0.1:1", token: "isat_x", env: { HOME: cli.folder } });
    await offline.print("auth", "team", "others");
    assert.equal(await cli.print("auth", "team"), "others\n", "a server that does not answer is not asked");
    assert.match(await cli.refused(1, "job", "ls"), /others/);
    await cli.json("job", "ls", "--team", "main");
    await cli.print("auth", "team", "main", "--local");
    assert.equal(await cli.print("auth", "team"), "main\n", "the project goes before the user");
    await cli.json("job", "ls");
    assert.equal(await readFile(cli.path("work/.datachain/config"), "utf8"), '[studio]\nteam = "main"\n');
    assert.equal((await stat(cli.path("work/.datachain/config"))).mode & 0o777, 0o600);
  });

  test("a server that only the project names becomes the user's server only if the user says so", async () => {
    const cli = await create();
    await mkdir(cli.path("work/.datachain"));
    await writeFile(cli.path("work/.datachain/config"), `[studio]\nurl = "${suite.server.url}"\n`);
    assert.match(
      await cli.refused(1, "auth", "login", "--no-open"),
      /^error: Only the settings of this project name the server \S+\n[\s\S]* next: millrace auth login --local, or /,
    );
    await signIn(cli, "--local");
    await cli.json("job", "ls");
    const other = await create({ token: suite.token });
    await mkdir(other.path("work/.datachain"));
    await writeFile(other.path("work/.datachain/config"), `[studio]\nurl = "${suite.server.url}"\n`);
    assert.match(await other.refused(4, "job", "ls"), /^error: Your token was not sent to \S+\n[\s\S]*add --url /);
    await other.json("job", "ls", "--url", suite.server.url);
  });

  test("a login opens a page only over HTTP, whatever the server answers", async () => {
    const pages = ["file:///tmp/innocent.desktop", "https://example.invalid/auth/device-login"];
    for (const page of pages) {
      // Not a Millrace server, but one that answers what no Millrace would.
      const server = createServer((request, response) => {
        request.resume();
        const login = { verification_uri: page, user_code: "AAAA-BBBB", device_code: "d", token_name: "x" };
        const answer = request.url?.includes("/token") ? { message: "authorization_denied" } : login;
        response.writeHead(answer === login ? 200 : 403, { "content-type": "application/json" });
        response.end(JSON.stringify(answer));
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      const cli = await create({ env: { DISPLAY: ":9" } });
      await cli.write("xdg-open", `#!/bin/sh\necho "$1" >"${cli.path("opened")}"\n`);
      await chmod(cli.path("work/xdg-open"), 0o755);
      const { port } = server.address() as AddressInfo;
      const env = { DISPLAY: ":9", PATH: `${cli.path("work")}:${process.env["PATH"]}` };
      const login = await create({ url: `http://127.0.0.1:${port}`, env });
      const { stdout } = await login.run("auth", "login");
      assert.match(stdout, /^Open \S+\?code=AAAA-BBBB$/m);
      const opened = await readFile(cli.path("opened"), "utf8").catch(() => "");
      assert.equal(opened, page.startsWith("https:") ? `${page}?code=AAAA-BBBB\n` : "");
      server.close();
    }
  });

  test("one sign-in serves both: the datachain client finds token and team, and its logout counts here", async (t) => {
    const why = await whyNoDatachain();
    if (why) return t.skip(why);
    const client = await suite.stranger();
    const cli = await stranger({ DATACHAIN_GLOBAL_CONFIG_DIR: client.path("config") });
    await signIn(cli);
    const token = await cli.print("auth", "token");
    const [theirs, team] = await Promise.all([client.run("auth", "token"), client.run("auth", "team")]);
    assert.deepEqual([theirs.stdout, team.stdout], [token, "Default team is 'main'\n"]);
    assert.equal((await client.run("auth", "logout")).code, 0);
    await cli.refused(4, "auth", "token");
    await isRevoked(token.trim());
  });
});
