/** Files opened for random access: which ranges each cache requests, counted by a backend that holds the alphabet. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import {
  type Backend,
  type CacheType,
  cacheTypes,
  defineScheme,
  type OpenFileOptions,
  openStorage,
  registerScheme,
  type Storage,
} from "@millrace/storage";
import { memoryScheme } from "../../src/schemes/memory/scheme.ts";
import { rejectsWith } from "../conformance.ts";

/** 26 bytes, in blocks of 4. */
const alphabet = "abcdefghijklmnopqrstuvwxyz";
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

/** Every requested range, of all storages of the scheme below. */
const asked: string[] = [];

/** `memory://` with counted reads. */
registerScheme(
  defineScheme({
    ...memoryScheme,
    names: ["counted"],
    load: async () => ({
      async open(request) {
        const backend: Backend = await (await memoryScheme.load()).open(request);
        return {
          ...backend,
          read(key, call) {
            asked.push(`${call.start}-${call.end}`);
            return backend.read(key, call);
          },
        };
      },
    }),
  }),
);

const storages: Storage[] = [];
afterEach(() => Promise.all(storages.splice(0).map((storage) => storage.close())));

async function opened(content = alphabet): Promise<Storage> {
  const storage = openStorage("counted://place");
  storages.push(storage);
  await storage.write("file", content);
  return storage;
}

/** Reads one after the other; returns the requests to the store since the file was opened. */
async function ranges(
  cache_type: CacheType,
  reads: readonly (readonly [offset: number, length: number])[],
  options: OpenFileOptions = {},
): Promise<string[]> {
  const storage = await opened();
  asked.length = 0;
  const file = await storage.open("file", { block_size: 4, cache_type, ...options });
  for (const [offset, length] of reads) {
    assert.equal(text(await file.read(offset, length)), alphabet.slice(offset, offset + length));
  }
  await file.close();
  return [...asked];
}

describe("a cache of type", () => {
  it("none requests exactly what is read", async () => {
    const reads = [
      [3, 2],
      [3, 2],
      [20, 100],
    ] as const;
    assert.deepEqual(await ranges("none", reads), ["3-5", "3-5", "20-26"]);
  });

  it("readahead requests one more block, keeps one buffer, and replaces it on a miss", async () => {
    const forward = [
      [0, 2],
      [2, 4],
      [6, 2],
      [8, 1],
    ] as const;
    assert.deepEqual(await ranges("readahead", forward), ["0-6", "6-12"]);
    const elsewhere = [
      [0, 2],
      [10, 2],
      [0, 2],
    ] as const;
    assert.deepEqual(await ranges("readahead", elsewhere), ["0-6", "10-16", "0-6"]);
    const beyond = [
      [0, 2],
      [4, 6],
    ] as const;
    assert.deepEqual(await ranges("readahead", beyond), ["0-6", "6-14"], "what is known is not asked for again");
  });

  it("bytes grows on either side within a block, and starts again further away", async () => {
    const grows = [
      [8, 2],
      [13, 3],
      [6, 7],
    ] as const;
    assert.deepEqual(await ranges("bytes", grows, { cache_options: { trim: false } }), ["8-14", "14-20", "6-17"]);
    const before = [
      [8, 2],
      [5, 6],
    ] as const;
    assert.deepEqual(await ranges("bytes", before), ["8-14", "5-8"]);
    const away = [
      [0, 2],
      [20, 2],
    ] as const;
    assert.deepEqual(await ranges("bytes", away), ["0-6", "20-26"]);
  });

  it("bytes drops what is more than a block behind", async () => {
    const reads = [
      [0, 8],
      [1, 2],
    ] as const;
    assert.deepEqual(await ranges("bytes", reads), ["0-12", "1-7"]);
    assert.deepEqual(await ranges("bytes", reads, { cache_options: { trim: false } }), ["0-12"]);
  });

  it("first keeps the first block, and nothing else", async () => {
    const reads = [
      [1, 2],
      [0, 4],
      [2, 6],
      [10, 2],
      [10, 2],
    ] as const;
    assert.deepEqual(await ranges("first", reads), ["0-4", "4-8", "10-12", "10-12"]);
    const across = [
      [2, 6],
      [0, 3],
    ] as const;
    assert.deepEqual(await ranges("first", across), ["0-8"]);
  });

  it("blockcache requests whole blocks, each alone, and keeps 32 of them", async () => {
    const reads = [
      [1, 2],
      [2, 8],
      [24, 2],
      [5, 2],
    ] as const;
    assert.deepEqual(await ranges("blockcache", reads), ["0-4", "4-8", "8-12", "24-26"]);
  });

  it("blockcache drops the least recently used block", async () => {
    const reads = [
      [0, 1],
      [4, 1],
      [0, 1],
      [8, 1],
      [0, 1],
      [4, 1],
    ] as const;
    const found = await ranges("blockcache", reads, { cache_options: { maxblocks: 2 } });
    assert.deepEqual(found, ["0-4", "4-8", "8-12", "4-8"]);
    const many = Array.from({ length: 33 }, (_, index) => [index % 26, 1] as const);
    assert.equal((await ranges("blockcache", many, { block_size: 1 })).length, 26);
  });

  it("background also requests the next block, once, and not beyond the end", async () => {
    const forward = [
      [0, 2],
      [4, 2],
      [8, 2],
    ] as const;
    assert.deepEqual(await ranges("background", forward), ["0-4", "4-8", "8-12", "12-16"]);
    assert.deepEqual(await ranges("background", [[24, 2]]), ["24-26"]);
  });

  it("mmap requests missing blocks, neighbours together, and never again", async () => {
    const reads = [
      [5, 1],
      [0, 16],
      [0, 26],
      [3, 20],
    ] as const;
    assert.deepEqual(await ranges("mmap", reads), ["4-8", "0-4", "8-16", "16-26"]);
  });

  it("all requests everything when the file is opened", async () => {
    assert.deepEqual(await ranges("all", []), ["0-26"]);
    assert.deepEqual(await ranges("all", [[5, 5]]), ["0-26"]);
  });

  it("parts knows the supplied data, and requests nothing", async () => {
    const data = new Map([
      [4, Buffer.from("efgh")],
      [8, Buffer.from("ij")],
      [12, Buffer.from("mn")],
    ]);
    const reads = [
      [4, 4],
      [5, 5],
      [12, 2],
    ] as const;
    assert.deepEqual(await ranges("parts", reads, { cache_options: { data } }), []);
    const storage = await opened();
    const file = await storage.open("file", { cache_type: "parts", cache_options: { data } });
    assert.equal(text(await file.read(8, 7)), "ij\0\0mn\0", "what is not known is zero");
    await rejectsWith("invalid", file.read(0, 2));
    const strict = await storage.open("file", { cache_type: "parts", cache_options: { data, strict: true } });
    await rejectsWith("invalid", strict.read(8, 3));
  });
});

