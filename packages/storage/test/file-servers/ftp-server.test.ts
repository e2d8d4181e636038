/** Specific to FTP servers: logins, TLS, connections. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type ClientConfig, openStorage } from "@millrace/storage";
import { whyNoPythonPackages } from "@millrace/testing/programs/python-packages.ts";
import { rejectsWith } from "../conformance.ts";
import { type FtpServer, ftpUser, startPyftpdlib } from "../support/ftpd.ts";

const skip = await whyNoPythonPackages();
let server: FtpServer;
let secure: FtpServer;
before(async () => {
  if (skip) return;
  server = await startPyftpdlib();
  secure = await startPyftpdlib({ tls: true });
});
after(async () => {
  await server?.stop();
  await secure?.stop();
});

const open = (config: ClientConfig = {}) => openStorage(`ftp://127.0.0.1:${server.port}`, { ...ftpUser, ...config });

describe("ftp://", { skip, timeout: 60_000 }, () => {
  it("logs in with the URI's credentials, unless the configuration overrides them", async () => {
    const { username, password } = ftpUser;
    const uri = `ftp://${username}:${encodeURIComponent(password)}@127.0.0.1:${server.port}/login`;
    await openStorage(uri).write("a", "1");
    assert.equal(await open().readText("login/a"), "1");
    await rejectsWith("permission", openStorage(uri, { password: "wrong" }).read("a"));
    await rejectsWith("permission", openStorage(`ftp://127.0.0.1:${server.port}`).read("a"));
  });

  it("keeps the password out of errors", async () => {
    const storage = openStorage(`ftp://user:hidden@127.0.0.1:${server.port}/x`);
    await assert.rejects(storage.read("a"), (error) => !String(error).includes("hidden"));
    assert.throws(
      () => openStorage("ftp://user:hidden@/x"),
      (error) => !String(error).includes("hidden"),
    );
  });

  it("refuses paths that would inject commands", async () => {
    await rejectsWith("invalid", open().read("a\r\nDELE b"));
    await rejectsWith("invalid", open().write("a\nb", "x"));
    await rejectsWith("invalid", open().remove("a\rb"));
  });

  it("copies any number of files at once, whatever the connection limit", async () => {
    const storage = open({ max_connections: 1 });
    const bytes = randomBytes(9_000_000);
    await storage.write("copies/from", bytes);
    const names = Array.from({ length: 6 }, (_, index) => `copies/${index}`);
    await Promise.all(names.map((name) => storage.copy("copies/from", name)));
    for (const name of names) assert.equal((await storage.stat(name)).size, bytes.length);
    await storage.close();
  });

  it("leaves no temporary file, whether a write succeeds or fails", async () => {
    const storage = open();
    await storage.write("beside/a", "1");
    async function* failing() {
      yield Buffer.alloc(9_000_000);
      throw new Error("broken");
    }
    await assert.rejects(storage.write("beside/b", failing()), /broken/);
    assert.deepEqual(await readdir(join(server.data, "beside")), ["a"]);
    await storage.close();
  });

  it("reports network for an unreachable server", async () => {
    await rejectsWith("network", openStorage("ftp://127.0.0.1:1", { timeout: 1 }).read("a"));
  });
});

describe("ftps://", { skip, timeout: 60_000 }, () => {
  const openSecure = (scheme: string, config: ClientConfig) =>
    openStorage(`${scheme}://127.0.0.1:${secure.port}/place`, { ...ftpUser, ...config });

  it("encrypts commands and files", async () => {
    const storage = openSecure("ftps", { verify: join(secure.folder, "cert.pem") });
    const bytes = randomBytes(300_000);
    await storage.write("a", bytes);
    assert.ok(bytes.equals(await storage.read("a")));
    assert.equal((await Array.fromAsync(storage.list())).length, 1);
    await storage.close();
  });

  it("trusts no unknown certificate, unless verify is false", async () => {
    const message = /: the certificate of 127\.0\.0\.1:\d+ is not trusted: .*; set verify to a file/;
    await assert.rejects(openSecure("ftps", {}).read("a"), { code: "network", retryable: false, message });
    const careless = openSecure("ftp", { tls: "explicit", verify: false });
    await careless.write("b", "1");
    assert.equal(await careless.readText("b"), "1");
    await careless.close();
  });

  it("is required if the server insists", async () => {
    await rejectsWith("permission", openSecure("ftp", {}).read("a"));
  });
});
