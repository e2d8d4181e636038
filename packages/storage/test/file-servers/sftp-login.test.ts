/** How sftp:// logs in, and which hosts it trusts. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { type ClientConfig, openStorage } from "@millrace/storage";
import ssh2 from "ssh2";
import { knownHosts } from "../../src/schemes/sftp/known-hosts.ts";
import { rejectsWith } from "../conformance.ts";
import { type SshServer, startSshd, whyNoSshd } from "../support/sshd.ts";

const run = promisify(execFile);
const skip = await whyNoSshd();
let server: SshServer;
before(async () => {
  if (skip) return;
  server = await startSshd();
  await writeFile(join(server.data, "a"), "1");
});
after(() => server?.stop());

async function readWith(config: ClientConfig, environment: Record<string, string> = {}): Promise<string> {
  const { username, knownHosts: known_hosts } = server;
  const all = { username, known_hosts, ...config };
  await using storage = openStorage(server.uri, all, { environment: { HOME: server.folder, ...environment } });
  return await storage.readText("a");
}

describe("sftp:// logs in", { skip, timeout: 60_000 }, () => {
  it("with a private key, as a file and as text", async () => {
    assert.equal(await readWith({ key_filename: server.userKey }), "1");
    assert.equal(await readWith({ pkey: await readFile(server.userKey, "utf8") }), "1");
  });

  it("with an encrypted private key and its passphrase", async () => {
    const file = join(server.folder, "locked");
    await run("cp", [server.userKey, file]);
    await run("ssh-keygen", ["-q", "-p", "-P", "", "-N", "open sesame", "-f", file]);
    assert.equal(await readWith({ key_filename: file, passphrase: "open sesame" }), "1");
    await rejectsWith("config", readWith({ key_filename: file, passphrase: "wrong" }));
  });

  it("with the agent, if nothing is given and it is allowed", async () => {
    const socket = join(server.folder, "agent");
    const agent = spawn("ssh-agent", ["-D", "-a", socket], { stdio: ["ignore", "pipe", "ignore"] });
    try {
      await once(agent.stdout, "data");
      await run("ssh-add", ["-q", server.userKey], { env: { ...process.env, SSH_AUTH_SOCK: socket } });
      assert.equal(await readWith({}, { SSH_AUTH_SOCK: socket }), "1");
      await rejectsWith("permission", readWith({ allow_agent: false }, { SSH_AUTH_SOCK: socket }));
    } finally {
      agent.kill();
      await once(agent, "exit");
    }
  });

  it("with the user's own key, if nothing is given and it is allowed", async () => {
    await mkdir(join(server.folder, ".ssh"), { recursive: true });
    await run("cp", [server.userKey, join(server.folder, ".ssh/id_ed25519")]);
    assert.equal(await readWith({}), "1");
    await rejectsWith("permission", readWith({ look_for_keys: false }));
  });

  it("not with a wrong password", async () => {
    await rejectsWith("permission", readWith({ password: "wrong" }));
  });

  it("not with a missing key file", async () => {
    await rejectsWith("config", readWith({ key_filename: join(server.folder, "nowhere") }));
  });
});

/** OpenSSH would check a system password, which the test does not know: the server of the package ssh2 replaces it. */
describe("sftp:// logs in with a password", { skip, timeout: 60_000 }, () => {
  it("of the configuration, or of the URI", async () => {
    const passwords: string[] = [];
    const hostKeys = [await readFile(join(server.folder, "host"))];
    const standIn = new ssh2.Server({ hostKeys }, (client) => {
      client.on("error", () => {});
      client.on("authentication", (context) => {
        if (context.method === "password") passwords.push(`${context.username} ${context.password}`);
        context.reject(["password"]);
      });
    }).listen(0, "127.0.0.1");
    await once(standIn, "listening");
    const { port } = standIn.address() as { port: number };
    const options = { host_key_policy: "off" };
    await rejectsWith("permission", openStorage(`sftp://one:p%40ss@127.0.0.1:${port}/x`, options).read("a"));
    const given = { ...options, username: "two", password: "given" };
    await rejectsWith("permission", openStorage(`sftp://one:p%40ss@127.0.0.1:${port}/x`, given).read("a"));
    assert.deepEqual(passwords, ["one p@ss", "two given"]);
    standIn.close();
    await once(standIn, "close");
  });
});

