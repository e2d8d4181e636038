/** Copies between storages: within one store the store makes them, seen by our own server. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { appendFile, type FileHandle, mkdir, mkdtemp, open, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { type ClientConfig, openStorage, registerScheme, type Storage, syncTrees } from "@millrace/storage";
import { memoryScheme } from "../../src/schemes/memory/scheme.ts";
import { type Answer, type RecordingServer, startRecordingServer } from "../support/recording-server.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A store that has one object, `from/a`, and accepts every write. */
const answer: Answer = ({ method, query, headers }, response) => {
  if (query.has("list-type")) {
    const name = query.get("prefix")?.startsWith("from/") ? "from/a" : "";
    const contents = name ? `<Contents><Key>${name}</Key><Size>2</Size><ETag>"e"</ETag></Contents>` : "";
    response.end(`<ListBucketResult>${contents}</ListBucketResult>`);
  } else if (headers["x-amz-copy-source"]) response.end('<CopyObjectResult><ETag>"e"</ETag></CopyObjectResult>');
  else
    response
      .writeHead(200, { etag: '"e"', "content-length": method === "PUT" ? 0 : 2 })
      .end(method === "GET" ? "ok" : "");
};

async function serve(): Promise<RecordingServer> {
  const server = await startRecordingServer(answer);
  cleanups.push(() => server.stop());
  return server;
}

const keys = { key: "k", secret: "s" };

function opened(uri: string, config: ClientConfig): Storage {
  const storage = openStorage(uri, config, { environment: {} });
  cleanups.push(() => storage.close());
  return storage;
}

/** The requests except listings: methods, and copy sources. */
const asked = ({ requests }: RecordingServer) =>
  requests
    .filter(({ query }) => !query.has("list-type"))
    .map(({ method, path, headers }) => [method, path, headers["x-amz-copy-source"]].filter(Boolean).join(" "));

describe("a copy between two storages", () => {
  it("is made by the store if both are in one bucket, with the same parameters", async () => {
    const server = await serve();
    const config = { ...keys, endpoint_url: server.url };
    const moved: number[] = [];
    const options = { size: 2, onBytes: (bytes: number) => moved.push(bytes) };
    await opened("s3://bucket/to", config).copyFrom(opened("s3://bucket/from", config), "a", "b", options);
    assert.deepEqual(asked(server), ["HEAD /bucket/from/a", "PUT /bucket/to/b /bucket/from/a"]);
    assert.deepEqual(moved, [2]);
  });

  it("is also made by the store between its buckets, of the object that was examined", async () => {
    const server = await serve();
    const config = { ...keys, endpoint_url: server.url };
    await opened("s3://other/to", config).copyFrom(opened("s3://bucket/from", config), "a", "b");
    assert.deepEqual(asked(server), ["HEAD /bucket/from/a", "PUT /other/to/b /bucket/from/a"]);
    assert.equal(server.requests.at(-1)?.headers["x-amz-copy-source-if-match"], '"e"');
  });

  it("passes through here if a parameter differs", async () => {
    const server = await serve();
    const config = { ...keys, endpoint_url: server.url };
    const source = opened("s3://bucket/from", config);
    await opened("s3://bucket/to", { ...config, key: "another" }).copyFrom(source, "a", "b");
    assert.deepEqual(asked(server), ["GET /bucket/from/a", "PUT /bucket/to/b"]);
  });

  it("passes through here if only the account in the URI differs", async () => {
    const seen: string[] = [];
    const sendRequest = async ({ url, method }: { url: string; method: string }) => {
      seen.push(`${method} ${new URL(url).host}`);
      const headers = new Map([
        ["etag", '"e"'],
        ["content-length", "2"],
      ]);
      return { status: method === "PUT" ? 201 : 200, headers, bodyAsText: method === "PUT" ? "" : "ok" };
    };
    const config = { anon: true, assume_container_exists: true, request_session: { sendRequest } };
    const source = opened("abfs://files@one.dfs.core.windows.net", config);
    await opened("abfs://files@two.dfs.core.windows.net", config).copyFrom(source, "a", "b");
    assert.deepEqual(seen, ["GET one.blob.core.windows.net", "PUT two.blob.core.windows.net"]);
  });

  it("passes through here if an ETag is given, and only a matching object does", async () => {
    const server = await serve();
    const config = { ...keys, endpoint_url: server.url };
    const [source, target] = [opened("s3://bucket/from", config), opened("s3://bucket/to", config)];
    await target.copyFrom(source, "a", "b", { ifMatch: "e" });
    assert.deepEqual(asked(server), ["GET /bucket/from/a", "PUT /bucket/to/b"]);
    assert.equal(server.requests[0]?.headers["if-match"], '"e"');
    assert.equal(server.requests[1]?.headers["if-match"], undefined, "it is no condition of the write");
  });

  it("onto itself changes nothing, and reports that the target exists", async () => {
    const server = await serve();
    const config = { ...keys, endpoint_url: server.url };
    await opened("s3://bucket", config).copyFrom(opened("s3://bucket/from", config), "a", "from/a");
    assert.deepEqual(asked(server), ["HEAD /bucket/from/a"]);
  });

  it("is made by the store when trees of one bucket are synchronised", async () => {
    const server = await serve();
    const config = { ...keys, endpoint_url: server.url };
    await syncTrees(opened("s3://bucket/from", config), opened("s3://bucket/to", config));
    assert.deepEqual(asked(server), ["HEAD /bucket/from/a", "PUT /bucket/to/a /bucket/from/a"]);
  });
});

