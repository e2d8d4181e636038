/** `client_kwargs.verify` of `s3://`, against a server with a certificate of its own making. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { openStorage } from "@millrace/storage";
import { whyNotInstalled } from "./support/program.ts";

const run = promisify(execFile);
const skip = await whyNotInstalled("openssl", "version");

describe("s3:// over TLS", { skip, timeout: 60_000 }, () => {
  let folder: string;
  let server: Server;
  let endpoint_url: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-storage-tls-"));
    const files = ["-keyout", join(folder, "key.pem"), "-out", join(folder, "cert.pem")];
    const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    await run("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...files, ...names]);
    const [key, cert] = [await readFile(join(folder, "key.pem")), await readFile(join(folder, "cert.pem"))];
    server = createServer({ key, cert }, (_request, response) => response.writeHead(200, { etag: '"e"' }).end("ok"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    endpoint_url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    server?.closeAllConnections();
    server?.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function read(client_kwargs: object, environment = {}): Promise<string> {
    const storage = openStorage("s3://bucket", { endpoint_url, key: "k", secret: "s", client_kwargs }, { environment });
    try {
      return await storage.readText("a");
    } finally {
      await storage.close();
    }
  }

  it("refuses a certificate that nobody vouches for, and does not try again", async () => {
    await assert.rejects(read({}), { code: "network", retryable: false });
  });

  it("trusts any certificate with verify false", async () => {
    assert.equal(await read({ verify: false }), "ok");
  });

  it("trusts those in a file that verify, or AWS_CA_BUNDLE, names", async () => {
    assert.equal(await read({ verify: join(folder, "cert.pem") }), "ok");
    assert.equal(await read({}, { AWS_CA_BUNDLE: join(folder, "cert.pem") }), "ok");
  });

  it("says which file of certificates cannot be read", async () => {
    await assert.rejects(read({ verify: join(folder, "none.pem") }), {
      code: "config",
      message: /client_kwargs\.verify/,
    });
  });
});