describe("sftp:// trusts a host", { skip, timeout: 60_000 }, () => {
  const key = () => ({ key_filename: server.userKey });

  it("that is in known_hosts, and by default no other", async () => {
    assert.equal(await readWith(key()), "1");
    await assert.rejects(readWith({ ...key(), known_hosts: null }), /the host's key is unknown or has changed/);
    await rejectsWith("permission", readWith({ ...key(), known_hosts: null }));
  });

  it("whose name is hashed there", async () => {
    const file = join(server.folder, "hashed");
    await run("cp", [server.knownHosts, file]);
    await run("ssh-keygen", ["-q", "-H", "-f", file]);
    assert.ok(!(await readFile(file, "utf8")).includes("127.0.0.1"));
    assert.equal(await readWith({ ...key(), known_hosts: file }), "1");
  });

  it("whose key was given, as a key or as its fingerprint, and then no other", async () => {
    const { stdout } = await run("ssh-keygen", ["-l", "-f", server.hostKey]);
    const fingerprint = stdout.split(" ")[1] as string;
    for (const host_key of [fingerprint, await readFile(server.hostKey, "utf8")]) {
      assert.equal(await readWith({ ...key(), host_key, known_hosts: null }), "1");
    }
    const other = await readFile(`${server.userKey}.pub`, "utf8");
    await rejectsWith("permission", readWith({ ...key(), host_key: other }));
  });

  it("that is unknown on request, but none whose key has changed", async () => {
    const accept = { ...key(), host_key_policy: "accept-new" };
    assert.equal(await readWith({ ...accept, known_hosts: null }), "1");
    const changed = join(server.folder, "changed");
    const other = await readFile(`${server.userKey}.pub`, "utf8");
    await writeFile(changed, `[127.0.0.1]:${server.port} ${other}`);
    await rejectsWith("permission", readWith({ ...accept, known_hosts: changed }));
    assert.equal(await readWith({ ...key(), host_key_policy: "off", known_hosts: changed }), "1");
  });
});

describe("known_hosts", () => {
  const one = Buffer.from("one");
  const line = (hosts: string, key = one) => `${hosts} ssh-ed25519 ${key.toString("base64")} comment\n`;
  const check = (text: string, host = "host.example", port = 22) => knownHosts(text, host, port).check(one);

  it("names hosts with patterns, ports and exceptions", () => {
    assert.equal(check(line("host.example")), "known");
    assert.equal(check(line("other,*.example")), "known");
    assert.equal(check(line("*.example,!host.example")), "unknown");
    assert.equal(check(line("host.example"), "host.example", 2222), "unknown");
    assert.equal(check(line("[host.example]:2222"), "host.example", 2222), "known");
    assert.equal(check(`# ${line("host.example")}\n`), "unknown");
  });

  it("reports changed keys and revoked keys", () => {
    assert.equal(check(line("host.example", Buffer.from("two"))), "changed");
    assert.equal(check(line("host.example") + line("@revoked *")), "revoked");
    assert.equal(check(line("@cert-authority *")), "unknown");
  });
});

describe("sftp://", { skip, timeout: 60_000 }, () => {
  it("reconnects after the connection was lost", async () => {
    const storage = openStorage(server.uri, {
      username: server.username,
      key_filename: server.userKey,
      known_hosts: server.knownHosts,
    });
    assert.equal(await storage.readText("a"), "1");
    await run("pkill", ["-P", String(server.pid)]);
    assert.equal(await storage.readText("a"), "1");
    await storage.close();
  });

  it("reports network for a server that closes the connection silently", async () => {
    const silent = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as { port: number };
    await rejectsWith("network", openStorage(`sftp://127.0.0.1:${port}/x`, { host_key_policy: "off" }).read("a"));
    silent.close();
    await once(silent, "close");
  });

  it("resumes a file after the connection was lost", async () => {
    const bytes = randomBytes(20_000_000);
    await writeFile(join(server.data, "long"), bytes);
    const config = { username: server.username, key_filename: server.userKey, known_hosts: server.knownHosts };
    await using storage = openStorage(server.uri, config);
    const pieces: Uint8Array[] = [];
    for await (const piece of storage.readStream("long")) {
      pieces.push(piece);
      if (pieces.length === 3) await run("pkill", ["-P", String(server.pid)]);
    }
    assert.ok(bytes.equals(Buffer.concat(pieces)));
  });

  it("leaves no temporary file, whether a write succeeds or fails", async () => {
    const config = { username: server.username, key_filename: server.userKey, known_hosts: server.knownHosts };
    await using storage = openStorage(`${server.uri}/beside`, config);
    await storage.write("a", "1");
    async function* failing() {
      yield Buffer.alloc(9_000_000);
      throw new Error("broken");
    }
    await assert.rejects(storage.write("b", failing()), /broken/);
    assert.deepEqual(await readdir(join(server.data, "beside")), ["a"]);
  });
});
