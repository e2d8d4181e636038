/** Downloads and uploads that fail half-way, with our own store that fails on request. */
import assert from "node:assert/strict";
import { mkdtemp, open, readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import {
  type Backend,
  defaultRetryPolicy,
  openStorage,
  registerScheme,
  StorageError,
  type Upload,
} from "@millrace/storage";
import { memoryScheme } from "../../src/schemes/memory/scheme.ts";

const size = 400_000;
const entry = { path: "a", size, etag: "e", version: "", is_latest: true, last_modified: null, type: "file" } as const;

/** What the store does instead of serving and accepting bytes. */
let onPiece: (number: number, signal: AbortSignal | undefined) => void | Promise<void>;
let onRead: () => void;
let onPart: (part: number) => void | Promise<void>;
let taken: Buffer[];
let state: "none" | "begun" | "finished" | "aborted";

const upload: Upload = {
  async put(part, bytes) {
    await onPart(part);
    taken[part - 1] = Buffer.from(bytes);
  },
  async finish() {
    state = "finished";
    return { ...entry };
  },
  async abort() {
    state = "aborted";
  },
};

async function* pieces(start: number, end: number, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  for (let at = start, number = 1; at < end; at += 50_000, number += 1) {
    await onPiece(number, signal);
    yield Buffer.alloc(Math.min(50_000, end - at), "n");
  }
}

const backend = {
  transfer: {
    ...{ partSize: 100_000, minimumPart: 1, maximumParts: 20, wholeUpTo: 1000, concurrency: 2 },
    retry: { ...defaultRetryPolicy, attempts: 1 },
  },
  async read(_key, { start = 0, end = size, signal }) {
    onRead();
    const range = { start, end: Math.min(end, size) };
    return { entry: { ...entry }, ...range, body: pieces(range.start, range.end, signal) };
  },
  async upload() {
    state = "begun";
    return upload;
  },
  close: async () => {},
} satisfies Partial<Backend> as unknown as Backend;

registerScheme({ ...memoryScheme, names: ["failing"], load: async () => ({ open: () => backend }) });

const failure = new StorageError("permission", "no longer");

describe("a file in transfer", () => {
  let folder: string;
  let file: string;
  const storage = openStorage("failing://");
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-storage-way-"));
    file = join(folder, "file");
    [onRead, onPiece, onPart, taken, state] = [() => {}, () => {}, () => {}, [], "none"];
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("is not visible at its target before it is complete", async () => {
    await writeFile(file, "old");
    onPiece = async () => assert.equal(await readFile(file, "utf8"), "old");
    assert.equal(await storage.download("a", file), size);
    assert.deepEqual(await readdir(folder), ["file"]);
    assert.equal((await readFile(file)).length, size);
  });

  for (const number of [1, 2]) {
    it(`leaves nothing when the store fails at piece ${number} of a range`, async () => {
      await writeFile(file, "old");
      onPiece = (at) => {
        if (at === number) throw failure;
      };
      await assert.rejects(storage.download("a", file), failure);
      assert.deepEqual(await readdir(folder), ["file"]);
      assert.equal(await readFile(file, "utf8"), "old");
    });
  }

  /** Pieces wait until this many ranges have been opened. */
  function afterReads(count: number): () => Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    let reads = 0;
    onRead = () => {
      reads += 1;
      if (reads === count) resolve();
    };
    return () => promise;
  }

  it("leaves nothing when the disk is full, however many ranges are in transfer", { timeout: 30_000 }, async () => {
    // A mock, because a full disk is not available everywhere.
    const handle = await open(join(folder, "handle"), "w");
    const write = mock.method(Object.getPrototypeOf(handle), "write", async () => {
      throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
    });
    await handle.close();
    await rm(join(folder, "handle"));
    onPiece = afterReads(100);
    const options = { concurrency: 100, blockSize: 2000 };
    await assert.rejects(storage.download("a", file, options), /no space left/).finally(() => write.mock.restore());
    assert.deepEqual(await readdir(folder), []);
  });

  it("is aborted, with nothing left of it, when its onBytes callback fails", { timeout: 30_000 }, async () => {
    const onBytes = () => {
      throw new Error("nobody looks");
    };
    await assert.rejects(storage.download("a", file, { onBytes }), /nobody looks/);
    assert.deepEqual(await readdir(folder), []);
    await writeFile(file, Buffer.alloc(size));
    await assert.rejects(storage.upload(file, "a", { onBytes }), /nobody looks/);
    assert.equal(state, "aborted");
  });

  it("stops its other ranges when one fails", { timeout: 30_000 }, async () => {
    const isOpened = afterReads(2);
    onPiece = async (_number, signal) => {
      await isOpened();
      // Only ranges after the first have a signal; without a stop they would wait forever.
      if (!signal) throw failure;
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    };
    await assert.rejects(storage.download("a", file, { concurrency: 2, blockSize: 1000 }), failure);
    assert.deepEqual(await readdir(folder), []);
  });

  it("leaves nothing when its download is stopped half-way, with the reason", async () => {
    const stop = new AbortController();
    onPiece = (at) => {
      if (at !== 2) return;
      stop.abort(new Error("enough"));
      stop.signal.throwIfAborted();
    };
    await assert.rejects(storage.download("a", file, { signal: stop.signal }), /enough/);
    assert.deepEqual(await readdir(folder), []);
  });

  it("is uploaded as it was opened, even if another file replaces it meanwhile", async () => {
    await writeFile(file, Buffer.alloc(250_000, "o"));
    onPart = async (part) => {
      if (part !== 1) return;
      await writeFile(join(folder, "other"), "other");
      await rename(join(folder, "other"), file);
    };
    await storage.upload(file, "a");
    assert.ok(Buffer.concat(taken).equals(Buffer.alloc(250_000, "o")));
    assert.equal(state, "finished");
  });

  it("is not uploaded if it becomes shorter meanwhile, and the upload is aborted", async () => {
    await writeFile(file, Buffer.alloc(950_000, "o"));
    onPart = async (part) => {
      if (part === 1) await truncate(file, 10);
    };
    await assert.rejects(storage.upload(file, "a"), /shorter/);
    assert.equal(state, "aborted");
  });

  it("is aborted when the store fails at a part, or the upload is stopped", async () => {
    await writeFile(file, Buffer.alloc(950_000, "o"));
    onPart = (part) => {
      if (part === 3) throw failure;
    };
    await assert.rejects(storage.upload(file, "a"), failure);
    assert.equal(state, "aborted");
    const stop = new AbortController();
    onPart = (part) => {
      if (part === 3) stop.abort(new Error("enough"));
    };
    await assert.rejects(storage.upload(file, "a", { signal: stop.signal }), /enough/);
    assert.equal(state, "aborted");
  });

  it("that needs more parts than the store accepts is aborted with that error; with a declared size it fits", async () => {
    async function* stream(): AsyncGenerator<Uint8Array> {
      for (let piece = 0; piece < 20; piece += 1) yield Buffer.alloc(1_000_000);
    }
    await assert.rejects(storage.write("a", stream()), {
      code: "invalid",
      message: /more than 20 parts: pass the size/,
    });
    assert.equal(state, "aborted");
    taken = [];
    await storage.write("a", stream(), { size: 20_000_000 });
    assert.deepEqual([state, taken.length], ["finished", 20]);
  });
});
