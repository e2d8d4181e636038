/** The web UI and the pages behind nginx, below a path prefix, as configured in deploy/nginx-prefix.conf. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createClient, routes } from "@millrace/contract";
import { createJob, shell, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { repository } from "@millrace/testing/repository.ts";
import { startNginx, type WebServer, whyNoNginx } from "@millrace/testing/servers/nginx.ts";
import { freePort } from "@millrace/testing/servers/server-process.ts";
import { noBrowser, Visit } from "./support/browser.ts";
import { Datachain } from "./support/datachain.ts";

const prefix = "/millrace";
const password = "correct horse battery";

/** Starts nginx on a port, in front of a Millrace at another port, which is below the prefix. */
async function proxy(port: number, target: number): Promise<WebServer> {
  const map = /^map [^}]*}$/m.exec(await readFile(join(repository, "deploy/nginx.conf"), "utf8"))?.[0] ?? "";
  const location = await readFile(join(repository, "deploy/nginx-prefix.conf"), "utf8");
  assert.ok(location.includes("127.0.0.1:8484") && location.includes(`location ${prefix}/`));
  const site = location.replaceAll("127.0.0.1:8484", `127.0.0.1:${target}`);
  return startNginx({ maps: `${map}\nserver {\nlisten 127.0.0.1:${port};\nserver_name localhost;\n${site}\n}` });
}

const noNginx = await whyNoNginx();
const noClient = await whyNoDatachain();

describe("the web UI below a path prefix", { skip: noBrowser || noNginx }, () => {
  let visit: Visit;
  let nginx: WebServer;
  before(async () => {
    const port = await freePort();
    const env = { MILLRACE_PUBLIC_URL: `http://localhost:${port}${prefix}/`, MILLRACE_TRUST_PROXY: "loopback" };
    const server = await TestServer.prepare({ env });
    nginx = await proxy(port, server.port);
    await server.start();
    visit = await Visit.to(server);
  });
  after(async () => {
    await visit.end();
    await nginx.stop();
  });

  const path = () => new URL(visit.page.url()).pathname;

  it("the first link signs in, and the app begins at its home", async () => {
    await visit.sees(/Home/);
    assert.equal(path(), `${prefix}/team/main`);
    for (const cookie of await visit.context.cookies()) assert.match(cookie.path, /^\/millrace(\/auth)?$/, cookie.name);
  });

  it("the URL of a job leads to its page, and the navigation stays below the prefix", async () => {
    const job = await createJob(visit.client, shell("echo one", { query_name: "proxied.sh" }));
    await waitForStatus(visit.client, job.id, ["COMPLETE"]);
    assert.equal(job.url, `${visit.url}/team/main/datasets/jobs/${job.id}`);
    await visit.page.goto(job.url);
    await visit.sees(/proxied\.sh[\s\S]*Complete/);
    await visit.page.click('nav a:has-text("Jobs")');
    await visit.sees(/proxied\.sh/);
    assert.equal(path(), `${prefix}/team/main/datasets/jobs`);
    await visit.page.reload();
    await visit.sees(/proxied\.sh/);
  });

  it("a socket that follows a log opens with the session", async () => {
    const job = await createJob(visit.client, shell("echo over a socket"));
    const received = await visit.page.evaluate(
      (url) =>
        new Promise<string>((resolve) => {
          const socket = new WebSocket(url);
          let all = "";
          socket.onmessage = ({ data }) => {
            all += String(data);
          };
          socket.onclose = () => resolve(all);
        }),
      `${visit.url.replace("http", "ws")}${routes.followLogs.path}?job_id=${job.id}&team_name=main`,
    );
    assert.match(received, /over a socket/);
  });

  it("signing out and in again returns to the requested page", async () => {
    await visit.client.call(routes.createUser, { body: { username: "ada", password } });
    const params = { team_name: "main" };
    await visit.client.call(routes.addMember, { params, body: { username: "ada", role: "editor" } });
    await visit.open("/team/main/datasets/jobs");
    await visit.page.click(".user-menu summary");
    await visit.page.click('button:text("Sign out")');
    assert.equal(path(), `${prefix}/`);
    await visit.open("/team/main/datasets/jobs?status=COMPLETE");
    await visit.page.fill("input[name=username]", "ada");
    await visit.page.fill("input[name=password]", password);
    await visit.page.press("input[name=password]", "Enter");
    await visit.sees(/Jobs/);
    assert.equal(path() + new URL(visit.page.url()).search, `${prefix}/team/main/datasets/jobs?status=COMPLETE`);
    visit.expectComplaints(/status of 401/);
  });

  it("the account page, the reference and unknown pages link to one another", async () => {
    await visit.open("/auth/account");
    await visit.page.click('main a:text("Tokens")');
    assert.equal(path(), `${prefix}/auth/tokens`);
    await visit.open("/api/docs");
    await visit.page.click('a:text("/api/openapi.json")');
    assert.equal(path(), `${prefix}/api/openapi.json`);
    await visit.open("/nothing-here");
    await visit.page.click("text=Back to the start");
    await visit.sees(/Home/);
    assert.equal(path(), `${prefix}/team/main`);
    visit.expectComplaints(/status of 404/);
  });

  it("an invitation is accepted", async () => {
    await visit.client.call(routes.createTeam, { body: { name: "second" } });
    const params = { team_name: "second" };
    const { url } = await visit.client.call(routes.createInvitation, { params, body: { role: "viewer" } });
    await visit.page.goto(url);
    await visit.page.click('button:text("Join second as ada")');
    await visit.sees(/Home/);
    await visit.open("/team/second");
    await visit.sees(/Home/);
  });

  it("`datachain auth login` is approved on the page", { skip: noClient }, async () => {
    const client = await Datachain.create({ url: `${visit.url}/`, env: { NO_PROXY: "localhost" } });
    try {
      const login = client.start("auth", "login", "--no-open", "-H", `${visit.url}/`, "-n", "laptop");
      const [, address = ""] = await login.seen(/web browser: (\S+)\n/);
      assert.ok(address.startsWith(`${visit.url}/auth/device-login?code=`), address);
      await visit.page.goto(address);
      await visit.sees(/laptop/);
      await visit.page.click('button:text("Approve")');
      await visit.sees(/Approved/);
      assert.equal((await login.ended()).code, 0);
      const token = (await client.run("auth", "token")).stdout.trim();
      const me = await createClient({ url: visit.url, token }).call(routes.whoAmI, {});
      assert.deepEqual([me.username, me.token_name], ["ada", "laptop"]);
      await client.write("hello.sh", "echo through the prefix\n");
      const run = await client.run("job", "run", "hello.sh", "--team", "main");
      assert.match(run.stdout, /through the prefix/, run.stderr);
    } finally {
      await client.dispose();
    }
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
