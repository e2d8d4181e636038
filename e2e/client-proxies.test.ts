/**
 * The files of deploy/: the real client through nginx and Caddy as configured there, and a unit that systemd accepts.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { type RequestOptions, request } from "node:https";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { createClient, routes } from "@millrace/contract";
import { readJob } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { whyNotInstalled } from "@millrace/testing/programs/program.ts";
import { repository } from "@millrace/testing/repository.ts";
import { startNginx, whyNoNginx } from "@millrace/testing/servers/nginx.ts";
import { freePort, type ServerProcess, startServer } from "@millrace/testing/servers/server-process.ts";
import { until } from "@millrace/testing/until.ts";
import { assertFollowed, jobIdOf } from "./support/client-output.ts";
import { ClientSuite } from "./support/client-suite.ts";

const run = promisify(execFile);

/** A file of deploy/ for this machine: with its name, ports and certificate instead of the placeholders. */
async function deployed(file: string, changes: Readonly<Record<string, string>>): Promise<string> {
  let text = await readFile(join(repository, "deploy", file), "utf8");
  for (const [from, to] of Object.entries({ "millrace.example.com": "localhost", ...changes })) {
    assert.ok(text.includes(from), `deploy/${file} has ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

interface Proxy {
  readonly process: ServerProcess;
  /** Certificate of the authority that signed the proxy's certificate. */
  readonly authority: string;
}

async function nginx(folder: string, target: number, port: number): Promise<Proxy> {
  const [certificate, key] = [join(folder, "certificate.pem"), join(folder, "key.pem")];
  const words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost";
  const name = ["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate];
  await run("openssl", [...words.split(" "), ...name]);
  const maps = await deployed("nginx.conf", {
    "127.0.0.1:8484": `127.0.0.1:${target}`,
    "listen 443": `listen 127.0.0.1:${port}`,
    "listen 80": `listen 127.0.0.1:${await freePort()}`,
    "/etc/letsencrypt/live/localhost/fullchain.pem": certificate,
    "/etc/letsencrypt/live/localhost/privkey.pem": key,
  });
  return { process: await startNginx({ maps }), authority: certificate };
}

async function caddy(folder: string, target: number, port: number): Promise<Proxy> {
  const site = await deployed("Caddyfile", { "127.0.0.1:8484": `127.0.0.1:${target}` });
  const place = join(folder, "caddy");
  const process = await startServer("caddy", async (plain, home) => {
    const own = `{\nadmin off\nskip_install_trust\nstorage file_system ${place}\nhttp_port ${plain}\nhttps_port ${port}\n}\n`;
    await writeFile(join(home, "Caddyfile"), own + site);
    return {
      program: "caddy",
      words: ["run", "--config", join(home, "Caddyfile"), "--adapter", "caddyfile"],
      environment: { HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home },
    };
  });
  return { process, authority: join(place, "pki/authorities/local/root.crt") };
}

const proxies = [
  { name: "nginx", start: nginx, skip: await whyNoNginx() },
  { name: "Caddy", start: caddy, skip: await whyNotInstalled("caddy", "version") },
];
const noClient = await whyNoDatachain();

for (const { name, start, skip } of proxies) {
  describe(`Millrace behind ${name} as configured in deploy/`, { skip: noClient || skip }, async () => {
    const port = await freePort();
    const url = `https://localhost:${port}`;
    const suite = ClientSuite.use({ MILLRACE_PUBLIC_URL: url, MILLRACE_TRUST_PROXY: "127.0.0.1" });
    let proxy: Proxy;
    before(async () => {
      proxy = await start(suite.shared, suite.server.port, port);
      await until("the proxy answers", async () => (await ask("/readyz")) === 200);
    });
    after(() => proxy.process.stop());

    const ask = async (path: string, options: RequestOptions = {}, body = "") => {
      const ca = await readFile(proxy.authority).catch(() => undefined);
      return new Promise<number | undefined>((resolve) => {
        request(url + path, { ca, ...options }, (response) => resolve(response.resume().statusCode))
          .on("error", () => resolve(undefined))
          .end(body);
      });
    };
    const client = () =>
      suite.client({
        url,
        env: { REQUESTS_CA_BUNDLE: proxy.authority, SSL_CERT_FILE: proxy.authority, NO_PROXY: "localhost" },
      });

    test("the client uploads a large file, runs a job and follows its log over a WebSocket", async () => {
      const person = await client();
      await person.write("large.bin", randomBytes(8 * 1024 ** 2));
      const gate = suite.gate("proxied");
      await person.write("job.sh", `wc -c <large.bin\n${gate.wait}\necho "the end"\n`);
      const command = person.start("job", "run", "job.sh", "--files", "large.bin");
      await command.seen(/^8388608$/m);
      await gate.open();
      const result = await command.ended();
      assertFollowed(result, "COMPLETE", "8388608\nthe end\n");
      assert.doesNotMatch(result.stdout, /reconnecting/);
      const job = await readJob(suite.api, jobIdOf(result));
      assert.ok(job.url?.startsWith(`${url}/team/main/`), job.url ?? "");
    });

    test("a script beyond Millrace's own limit is refused by Millrace, with its reason", async () => {
      const person = await client();
      await person.write("job.py", "#".repeat(2 * 1024 ** 2));
      const { code, stderr } = await person.run("job", "run", "job.py");
      assert.equal(code, 1);
      assert.match(stderr, /^Error: query: expected at most 1048576 characters/);
    });

    test("the caller's address is the one that the proxy saw, whatever the caller claims", async () => {
      const headers = {
        authorization: `Bearer ${suite.token}`,
        "content-type": "application/json",
        "x-forwarded-for": "203.0.113.9",
      };
      const options = { method: "POST", headers, localAddress: "127.0.0.2", family: 4 };
      assert.equal(await ask("/api/tokens", options, '{"name":"proxied"}'), 200);
      const everything = createClient({ url: suite.server.url, token: suite.token });
      const rows = await everything.call(routes.listAudit, { query: {} });
      assert.equal(rows.find(({ target }) => target.includes("proxied"))?.address, "127.0.0.2");
    });
  });
}

const noSystemd = await whyNotInstalled("systemd-analyze", "--version");

test("systemd accepts deploy/millrace.service without a warning", { skip: noSystemd }, async () => {
  const text = await readFile(join(repository, "deploy/millrace.service"), "utf8");
  const { stdout: folder } = await run("mktemp", ["-d"]);
  const unit = join(folder.trim(), "millrace.service");
  await writeFile(unit, text.replaceAll("/opt/millrace", repository));
  const { stdout, stderr } = await run("systemd-analyze", ["verify", unit]);
  assert.equal(stdout + stderr, "");
  await run("rm", ["-r", folder.trim()]);
});
