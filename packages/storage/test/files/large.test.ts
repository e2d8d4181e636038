/**
 * Large data in little memory: a million keys, and objects that do not fit into memory. In the long form
 * (MILLRACE_LONG_TESTS=1) the object has 20 GB, which takes up to 60 GB of temporary disk space.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, open, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { type ClientConfig, openStorage, type Storage } from "@millrace/storage";
import { keysInFolder, startPreparedStore } from "@millrace/testing/objects/prepared-store.ts";
import { startAzurite } from "@millrace/testing/servers/azurite.ts";
import { whyNoNginx } from "@millrace/testing/servers/nginx.ts";
import { type S3Server, startVersitygw, whyNoVersitygw } from "@millrace/testing/servers/versitygw.ts";

const run = promisify(execFile);
const isLong = process.env["MILLRACE_LONG_TESTS"] === "1";
const gigabyte = 1_000_000_000;
const megabyte = 1_000_000;

/** Runs a program in a separate process; returns its JSON output and its peak memory in bytes. */
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
   * nginx with prepared pages replaces a real server, which could not list as many keys in the time of a test. The
   * limit of 200 MB is tested on the packed library, because from source Node's type stripping takes a share.
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

  it("does not keep a page in memory because of one kept entry", async () => {
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
      // The program itself takes forty; the text of the pages is a hundred.
      assert.ok(live <= 60 * megabyte, `${Math.round(live / megabyte)} MB`);
    } finally {
      await store.stop();
    }
  });
});

/** Offsets beyond 32 bits, and both ends. */
const mark = Buffer.from("here is something");
const placesIn = (size: number) =>
  [0, Math.floor(size / 3), 2 ** 31 + 5, 2 ** 32 + 7, 2 ** 34 + 9, size - mark.length].filter((at) => at + 17 <= size);

async function makeSparse(file: string, size: number): Promise<void> {
  await writeFile(file, "");
  await truncate(file, size);
  const handle = await open(file, "r+");
  for (const place of placesIn(size)) await handle.write(mark, 0, mark.length, place);
  await handle.close();
}

async function hasMarks(storage: Storage, path: string, size: number): Promise<void> {
  assert.equal((await storage.stat(path)).size, size);
  for (const start of placesIn(size)) {
    const around = Buffer.from(
      await storage.read(path, { start: Math.max(0, start - 1), end: start + mark.length + 1 }),
    );
    assert.ok(around.includes(mark), `at ${start}`);
    assert.equal(around.length, mark.length + (start === 0 ? 1 : 2) - (start + mark.length === size ? 1 : 0));
  }
}

/** Runs a program in a separate process with bounded memory; returns its output. */
async function inLittleMemory<T>(program: string): Promise<T> {
  const { memory, ...result } = await inProcess<T>(program);
  assert.ok(memory <= 300 * megabyte, `${Math.round(memory / megabyte)} MB`);
  return result as T;
}

const opened = (uri: string, config: object = {}) => `openStorage(${JSON.stringify(uri)}, ${JSON.stringify(config)})`;

const countStream = (source: string, path: string) => `
  const source = ${source};
  let bytes = 0;
  for await (const piece of source.readStream(${JSON.stringify(path)})) bytes += piece.length;
  await source.close();
  return { bytes };`;

