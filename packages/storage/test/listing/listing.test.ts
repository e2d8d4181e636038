/** Paged listings, on a store that is only an array: every split is tested without a server. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compareKeys } from "../../src/listing/key-order.ts";
import { listPages } from "../../src/listing/listing.ts";
import type { FetchPage } from "../../src/listing/pages.ts";
import { shapes, storeOf } from "../support/listed-store.ts";

const listed = async (fetch: FetchPage, prefix: string, call = {}) =>
  (await Array.fromAsync(listPages(fetch, prefix, call))).flat().map(({ path }) => path);

describe("a parallel listing", () => {
  for (const [name, keys] of Object.entries(shapes)) {
    it(`has every key of ${name} once`, async () => {
      const { fetch } = storeOf([...keys, "before", "later"], 20);
      const paths = await listed(fetch, "data/", { concurrency: 8 });
      assert.equal(paths.length, keys.length);
      assert.deepEqual(paths.sort(), keys.toSorted());
    });
  }

  for (const name of ["one flat folder of numbers", "one flat folder of digests", "many small folders"]) {
    it(`splits ${name}, so that no chain of pages is long`, async () => {
      const { fetch, calls } = storeOf(shapes[name] as string[], 20);
      await listed(fetch, "data/", { concurrency: 8 });
      const pages = calls.filter((call) => call.token !== undefined).length;
      const ranges = calls.filter((call) => call.startAfter !== undefined && !call.limit && !call.delimiter).length;
      assert.ok(ranges >= 7, `${ranges} ranges`);
      assert.ok(pages <= 3000 / 20 + ranges, `${pages} pages`);
    });
  }

  it("continues after empty pages, such as those of delete markers", async () => {
    const { fetch } = storeOf(shapes["one flat folder of numbers"] as string[], 20);
    const hollow: FetchPage = async (call) => {
      const page = await fetch(call);
      const path = page.entries.at(-1)?.path ?? "";
      return { ...page, reached: path, entries: page.entries.filter((entry) => entry.path.includes("2")) };
    };
    const left = (shapes["one flat folder of numbers"] as string[]).filter((key) => key.includes("2"));
    assert.deepEqual((await listed(hollow, "data/", { concurrency: 4 })).sort(), left.sort());
  });

  it("continues after an empty first page without a last key", async () => {
    const { fetch } = storeOf(shapes["many small folders"] as string[], 20);
    const late: FetchPage = async (call) =>
      call.token === undefined && call.startAfter === undefined && !call.delimiter
        ? { entries: [], next: "data/" }
        : fetch(call);
    assert.equal((await listed(late, "data/", { concurrency: 4 })).length, 3000);
  });

  it("ends at a signal that is aborted while its first page is processed", async () => {
    const { fetch } = storeOf(shapes["one flat folder of digests"] as string[], 20);
    const stop = new AbortController();
    const heeding: FetchPage = async (call) => {
      call.signal?.throwIfAborted();
      return fetch(call);
    };
    const list = async () => {
      for await (const _ of listPages(heeding, "data/", { concurrency: 8, signal: stop.signal }))
        stop.abort(new Error("enough"));
    };
    await assert.rejects(list(), /enough/);
  });

  it("is not affected when the caller changes the entries", async () => {
    const keys = shapes["one flat folder of digests"] as string[];
    const { fetch, calls } = storeOf(keys, 20);
    const paths: string[] = [];
    for await (const page of listPages(fetch, "data/", { concurrency: 8 })) {
      for (const entry of page) {
        paths.push(entry.path);
        entry.path = "";
      }
    }
    assert.deepEqual(paths.sort(), keys.toSorted());
    assert.ok(calls.every(({ startAfter }) => startAfter === undefined || startAfter.startsWith("data/")));
  });

  it("has every key for a slow caller", async () => {
    const keys = shapes["many small folders"] as string[];
    const { fetch } = storeOf(keys, 20);
    const paths: string[] = [];
    for await (const page of listPages(fetch, "data/", { concurrency: 8 })) {
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
      paths.push(...page.map(({ path }) => path));
    }
    assert.deepEqual(paths.sort(), keys.toSorted());
  });

  it("has as many parallel requests as allowed if the store is slow", async () => {
    const { fetch } = storeOf(shapes["many small folders"] as string[], 20);
    let running = 0;
    let most = 0;
    const slow: FetchPage = async (call) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 10));
      running -= 1;
      return fetch(call);
    };
    await listed(slow, "data/", { concurrency: 8 });
    assert.equal(most, 8);
  });

  it("costs one request if one page is enough", async () => {
    const { fetch, calls } = storeOf(["data/a", "data/b"], 20);
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
    const { fetch, calls } = storeOf(shapes["one flat folder of numbers"] as string[], 20);
    for await (const _ of listPages(fetch, "data/", { concurrency: 4 })) if (calls.length > 10) break;
    const then = calls.length;
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    assert.ok(calls.length <= then + 8, `${calls.length - then} more`);
  });

  it("pauses when the caller is slow", async () => {
    const { fetch, calls } = storeOf(shapes["one flat folder of numbers"] as string[], 20);
    const pages = listPages(fetch, "data/", { concurrency: 4 })[Symbol.asyncIterator]();
    await pages.next();
    await pages.next();
    for (let turn = 0; turn < 300; turn += 1) await new Promise(setImmediate);
    assert.ok(calls.length < 60, `${calls.length} requests`);
    await pages.return?.();
  });
});

describe("an ordered listing", () => {
  it("is in byte order, which differs from that of JavaScript strings", async () => {
    const keys = ["data/\uffee", "data/🌊", "data/z", "data/é"];
    const { fetch } = storeOf(keys, 2);
    assert.deepEqual(await listed(fetch, "data/", { ordered: true }), ["data/z", "data/é", "data/\uffee", "data/🌊"]);
    assert.deepEqual(
      keys.toSorted(compareKeys),
      keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
    );
  });
});
