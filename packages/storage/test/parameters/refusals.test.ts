/** Invalid arguments are refused before anything is done with them. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { afterEach, beforeEach, describe, it } from "node:test";
import { openStorage, type Storage, syncTrees, toStorage, type WriteContent } from "@millrace/storage";

let folder: string;
let storage: Storage;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-storage-refusals-"));
  storage = openStorage(folder);
});
afterEach(async () => {
  await storage.close();
  await rm(folder, { recursive: true });
});

describe("a URI", () => {
  it("must not be empty, which would be the current folder", () => {
    assert.throws(() => openStorage(""), { code: "config", message: /^the URI is empty/ });
  });

  it("must have two slashes after its scheme", () => {
    for (const uri of ["s3:/bucket/x", "s3:bucket/x", "S3:/bucket/x"]) {
      assert.throws(() => openStorage(uri), { code: "config", message: /did you mean [sS]3:\/\/bucket\/x\?/ });
    }
    assert.throws(() => openStorage("file:/tmp/x"), /For a local file or folder of this name, write \.\/file:\/tmp\/x/);
    for (const path of ["./s3:/bucket", "unknown:/x", "c:/x"]) assert.equal(openStorage(path).scheme, "file");
  });

  it("must be a string", () => {
    for (const other of [new URL("file:///x"), undefined, 1]) {
      assert.throws(() => openStorage(other as unknown as string), {
        code: "config",
        message: /^expected the URI as a string, got /,
      });
    }
  });

  it("of local files may start with ~, and name this machine", async () => {
    await writeFile(join(folder, "a"), "1");
    assert.equal(await openStorage(`file://localhost${folder}`).readText("a"), "1");
    const message = (path: string) =>
      assert.rejects(openStorage(path).read("no such file"), { message: new RegExp(homedir()) });
    await message("~");
    await message("file://~/");
  });
});

describe("a numeric option", () => {
  const wrong = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY];
  const calls: Record<string, (value: number) => Promise<unknown>> = {
    "concurrency of read": (concurrency) => storage.read("a", { concurrency }),
    "blockSize of read": (blockSize) => storage.read("a", { blockSize, concurrency: 2 }),
    "concurrency of readStream": (concurrency) => Array.fromAsync(storage.readStream("a", { concurrency })),
    "blockSize of download": (blockSize) => storage.download("a", join(folder, "b"), { blockSize, concurrency: 2 }),
    "concurrency of write": (concurrency) => storage.write("b", Readable.from(["1"]), { concurrency }),
    "partSize of write": (partSize) => storage.write("b", Readable.from(["1"]), { partSize }),
    "concurrency of upload": (concurrency) => storage.upload(join(folder, "a"), "b", { concurrency }),
    "partSize of upload": (partSize) => storage.upload(join(folder, "a"), "b", { partSize }),
    "concurrency of list": (concurrency) => Array.fromAsync(storage.list({ concurrency })),
    "concurrency of syncTrees": (concurrency) => syncTrees(storage, openStorage("memory://sync"), { concurrency }),
    "concurrency of toStorage": (concurrency) => toStorage([], "memory://export", { concurrency }),
    "block_size of open": (block_size) => storage.open("a", { block_size }),
  };
  for (const [name, call] of Object.entries(calls)) {
    it(`must be a positive integer: ${name}`, { timeout: 20_000 }, async () => {
      await writeFile(join(folder, "a"), "12345");
      const [parameter] = name.split(" ");
      for (const value of wrong) {
        const message = `${parameter}: expected a whole number, 1 or more, got ${value}`;
        await assert.rejects(() => call(value), { code: "invalid", message });
      }
      assert.deepEqual(await readdir(folder), ["a"]);
    });
  }
});

describe("content to write", () => {
  const content = Buffer.from("some text");
  const taken: Record<string, WriteContent> = {
    "an ArrayBuffer": new Uint8Array(content).buffer,
    "a view of other numbers": new DataView(new Uint8Array(content).buffer),
    "a Blob": new Blob([content]),
    "a stream of Node": Readable.from([content.subarray(0, 4), content.subarray(4)]),
    "a stream of the web": new Blob([content]).stream(),
    "a list of pieces": ["some ", new Uint8Array(content.subarray(5)).buffer],
  };
  for (const [name, value] of Object.entries(taken)) {
    it(`may be ${name}`, async () => {
      assert.equal((await storage.write("a", value)).size, content.length);
      assert.deepEqual(await storage.readText("a"), "some text");
    });
  }

  const refused: Record<string, unknown> = {
    "a stream of objects": Readable.from([{ n: 1 }]),
    "a stream of numbers": Readable.from([1, 2]),
    "a list that holds nothing": [null],
    nothing: null,
    "a number": 7,
    "an object": { a: 1 },
  };
  for (const [name, value] of Object.entries(refused)) {
    it(`must not be ${name}, with an error and without a write`, async () => {
      await assert.rejects(storage.write("a", value as WriteContent), {
        code: "invalid",
        message: /^expected (the content|every piece of the content) as bytes/,
      });
      assert.deepEqual(await readdir(folder), []);
    });
  }

  it("can have metadata only if the storage supports it", async () => {
    await assert.rejects(() => storage.write("a", "1", { metadata: { a: "b" } }), { code: "unsupported" });
    await storage.write("a", "1", { metadata: {} });
  });

  it("may come from a source that never ends: the signal ends the wait", {
    timeout: 20_000,
  }, async () => {
    const source = new PassThrough();
    source.write("begun");
    const writing = storage.write("a", source, { signal: AbortSignal.timeout(100) });
    await assert.rejects(writing, { name: "TimeoutError" });
    assert.deepEqual(await readdir(folder), []);
    assert.ok(source.destroyed, "the source is told");
  });
});

describe("content to read", () => {
  it("must have a known encoding", async () => {
    await storage.write("a", "1");
    const message = /^latin-99 is not a known text encoding/;
    await assert.rejects(storage.readText("a", { encoding: "latin-99" }), { code: "invalid", message });
  });

  it("ends with the signal, even within a page of a listing", async () => {
    for (let index = 0; index < 5; index += 1) await storage.write(`${index}`, "1");
    for (const list of [storage.list.bind(storage), storage.glob.bind(storage, "*")]) {
      const stop = new AbortController();
      const seen: string[] = [];
      const reading = (async () => {
        for await (const { path } of list({ signal: stop.signal })) {
          seen.push(path);
          stop.abort(new Error("enough"));
        }
      })();
      await assert.rejects(reading, /enough/);
      assert.equal(seen.length, 1);
    }
  });

  it("works with web streams directly", async () => {
    await storage.write("a", "1");
    const bytes = await storage.read("a");
    assert.equal(await new Blob([bytes]).text(), "1");
    assert.equal((await crypto.subtle.digest("SHA-256", bytes)).byteLength, 32);
    const text = storage.readStream("a").pipeThrough(new TextDecoderStream());
    assert.deepEqual(await Array.fromAsync(text), ["1"]);
  });
});