describe("a copy between a storage and local files", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-storage-copy-"));
    cleanups.push(() => rm(folder, { recursive: true }));
  });

  const memory = () => opened(`memory://${randomUUID()}`, {});
  const local = () => opened(folder, {});

  it("creates no folder for a missing source", async () => {
    await assert.rejects(local().copyFrom(memory(), "none", "new/none"), { code: "not_found", scheme: "memory" });
    assert.deepEqual(await readdir(folder), []);
  });

  it("is refused before anything is written if the size differs", async () => {
    const source = memory();
    await source.write("a", "12345");
    let moved = 0;
    const onBytes = (bytes: number) => (moved += bytes);
    await assert.rejects(local().copyFrom(source, "a", "new/a", { size: 4, onBytes }), { code: "invalid" });
    assert.deepEqual([moved, await readdir(folder)], [0, []]);
  });

  it("of unknown length is stopped at the declared size", async () => {
    let sent = 0;
    const server = await startRecordingServer((_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) sent += 65_536;
      };
      response.writeHead(200).on("drain", more);
      more();
    });
    cleanups.push(() => server.stop());
    await assert.rejects(local().copyFrom(opened(server.url, {}), "a", "a", { size: 10 }), { code: "invalid" });
    assert.deepEqual(await readdir(folder), []);
    assert.ok(sent < 100_000_000, `${sent} bytes came`);
  });

  it("reports the error of the side that failed, and the reason of a signal unchanged", async () => {
    const source = memory();
    await source.write("a", Buffer.alloc(2_000_000));
    const reason = Object.assign(new Error("enough"), { code: "ENOENT" });
    const stop = new AbortController();
    const onBytes = () => stop.abort(reason);
    const stopped = local().copyFrom(source, "a", "a", { signal: stop.signal, onBytes });
    await assert.rejects(stopped, (error) => error === reason);
    await mkdir(join(folder, "in the way"));
    await assert.rejects(local().copyFrom(source, "a", "in the way"), {
      scheme: "file",
      key: join(folder, "in the way"),
    });
    await assert.rejects(source.copyFrom(local(), "in the way", "b"), {
      code: "not_found",
      message: /is a folder, not a file$/,
    });
    assert.deepEqual(await readdir(folder), ["in the way"]);
  });

  it("reads exactly the length that the file had when it was opened", async () => {
    const file = join(folder, "file");
    const before = Buffer.alloc(100, "a");
    await writeFile(file, before);
    const target = memory();
    const handle = await open(file);
    const { read: original } = Object.getPrototypeOf(handle);
    const read = mock.method(
      Object.getPrototypeOf(handle),
      "read",
      async function (this: FileHandle, ...words: never[]) {
        await appendFile(file, "more");
        return original.apply(this, words);
      },
    );
    await handle.close();
    await target.copyFrom(local(), "file", "a").finally(() => read.mock.restore());
    assert.ok(before.equals(await target.read("a")));
  });

  it("rejects if both sides fail, without an unhandled rejection", async () => {
    const closed = local();
    await closed.close();
    registerScheme({ ...memoryScheme, names: ["unloadable"], load: () => Promise.reject(new Error("not loaded")) });
    await assert.rejects(opened("unloadable://", {}).copyFrom(closed, "a", "b"), /is closed/);
  });
});
