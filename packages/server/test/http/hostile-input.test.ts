/** Input that only an attacker would send is refused at once, never with a 5xx. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { type Client, createClient, routes } from "@millrace/contract";
import { python, runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { satisfies } from "../../src/engines/local/environments/interpreters.ts";
import { namesFiles } from "../../src/engines/phases/requirement-lines.ts";
import { readScriptMetadata } from "../../src/runtimes/script-metadata.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

describe("hostile input", () => {
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess();
    client = await server.client();
  });
  after(() => server.dispose());

  const post = async (body: string) => {
    const headers = { "content-type": "application/json" };
    const response = await server.fetch("/api/datachain/jobs/", { method: "POST", body, headers });
    return {
      status: response.status,
      body: (await response.json()) as { message: string; detail: string; code: string },
    };
  };

  it("as JSON nested thousands deep is a 422", async () => {
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    const { status, body } = await post(`{"query":"","query_type":"SHELL","params":{"a":${deep}}}`);
    assert.deepEqual([status, body.code], [422, "invalid"]);
    assert.match(body.message, /levels of nesting/);
  });

  it("as brackets inside strings does not count as nesting", async () => {
    const { status } = await post(JSON.stringify({ query: `# "${'[{\\"'.repeat(5000)}`, query_type: "SHELL" }));
    assert.equal(status, 200);
  });

  it("as script metadata with invalid workers is a 422", async () => {
    for (const workers of ["nan", "1.5", "-1", '"two"', "99999999999"]) {
      const query = `# /// script\n# [tools.datachain.workers]\n# num_workers = ${workers}\n# ///\n`;
      const { status, body } = await post(JSON.stringify({ query, query_type: "PYTHON" }));
      assert.equal(status, 422, `${workers}: ${body.message}`);
    }
  });

  it("as numbers that no database column can hold is a 422", async () => {
    for (const field of ["workers", "compute_cluster_id"]) {
      assert.equal((await post(`{"query":"","query_type":"SHELL","${field}":9999999999}`)).status, 422);
    }
  });

  it("as text that is designed to be slow to parse is parsed quickly", { timeout: 20_000 }, () => {
    assert.equal(namesFiles("\n".repeat(200_000)), false);
    assert.equal(namesFiles(`a${" #".repeat(100_000)}/`), false);
    for (const part of ["a", "a ", "[", "a;", "-", "@"]) assert.equal(namesFiles(`a${part.repeat(100_000)}/`), true);
    assert.deepEqual(readScriptMetadata("# /// script\n".repeat(20_000)), {});
    assert.equal(satisfies("3.12.1", " ".repeat(100_000)), false);
  });

  it("as paths and requests that are not HTTP is refused in the standard error format", async () => {
    for (const path of ["/api/%zz", "/team/main/datasets/jobs/%zz"]) {
      const response = await server.fetch(path);
      assert.ok(response.status === 400 || response.status === 404, path);
      const body = (await response.json()) as { message: string; detail: string };
      assert.equal(body.detail, body.message);
    }
    assert.match(await raw("nonsense\r\n\r\n"), /^HTTP\/1.1 400 [\s\S]*"detail"/);
    assert.match(
      await raw("GET // HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
      /^HTTP\/1.1 40\d/,
    );
  });

  const raw = (text: string) =>
    new Promise<string>((resolve) => {
      const socket = connect(Number(new URL(server.url).port), "127.0.0.1", () => socket.write(text));
      let answer = "";
      socket.on("data", (bytes) => {
        answer += bytes.toString();
      });
      socket.on("close", () => resolve(answer));
      socket.on("error", () => resolve(answer));
    });

  it("as NUL characters in paths and forms is refused before the store is queried", async () => {
    for (const path of ["/api/teams/a%00b", "/api/teams/a%00b/members", "/api/users/a%00b"])
      assert.equal((await server.fetch(path)).status, 422, path);
    for (const page of ["/auth/sign-in", "/auth/invitation"]) {
      const body = new URLSearchParams({ username: "a\0b", password: "x", code: "a\0b" });
      const headers = { origin: server.url };
      assert.equal((await server.fetch(page, { method: "POST", body, headers, token: null })).status, 422, page);
    }
  });

  it("that offers another protocol gets plain HTTP", async () => {
    const answer = await raw(
      "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n",
    );
    assert.match(answer, /^HTTP\/1.1 200/);
  });

  it("as a HEAD request does not use up a sign-in link", async () => {
    assert.equal((await server.fetch("/auth/sign-in?link=x", { method: "HEAD", token: null })).status, 404);
  });

  it("as an Idempotency-Key that is too long is a 422, not a truncated key", async () => {
    const call = client.call(
      routes.createJob,
      { body: shell(":") },
      { headers: { "idempotency-key": "k".repeat(256) } },
    );
    await assert.rejects(call, /Idempotency-Key: expected at most 255/);
  });

  it("as a time beyond the year 9999 is a 422", async () => {
    const { status } = await post(
      JSON.stringify({ query: "", query_type: "SHELL", start_after: "9999-12-31T23:00-05:00" }),
    );
    assert.equal(status, 422);
  });

  it("as names with shell metacharacters is harmless", async () => {
    const environment = "CDPATH=/\nIFS=x\nPS4=y\nENV=/etc/passwd\nPPID=1\nLINENO=z\nphase=p\ncode=7\nfolder=f";
    const { job, log } = await runJob(client, shell('echo "$CDPATH $phase $code"', { environment }));
    assert.deepEqual([job.status, log], ["COMPLETE", "/ p 7\n"]);
    assert.equal((await post(JSON.stringify({ query: "", query_type: "SHELL", environment: "OPTIND=a" }))).status, 422);
  });

  it("as a traceback with a NUL character gives an error message without one", async () => {
    const { job } = await runJob(client, python('raise Exception("a\\0b")'));
    assert.equal(job.error_message, "Exception: a\ufffdb");
  });

  it("as an attached file with the name of the script does not replace the script", async () => {
    const file = await client.upload(routes.uploadFile, new Blob(["echo from the file"]), "job.sh");
    const { log } = await runJob(client, shell("echo from the script", { files: [String(file.id)] }));
    assert.equal(log, "from the script\n");
  });

  it("as an expiring token cannot approve one that lasts longer", async () => {
    const brief = await server.client({ expiresInDays: 1 });
    const login = await client.call(routes.startDeviceLogin, { body: { expires_in_days: 3650 } });
    await brief.call(routes.approveDeviceLogin, { body: { user_code: login.user_code } });
    const { access_token } = await client.call(routes.pollDeviceLogin, { body: { code: login.device_code } });
    const me = await createClient({ url: server.url, token: access_token }).call(routes.whoAmI, {});
    assert.ok(Date.parse(me.expires_at ?? "") <= Date.now() + 86_400_000);
  });

  it("as reset reaches the job", async () => {
    const { log } = await runJob(client, shell("echo $DATACHAIN_IGNORE_CHECKPOINTS", { reset: true }));
    assert.equal(log, "1\n");
  });
});
