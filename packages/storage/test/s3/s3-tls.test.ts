/** `client_kwargs.verify` of `s3://`, against a server with a self-signed certificate. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { openStorage, type Storage, type StorageError } from "@millrace/storage";
import { whyNotInstalled } from "@millrace/testing/programs/program.ts";

const run = promisify(execFile);
const skip = await whyNotInstalled("openssl", "version");

/** More than any one buffer of a connection. */
const content = randomBytes(5_000_000);

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
    server = createServer({ key, cert }, ({ headers }, response) => {
      const [, start = "0", end] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? "") ?? [];
      const body = content.subarray(Number(start), end === undefined ? content.length : Number(end) + 1);
      const range = `bytes ${start}-${Number(start) + body.length - 1}/${content.length}`;
      const told = end === undefined ? {} : { "content-range": range };
      response.writeHead(end === undefined ? 200 : 206, { etag: '"e"', "content-length": body.length, ...told });
      response.end(body);
    });
    server.listen(0);
    await once(server, "listening");
    endpoint_url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    server?.closeAllConnections();
    server?.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function reading<T>(
    run: (storage: Storage) => Promise<T>,
    client_kwargs: Record<string, unknown>,
    environment = {},
  ): Promise<T> {
    const storage = openStorage("s3://bucket", { endpoint_url, key: "k", secret: "s", client_kwargs }, { environment });
    try {
      return await run(storage);
    } finally {
      await storage.close();
    }
  }

  /** Streams use another kind of connection. */
  const ways: Record<string, (storage: Storage) => Promise<Uint8Array>> = {
    "at once": (storage) => storage.read("a"),
    "as a stream": async (storage) => Buffer.concat(await Array.fromAsync(storage.readStream("a"))),
  };

  for (const [way, read] of Object.entries(ways)) {
    it(`refuses an untrusted certificate, read ${way}, and does not retry`, async () => {
      const { host } = new URL(endpoint_url);
      await assert.rejects(reading(read, {}), (error: StorageError) => {
        assert.deepEqual([error.code, error.retryable], ["network", false]);
        assert.match(
          error.message,
          new RegExp(
            `^s3://bucket: the certificate of ${host} is not trusted: this machine does not know the authority`,
          ),
        );
        assert.match(
          error.message,
          /set client_kwargs\.verify to a file with the certificates to trust, or set .* to false/,
        );
        assert.match((error.cause as Error).message, /self-signed certificate/);
        return true;
      });
    });

    it(`trusts any certificate with verify false, read ${way}`, async () => {
      assert.ok(content.equals(await reading(read, { verify: false })));
    });

    it(`trusts those in a file that verify or AWS_CA_BUNDLE names, read ${way}`, async () => {
      const file = join(folder, "cert.pem");
      assert.ok(content.equals(await reading(read, { verify: file })));
      assert.ok(content.equals(await reading(read, {}, { AWS_CA_BUNDLE: file })));
    });
  }

  it("reports a certificate for another host, also on schemes without a parameter for it", async () => {
    const { port } = new URL(endpoint_url);
    const other = { endpoint_url: `https://127.0.0.2:${port}`, key: "k", secret: "s" };
    const verify = join(folder, "cert.pem");
    const misdirected = openStorage("s3://bucket", { ...other, client_kwargs: { verify } }, { environment: {} });
    const message = new RegExp(
      `the certificate of 127.0.0.2:${port} is not trusted: it was issued for another host; check the`,
    );
    await assert.rejects(misdirected.read("a"), { code: "network", message });
    await misdirected.close();
    const hub = openStorage("hf://datasets/some/set", { endpoint: endpoint_url, token: false }, { environment: {} });
    await assert.rejects(hub.read("a"), { message: /set the variable NODE_EXTRA_CA_CERTS to a file with[^,]*$/ });
    await hub.close();
  });

  it("downloads directly into a file", async () => {
    const file = join(folder, "copy");
    const options = { concurrency: 3, blockSize: 1_000_000 };
    await reading((storage) => storage.download("a", file, options), { verify: false });
    assert.ok(content.equals(await readFile(file)));
  });

  it("names the certificate file that cannot be read", async () => {
    await assert.rejects(
      reading((storage) => storage.read("a"), { verify: join(folder, "none.pem") }),
      {
        code: "config",
        message: /client_kwargs\.verify/,
      },
    );
  });
});