describe("a file opened for random access", () => {
  it("reads the same bytes through every cache, at any offset", async () => {
    const reads = [0, 7, 3, 25, 12, 11, 24, 0, 13].map((offset, index) => [offset, 1 + (index % 5) * 3] as const);
    for (const cache_type of cacheTypes) {
      const data = new Map([[0, Buffer.from(alphabet)]]);
      await ranges(cache_type, reads, { cache_options: { data } });
    }
  });

  it("reads less at the end, and nothing beyond it", async () => {
    const file = await (await opened()).open("file");
    assert.deepEqual([file.size, file.cache_type, file.block_size], [26, "readahead", 1024 * 1024]);
    assert.equal(text(await file.read(24, 10)), "yz");
    assert.equal(text(await file.read(26, 1)), "");
    assert.equal(text(await file.read(100, Number.POSITIVE_INFINITY)), "");
    assert.equal(text(await file.read(20, Number.POSITIVE_INFINITY)), "uvwxyz");
  });

  it("of no bytes reads none, through every cache", async () => {
    const storage = await opened("");
    for (const cache_type of cacheTypes) {
      const file = await storage.open("file", { cache_type });
      assert.equal((await file.read(0, 10)).length, 0);
      await file.close();
    }
  });

  it("supports concurrent reads", async () => {
    for (const cache_type of ["none", "readahead", "bytes", "blockcache", "background", "mmap"] as const) {
      const file = await (await opened()).open("file", { cache_type, block_size: 4 });
      const offsets = [0, 20, 4, 9, 1, 17];
      const read = await Promise.all(offsets.map((offset) => file.read(offset, 5)));
      assert.deepEqual(
        read.map(text),
        offsets.map((offset) => alphabet.slice(offset, offset + 5)),
      );
    }
  });

  it("is not affected when a caller changes the bytes that it got", async () => {
    for (const cache_type of cacheTypes.filter((name) => name !== "none" && name !== "parts")) {
      const file = await (await opened()).open("file", { cache_type });
      (await file.read(0, 26)).fill(0);
      assert.equal(text(await file.read(0, 26)), alphabet, cache_type);
    }
  });

  it("reads only the object that was opened: if it was replaced, a read is an error", async () => {
    const storage = await opened();
    const file = await storage.open("file", { cache_type: "none" });
    await storage.write("file", alphabet.toUpperCase());
    await rejectsWith("precondition", file.read(0, 2));
  });

  it("requests again after a failure", async () => {
    const storage = await opened();
    for (const cache_type of ["readahead", "bytes", "first", "blockcache", "background", "mmap"] as const) {
      const file = await storage.open("file", { cache_type });
      await storage.write("file", "other");
      await rejectsWith("precondition", file.read(0, 2));
      await storage.write("file", alphabet);
      assert.equal(text(await file.read(0, 2)), "ab", cache_type);
    }
  });

  it("is closed with its storage, if it holds a resource", async () => {
    const storage = await opened();
    const file = await storage.open("file", { cache_type: "mmap" });
    await file.read(0, 2);
    await storage.close();
    await rejectsWith("invalid", file.read(0, 2));
  });

  it("refuses invalid arguments, and everything once it is closed", async () => {
    const storage = await opened();
    await rejectsWith("not_found", storage.open("absent"));
    await rejectsWith("invalid", storage.open("file", { block_size: 0 }));
    await assert.rejects(storage.open("file", { cache_type: "readahed" as CacheType }), /did you mean readahead\?/);
    const file = await storage.open("file", { cache_type: null });
    assert.equal(file.cache_type, "none");
    await rejectsWith("invalid", file.read(-1, 2));
    await rejectsWith("invalid", file.read(0, -2));
    const signal = AbortSignal.abort(new Error("enough"));
    await assert.rejects(file.read(0, 2, { signal }), /enough/);
    await file.close();
    await rejectsWith("invalid", file.read(0, 2));
  });
});