describe("an object that is larger than memory", { skip: await whyNoVersitygw(), timeout: 3_600_000 }, () => {
  const size = isLong ? 20 * gigabyte : 600 * megabyte;
  const partSize = 5 * 1024 * 1024;
  let server: S3Server;
  let folder: string;
  let storage: Storage;
  let config: ClientConfig;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-large-"));
    await makeSparse(join(folder, "big"), size);
    server = await startVersitygw({ sidecar: true });
    await server.makeBucket("large-bucket");
    // The server joins the parts of an upload when it completes, and sends nothing meanwhile.
    config = { ...server.config, config_kwargs: { read_timeout: 900 } };
    storage = openStorage("s3://large-bucket", config);
  });
  after(async () => {
    await storage?.close();
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const block = 8 * 1024 * 1024;
  const wide = () => ({ ...config, default_block_size: block, max_concurrency: 4 });

  it("is read from a file, by ranges and as a stream", async () => {
    await hasMarks(openStorage(folder), "big", size);
    const { bytes } = await inLittleMemory<{ bytes: number }>(countStream(opened(folder), "big"));
    assert.equal(bytes, size);
  });

  it("is read from a store, by ranges and as a stream, with one request and with many", async () => {
    // Written directly into the store's folder, so that no upload is needed.
    await makeSparse(join(server.data, "large-bucket", "sparse"), size);
    await hasMarks(storage, "sparse", size);
    for (const given of [config, wide()]) {
      const source = opened("s3://large-bucket", given);
      const { bytes } = await inLittleMemory<{ bytes: number }>(countStream(source, "sparse"));
      assert.equal(bytes, size);
    }
    await storage.remove("sparse");
  });

  it("is uploaded from a file, in no more parts than the store accepts", async () => {
    const { entry } = await inLittleMemory<{ entry: { size: number; etag: string } }>(`
      const target = ${opened("s3://large-bucket", wide())};
      const entry = await target.upload(${JSON.stringify(join(folder, "big"))}, "uploaded");
      await target.close();
      return { entry };`);
    assert.equal(entry.size, size);
    assert.equal((await storage.stat("uploaded")).etag, entry.etag);
    assert.equal(Number(entry.etag.split("-")[1]), Math.ceil(size / block));
    await hasMarks(storage, "uploaded", size);
    await storage.remove("uploaded");
  });

  it("is written to a file from a stream", async () => {
    const { written } = await inLittleMemory<{ written: number }>(`
      const files = ${opened(folder)};
      const { size } = await files.write("copied", files.readStream("big"));
      return { written: size };`);
    assert.equal(written, size);
    await hasMarks(openStorage(folder), "copied", size);
    await rm(join(folder, "copied"));
  });

  it("is written to a store from a stream of unknown length", async () => {
    const { entry } = await inLittleMemory<{ entry: { size: number; etag: string } }>(`
      const source = ${opened(folder)};
      const target = ${opened("s3://large-bucket", { ...config, max_concurrency: 3 })};
      const entry = await target.write("streamed", source.readStream("big"));
      await target.close();
      return { entry };`);
    assert.equal(entry.size, size);
    assert.equal(Number(entry.etag.split("-")[1]), Math.ceil(size / partSize));
    await hasMarks(storage, "streamed", size);
  });

  it("is downloaded into a file, with parallel ranges", async () => {
    const { read } = await inLittleMemory<{ read: number }>(`
      const source = ${opened("s3://large-bucket", wide())};
      const read = await source.download("streamed", ${JSON.stringify(join(folder, "back"))});
      await source.close();
      return { read };`);
    assert.equal(read, size);
    await hasMarks(openStorage(folder), "back", size);
  });
});

/**
 * azurite is slow, so this tests only sizes beyond 32 bits. fake-gcs-server copies everything for each piece that it
 * gets and would take most of an hour, so gs:// is not tested.
 */
function beyond32Bits(): void {
  it("is written from a stream, and read by ranges and as a stream", async () => {
    const size = 2_200 * megabyte;
    const folder = await mkdtemp(join(tmpdir(), "millrace-large-"));
    const server = await startAzurite();
    const config = { connection_string: server.connection_string, max_concurrency: 4 };
    const storage = openStorage("az://container", config);
    try {
      await makeSparse(join(folder, "big"), size);
      await storage.createBucket();
      const { written } = await inLittleMemory<{ written: number }>(`
        const target = ${opened("az://container", config)};
        const { size } = await target.write("streamed", ${opened(folder)}.readStream("big"));
        await target.close();
        return { written: size };`);
      assert.equal(written, size);
      await hasMarks(storage, "streamed", size);
      const source = opened("az://container", config);
      const { bytes } = await inLittleMemory<{ bytes: number }>(countStream(source, "streamed"));
      assert.equal(bytes, size);
    } finally {
      await storage.close();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });
}

if (isLong) {
  describe("an object of az:// with more bytes than a signed 32-bit number", { timeout: 1_200_000 }, beyond32Bits);
}
