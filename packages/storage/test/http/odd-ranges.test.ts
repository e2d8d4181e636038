/**
 * Servers and proxies that send less of a range than was asked for, do not tell the size, or do not tell which bytes
 * they send. A read ends with the right bytes or with an error. The server is our own: a real one rarely does this.
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { isStorageError, type Storage } from "@millrace/storage";
import { openers } from "../support/hostile-http.ts";
import { startRecordingServer } from "../support/recording-server.ts";

const block = 100_000;
const data = Buffer.from(Array.from({ length: 950_001 }, (_, index) => (index * 7) % 251));

/** How the server answers a request for a range. */
interface Manner {
  /** Maximum number of bytes of one answer. */
  readonly most: number;
  /** Content-Range of an answer with these bytes; undefined for none. */
  readonly told: (start: number, end: number) => string | undefined;
}

const told = (start: number, end: number) => `bytes ${start}-${end - 1}/${data.length}`;
let manner: Manner = { most: data.length, told };

const server = await startRecordingServer((request, response) => {
  const headers = { etag: '"e"', "last-modified": new Date(0).toUTCString(), "x-goog-generation": "1" };
  const [, first, last] = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? "") ?? [];
  if (first === undefined) return void response.writeHead(200, { ...headers, "content-length": data.length }).end(data);
  const start = Number(first);
  if (start >= data.length) return void response.writeHead(416, headers).end();
  const end = Math.min(last === "" ? data.length : Number(last) + 1, data.length, start + manner.most);
  const range = manner.told(start, end);
  response.writeHead(206, { ...headers, "content-length": end - start, ...(range && { "content-range": range }) });
  response.end(data.subarray(start, end));
});
const folder = await mkdtemp(join(tmpdir(), "millrace-ranges-"));
after(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

const open = (kind: string) => (openers[kind] as (typeof openers)[string])(server.url);
const parallel = { concurrency: 3, blockSize: block };

/** Each way to read, and the bytes that it should return. */
const ways: Readonly<Record<string, (storage: Storage) => Promise<readonly [Uint8Array, Uint8Array]>>> = {
  "a range": async (storage) => [
    await storage.read("o", { start: 7, end: 800_000, concurrency: 1 }),
    data.subarray(7, 800_000),
  ],
  "parallel ranges": async (storage) => [await storage.read("o", parallel), data],
  "a stream of ranges": async (storage) => [
    Buffer.concat(await Array.fromAsync(storage.readStream("o", { ...parallel, start: 5 }))),
    data.subarray(5),
  ],
  "a download": async (storage) => {
    const file = join(folder, "downloaded");
    await storage.download("o", file, parallel);
    return [await readFile(file), data];
  },
};

describe("a server that sends less of a range than was asked for", { timeout: 120_000 }, () => {
  for (const kind of Object.keys(openers)) {
    for (const [way, read] of Object.entries(ways)) {
      it(`is asked for the rest: ${way} of ${kind}://`, async () => {
        manner = { most: 30_000, told };
        await using storage = open(kind);
        const [bytes, wanted] = await read(storage);
        assert.equal(Buffer.compare(bytes, wanted), 0, `${bytes.length} bytes, ${wanted.length} wanted`);
      });
    }
  }
});

describe("a server that does not tell the size with a range", { timeout: 120_000 }, () => {
  for (const kind of Object.keys(openers)) {
    it(`is asked for everything at once: ${kind}://`, async () => {
      manner = { most: data.length, told: (start, end) => `bytes ${start}-${end - 1}/*` };
      await using storage = open(kind);
      assert.equal(Buffer.compare(await storage.read("o", parallel), data), 0);
      const bytes = await storage.read("o", { start: 900_000, concurrency: 1 });
      assert.equal(Buffer.compare(bytes, data.subarray(900_000)), 0);
    });
  }
});

describe("an answer that does not tell where its bytes belong", { timeout: 120_000 }, () => {
  const oddities: Readonly<Record<string, Manner["told"]>> = {
    "without a Content-Range": () => undefined,
    "with a Content-Range that cannot be read": () => "everything",
    "with a later range": (start, end) => `bytes ${start + 1}-${end}/${data.length}`,
    "with a range that ends before it begins": (start) => `bytes ${start}-${start - 5}/${data.length}`,
  };
  for (const kind of Object.keys(openers)) {
    for (const [oddity, told] of Object.entries(oddities)) {
      it(`is an error: ${kind}://, ${oddity}`, async () => {
        manner = { most: data.length, told };
        await using storage = open(kind);
        await assert.rejects(storage.read("o", { start: 200_000, end: 700_000 }), (error) => {
          assert.ok(isStorageError(error, "failed"), String(error));
          assert.match(error.message, /asked for the bytes from 200000 on and sent a part with .*Content-Range/);
          return true;
        });
      });
    }
  }
});
