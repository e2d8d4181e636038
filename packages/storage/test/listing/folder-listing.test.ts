/** Listings that cannot start at a key, on a store that is only an array. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { listByFolders } from "../../src/listing/folder-listing.ts";
import type { FetchPage } from "../../src/listing/pages.ts";
import { shapes, storeOf } from "../support/listed-store.ts";

const listed = async (fetch: FetchPage, prefix: string, call = {}) =>
  (await Array.fromAsync(listByFolders(fetch, prefix, call))).flat().map(({ path }) => path);

/** Answers with a delay, and not in the order of the requests. */
const shuffled =
  (fetch: FetchPage, seed: number): FetchPage =>
  async (call) => {
    const page = await fetch(call);
    for (let turn = (seed * 7919 + page.entries.length * 31) % 11; turn > 0; turn -= 1) await new Promise(setImmediate);
    return page;
  };

describe("a parallel listing by folders", () => {
  for (const [name, keys] of Object.entries(shapes)) {
    it(`has every key of ${name} once`, async () => {
      for (let seed = 0; seed < 5; seed += 1) {
        const { fetch } = storeOf([...keys, "before", "later"], 20 + seed);
        const paths = await listed(shuffled(fetch, seed), "data/", { concurrency: 8 });
        assert.deepEqual(paths.sort(), keys.toSorted());
      }
    });
  }

  it("has every key once if a page ends at a file when the rest is split", async () => {
    const keys = shapes["files between folders"] as string[];
    const { fetch } = storeOf(keys, 20);
    // The third page comes late: the second ended between two folders.
    const late: FetchPage = async (call) => {
      const page = await fetch(call);
      if (call.token && !call.delimiter) for (let turn = 0; turn < 40; turn += 1) await new Promise(setImmediate);
      return page;
    };
    assert.deepEqual((await listed(late, "data/", { concurrency: 8 })).sort(), keys.toSorted());
  });

  it("has every key of a prefix that ends inside a name once", async () => {
    const keys = shapes["many small folders"] as string[];
    const { fetch } = storeOf(keys, 20);
    const paths = await listed(fetch, "data/1", { concurrency: 8 });
    assert.deepEqual(paths.sort(), keys.filter((key) => key.startsWith("data/1")).sort());
  });

  it("never starts at a key, and divides the work by folders", async () => {
    const { fetch, calls } = storeOf(shapes["deep folders"] as string[], 20);
    await listed(fetch, "data/", { concurrency: 8 });
    assert.ok(calls.every(({ startAfter }) => startAfter === undefined));
    const beginnings = new Set(
      calls.filter(({ token, delimiter }) => !token && !delimiter).map(({ prefix }) => prefix),
    );
    assert.ok(beginnings.size >= 8, `${beginnings.size} folders`);
  });

  it("costs one request if one page is enough", async () => {
    const { fetch, calls } = storeOf(["data/a", "data/b/c"], 20);
    await listed(fetch, "data/");
    assert.equal(calls.length, 1);
  });

  it("fails with the first failure of any request", async () => {
    const { fetch, calls } = storeOf(shapes["many small folders"] as string[], 20);
    const failing: FetchPage = async (call) => {
      if (calls.length > 30) throw new Error("the store broke");
      return fetch(call);
    };
    await assert.rejects(listed(failing, "data/", { concurrency: 8 }), /the store broke/);
  });

  it("sends no more requests when the caller stops", async () => {
    const { fetch, calls } = storeOf(shapes["many small folders"] as string[], 20);
    for await (const _ of listByFolders(fetch, "data/", { concurrency: 4 })) if (calls.length > 10) break;
    const then = calls.length;
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    assert.ok(calls.length <= then + 8, `${calls.length - then} more`);
  });
});
