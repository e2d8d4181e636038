/**
 * Large things in little memory: a million keys, and objects that fit into no memory. In the long form
 * (MILLRACE_LONG_TESTS=1) the object has 20 GB; it is sparse, so it takes time but hardly any disk to read.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, open, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { openStorage, type Storage } from "@millrace/storage";
import { whyNoNginx } from "./support/nginx.ts";
import { keysInFolder, startPreparedStore } from "./support/prepared-store.ts";
import { type S3Server, startVersitygw, whyNoVersitygw } from "./support/versitygw.ts";

const run = promisify(execFile);
const isLong = process.env["MILLRACE_LONG_TESTS"] === "1";
const gigabyte = 1_000_000_000;
const megabyte = 1_000_000;

/** What a program prints as JSON, with the most memory it had, in bytes: a process of its own, so that it is its own. */
async function inProcess<T>(program: string): Promise<T & { memory: number }> {
  const script = `
    import { openStorage } from "@millrace/storage";
    const result = await (async () => {${program}})();
    const memory = process.resourceUsage().maxRSS * 1024;
    console.log(JSON.stringify({ ...result, memory }));`;
  const quiet = "--disable-warning=ExperimentalWarning";
  const words = ["--conditions=millrace-source", quiet, "--expose-gc", "--input-type=module"];
  const { stdout } = await run(process.execPath, [...words, "--eval", script], { cwd: import.meta.dirname });
  return JSON.parse(stdout);
}

describe("a listing of a million keys", { skip: await whyNoNginx(), timeout: 200_000 }, () => {
  /**
   * nginx with prepared pages stands in: no real server here could list as many in the time of a test. That it takes no
   * more than 200 MB is tested on the packed library: from source, Node's own reader of types takes a share.
   */
  it("in order has each key, in bounded memory", async () => {
    const folders = 1000;
    const store = await startPreparedStore({ folders });
    try {
      const { count, sum, memory } = await inProcess<{ count: number; sum: number }>(`
        const storage = openStorage("s3://bucket", ${JSON.stringify(store.config)});
        let count = 0;
        let sum = 0;
        for await (const { path } of storage.list({ recursive: true, ordered: true })) {
          count += 1;
          sum += Number(path.slice(5, 9)) * 10000 + Number(path.slice(10, 14));
        }
        await storage.close();
        return { count, sum };`);
      const ofFolder = (folder: number) => keysInFolder * folder * 10_000 + 1000 * 1000 + (999 * 1000) / 2;
      assert.equal(count, folders * keysInFolder);
      assert.equal(
        sum,
        Array.from({ length: folders }, (_, folder) => ofFolder(folder)).reduce((a, b) => a + b),
      );
      assert.ok(memory <= 300 * megabyte, `${Math.round(memory / megabyte)} MB`);
    } finally {
      await store.stop();
    }
  });

  it("leaves no page alive for the sake of one kept entry", async () => {
    const store = await startPreparedStore({ folders: 300 });
    try {
      const { kept, live } = await inProcess<{ kept: number; live: number }>(`
        const storage = openStorage("s3://bucket", ${JSON.stringify(store.config)});
        const kept = [];
        for await (const entry of storage.list({ recursive: true, ordered: true })) if (entry.path.endsWith("1500.json")) kept.push(entry);
        await storage.close();
        gc();
        const { heapUsed, external } = process.memoryUsage();
        return { kept: kept.length, live: heapUsed + external };`);
      assert.equal(kept, 300);
      assert.ok(live <= 40 * megabyte, `${Math.round(live / megabyte)} MB`);
    } finally {
      await store.stop();
    }
  });
});

describe("an object that is larger than memory should be", { skip: await whyNoVersitygw(), timeout: 3_600_000 }, () => {
  const size = isLong ? 20 * gigabyte : 600 * megabyte;
  const most = 300 * megabyte;
  const mark = Buffer.from("here is something");
  const places = [0, Math.floor(size / 3), size - mark.length];
  let server: S3Server;
  let folder: string;
  let storage: Storage;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-large-"));
    const file = join(folder, "big");
    await writeFile(file, "");
    await truncate(file, size);
    const handle = await open(file, "r+");
    for (const place of places) await handle.write(mark, 0, mark.length, place);
    await handle.close();
    server = await startVersitygw();
    await server.makeBucket("large-bucket");
    storage = openStorage("s3://large-bucket", server.config);
  });
  after(async () => {
    await storage?.close();
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const marksOf = (read: Storage, path: string) =>
    Promise.all(places.map(async (start) => Buffer.from(await read.read(path, { start, end: start + mark.length }))));

  it("is uploaded from a stream, and read by ranges", async () => {
    const config = JSON.stringify({ ...server.config, default_block_size: 16 * 1024 * 1024, max_concurrency: 3 });
    const { written, memory } = await inProcess<{ written: number }>(`
      const source = openStorage(${JSON.stringify(folder)});
      const target = openStorage("s3://large-bucket", ${config});
      const { size } = await target.write("streamed", source.readStream("big"));
      await target.close();
      return { written: size };`);
    assert.equal(written, size);
    assert.ok(memory <= most, `${Math.round(memory / megabyte)} MB`);
    assert.equal((await storage.stat("streamed")).size, size);
    assert.deepEqual(
      await marksOf(storage, "streamed"),
      places.map(() => mark),
    );
  });

  it("is downloaded into a file, ranges side by side", async () => {
    const config = JSON.stringify({ ...server.config, default_block_size: 16 * 1024 * 1024, max_concurrency: 4 });
    const file = join(folder, "back");
    const { read, memory } = await inProcess<{ read: number }>(`
      const source = openStorage("s3://large-bucket", ${config});
      const read = await source.download("streamed", ${JSON.stringify(file)});
      await source.close();
      return { read };`);
    assert.equal(read, size);
    assert.ok(memory <= most, `${Math.round(memory / megabyte)} MB`);
    assert.deepEqual(
      await marksOf(openStorage(folder), "back"),
      places.map(() => mark),
    );
  });
});
