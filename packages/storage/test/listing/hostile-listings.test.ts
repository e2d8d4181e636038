/** Endless folders: deep ones, wide ones, and endless lists. The servers are our own: no real one has such folders. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, describe, it } from "node:test";
import { isStorageError, openStorage, type Storage } from "@millrace/storage";
import ssh2 from "ssh2";
import { startHostileFtp } from "../support/hostile-ftp.ts";
import { type Answer, startRecordingServer } from "../support/recording-server.ts";

const mebibyte = 1024 * 1024;
/** Levels of folders. The tests start near the last, because each level takes a request. */
const most = 1024;
const alreadyDown = 1000;
const deep = "a/".repeat(alreadyDown);

const isFailed = (message: RegExp) => (error: Error) => {
  assert.ok(isStorageError(error, "failed"), `${error.name}: ${error.message.slice(0, 200)}`);
  assert.match(error.message, message);
  assert.ok(error.message.length < 2000, `${error.message.length} letters`);
  return true;
};

describe("a folder of webdav://", { timeout: 120_000 }, () => {
  let answer: Answer;
  const starting = startRecordingServer((...call) => answer(...call));
  after(async () => (await starting).stop());

  async function open() {
    const server = await starting;
    server.requests.length = 0;
    return { server, storage: openStorage(`${server.url.replace("http:", "webdav:")}/base`) };
  }

  const folder = (href: string) =>
    `<response><href>${href}</href><resourcetype><collection/></resourcetype></response>`;
  const holdsItself: Answer = ({ path }, response) => {
    const here = path.endsWith("/") ? path : `${path}/`;
    response.writeHead(207).end(`<multistatus>${folder(here)}${folder(`${here}a/`)}</multistatus>`);
  };

  const ways: Readonly<Record<string, (storage: Storage, prefix: string) => AsyncIterable<unknown>>> = {
    "listed at once": (storage, prefix) => storage.list({ prefix, recursive: true }),
    "listed in order": (storage, prefix) => storage.list({ prefix, recursive: true, ordered: true }),
    walked: (storage, prefix) => storage.walk(prefix),
  };
  for (const [way, go] of Object.entries(ways)) {
    it(`that contains itself is an error at ${most} levels when it is ${way}`, async () => {
      answer = holdsItself;
      const { server, storage } = await open();
      await assert.rejects(Array.fromAsync(go(storage, deep)), isFailed(/most likely contains itself/));
      assert.ok(server.requests.length <= most - alreadyDown + 1, `${server.requests.length} requests`);
      await storage.close();
    });
  }

  it("may have more files than a call can have arguments", async () => {
    const count = 200_000;
    const files = Array.from({ length: count }, (_, index) => `<response><href>/base/${index}</href></response>`);
    answer = (_, response) => void response.writeHead(207).end(`<multistatus>${files.join("")}</multistatus>`);
    const { storage } = await open();
    for (const ordered of [true, false]) {
      let found = 0;
      for await (const _ of storage.list({ recursive: true, ordered })) found += 1;
      assert.equal(found, count);
    }
    await storage.close();
  });

  it("is parsed in linear time if its elements are never closed", async () => {
    answer = (_, response) =>
      void response.writeHead(207).end(`<multistatus>${"<response>".repeat(300_000)}</multistatus>`);
    const { storage } = await open();
    assert.deepEqual(await Array.fromAsync(storage.list()), []);
    await storage.close();
  });
});

describe("a folder of ftp://", { timeout: 120_000 }, () => {
  it("with an endless list is aborted at 64 MiB, without a retry", async (test) => {
    let bytes = 0;
    const server = await startHostileFtp((data) => {
      const piece = Buffer.alloc(64 * 1024, "-rw-r--r-- 1 a a 5 Jan  1  2026 name\r\n");
      const go = () => {
        while (!data.destroyed && bytes < 512 * mebibyte) {
          bytes += piece.length;
          if (!data.write(piece)) return void data.once("drain", go);
        }
        data.end();
      };
      go();
    });
    test.after(() => server.stop());
    await using storage = openStorage(server.url, { timeout: 10 });
    await assert.rejects(Array.fromAsync(storage.list()), isFailed(/longer than the limit of 64 MiB/));
    assert.ok(bytes < 96 * mebibyte, `${bytes} bytes`);
    assert.equal(server.commands.filter((line) => line.startsWith("LIST")).length, 1);
  });

  it("that contains itself does not lead to endless recursion when it is removed", async (test) => {
    const server = await startHostileFtp((data) => void data.end("drwxr-xr-x 1 a a 0 Jan  1  2026 a\r\n"));
    test.after(() => server.stop());
    await using storage = openStorage(server.url, { timeout: 10 });
    await assert.rejects(
      storage.remove(deep.slice(0, -1), { recursive: true }),
      isFailed(/most likely contains itself/),
    );
    const lists = server.commands.filter((line) => line.startsWith("LIST"));
    assert.ok(lists.length <= most - alreadyDown + 2, `${lists.length} lists`);
  });
});

describe("a folder of sftp://", { timeout: 120_000 }, () => {
  /** Each list of names is different, and endless. */
  async function startHostileSftp(names: () => string[]) {
    // The key generator of ssh2 sometimes makes an ed25519 key that ssh2 itself cannot read.
    const { privateKey: key } = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs1", format: "pem" },
    });
    const attrs = { mode: 0o100644, uid: 0, gid: 0, size: 5, atime: 0, mtime: 0 };
    const server = new ssh2.Server({ hostKeys: [key] }, (client) => {
      client.on("error", () => {}).on("authentication", (context) => context.accept());
      client.on("session", (accept) =>
        accept().on("sftp", (acceptSftp) => {
          const files = acceptSftp();
          files.on("OPENDIR", (id) => files.handle(id, Buffer.from("h")));
          files.on("CLOSE", (id) => files.status(id, ssh2.utils.sftp.STATUS_CODE.OK));
          files.on("READDIR", (id) => {
            const found = names().map((filename) => ({ filename, longname: "", attrs }));
            if (found.length === 0) files.status(id, ssh2.utils.sftp.STATUS_CODE.EOF);
            else files.name(id, found);
          });
        }),
      );
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return server;
  }

  it("with endless names is aborted at 64 MiB of them", async (test) => {
    let bytes = 0;
    const name = "n".repeat(200 * 1024);
    const server = await startHostileSftp(() => {
      if (bytes > 128 * mebibyte) return [];
      bytes += name.length;
      return [name];
    });
    test.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    await using storage = openStorage(`sftp://u:p@127.0.0.1:${port}`, { host_key_policy: "off" });
    await assert.rejects(Array.fromAsync(storage.list()), isFailed(/more than 1,000,000 names or 64 MiB/));
    assert.ok(bytes < 65 * mebibyte, `${bytes} bytes`);
  });
});
