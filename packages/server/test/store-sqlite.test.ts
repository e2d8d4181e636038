import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { openStore, storeFile } from "../src/store/open-store.ts";
import { storeConformance } from "./store-conformance.ts";

it("writes that take long let others have a turn in between, and each keeps its result", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-store-"));
  const store = await openStore({ dataDir, databaseUrl: "" });
  let turns = 0;
  let done = false;
  const others = (async () => {
    for (; !done; turns++) await new Promise(setImmediate);
  })();
  const busy = (result: number) => async () => {
    // Longer than a turn of writes may take.
    for (const until = performance.now() + 25; performance.now() < until; );
    return result;
  };
  const results = await Promise.all([...Array(10).keys()].map((index) => store.write(busy(index))));
  done = true;
  await others;
  assert.deepEqual(results, [...Array(10).keys()]);
  assert.ok(turns >= 10, `${turns} turns of the event loop`);
  await store.close();
  await rm(dataDir, { recursive: true });
});

it("room that is reserved for a full disk is there again after compacting", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-store-"));
  const store = await openStore({ dataDir, databaseUrl: "" });
  const room = async () => (await stat(join(dataDir, `${storeFile}-wal`))).size;
  await store.reserve();
  const reserved = await room();
  await store.compact();
  assert.ok(reserved >= 16_000_000 && (await room()) >= 16_000_000, `${reserved} bytes before, ${await room()} after`);
  await store.close();
  await rm(dataDir, { recursive: true });
});

storeConformance("SQLite", async () => {
  const root = await mkdtemp(join(tmpdir(), "millrace-store-"));
  return {
    async open(name) {
      const dataDir = join(root, name);
      await mkdir(dataDir, { recursive: true });
      return openStore({ dataDir, databaseUrl: "" });
    },
    stop: () => rm(root, { recursive: true }),
  };
});
