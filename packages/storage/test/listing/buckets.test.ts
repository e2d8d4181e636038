/**
 * A URI without a bucket lists the buckets on all three clouds: with real servers, and with our own for several pages.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { type ClientConfig, openStorage, type Storage } from "@millrace/storage";
import { startAzurite } from "@millrace/testing/servers/azurite.ts";
import { startFakeGcsServer, whyNoFakeGcsServer } from "@millrace/testing/servers/fake-gcs-server.ts";
import type { ServerProcess } from "@millrace/testing/servers/server-process.ts";
import { startVersitygw, whyNoVersitygw } from "@millrace/testing/servers/versitygw.ts";
import { rejectsWith } from "../conformance.ts";
import { type Answer, startRecordingServer } from "../support/recording-server.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function opened(uri: string, config: ClientConfig): Storage {
  const storage = openStorage(uri, config, { environment: {} });
  cleanups.push(() => storage.close());
  return storage;
}

interface Kind {
  readonly uri: string;
  readonly skip: string | false;
  start(): Promise<{ server: ServerProcess; config: ClientConfig }>;
}

const kinds: Kind[] = [
  {
    uri: "s3://",
    skip: await whyNoVersitygw(),
    async start() {
      const server = await startVersitygw();
      return { server, config: server.config };
    },
  },
  {
    uri: "gs://",
    skip: await whyNoFakeGcsServer(),
    async start() {
      const server = await startFakeGcsServer();
      return { server, config: { endpoint_url: server.endpoint_url, project: "p" } };
    },
  },
  {
    uri: "az://",
    skip: false,
    async start() {
      const server = await startAzurite();
      return { server, config: { connection_string: server.connection_string } };
    },
  },
];

for (const { uri, skip, start } of kinds) {
  describe(`${uri} without a bucket, on a real server`, { skip, timeout: 120_000 }, () => {
    let server: ServerProcess;
    let config: ClientConfig;
    before(async () => {
      ({ server, config } = await start());
      for (const name of ["two-b", "one-a", "two-a"]) {
        const storage = openStorage(uri + name, config, { environment: {} });
        await storage.createBucket();
        await storage.write("folder/file", "1");
        await storage.close();
      }
    });
    after(() => server?.stop());

    const listed = async (options = {}) =>
      Array.fromAsync(opened(uri, config).list(options), ({ path, type }) => `${type} ${path}`);

    it("lists the buckets, as folders", async () => {
      assert.deepEqual(await listed(), ["directory one-a/", "directory two-a/", "directory two-b/"]);
      assert.deepEqual(await listed({ prefix: "two" }), ["directory two-a/", "directory two-b/"]);
      assert.deepEqual(await listed({ startAfter: "one-a/" }), ["directory two-a/", "directory two-b/"]);
    });

    it("is a folder itself, and nothing of it can be read, written or removed", async () => {
      const storage = opened(uri, config);
      assert.equal((await storage.stat("")).type, "directory");
      for (const call of [
        () => storage.read("one-a"),
        () => storage.read("one-a/folder/file"),
        () => storage.write("one-a", "1"),
        () => storage.remove("", { recursive: true }),
        () => storage.remove("one-a", { recursive: true }),
        () => storage.createBucket(),
        () => Array.fromAsync(storage.list({ recursive: true })),
        () => Array.fromAsync(storage.list({ prefix: "one-a/" })),
      ]) {
        await assert.rejects(async () => call(), {
          code: "invalid",
          message: new RegExp(`^${uri} names no bucket`),
        });
      }
      assert.equal((await listed()).length, 3, "all are still there");
    });
  });
}

describe("a listing of buckets", () => {
  const config: Record<string, (url: string) => ClientConfig> = {
    s3: (endpoint_url) => ({ endpoint_url, key: "k", secret: "s" }),
    gs: (endpoint_url) => ({ endpoint_url, project: "p", token: "t" }),
    az: (url) => ({ connection_string: `AccountName=a;AccountKey=a2V5;BlobEndpoint=${url}/a` }),
  };
  const pages: Record<string, readonly [name: string, page: (name: string, next: string) => string]> = {
    s3: [
      "continuation-token",
      (name, next) =>
        `<ListAllMyBucketsResult><Buckets><Bucket><Name>${name}</Name></Bucket></Buckets><ContinuationToken>${next}</ContinuationToken></ListAllMyBucketsResult>`,
    ],
    gs: ["pageToken", (name, next) => JSON.stringify({ items: [{ name }], ...(next && { nextPageToken: next }) })],
    az: [
      "marker",
      (name, next) =>
        `<EnumerationResults><Containers><Container><Name>${name}</Name></Container></Containers><NextMarker>${next}</NextMarker></EnumerationResults>`,
    ],
  };
  for (const [scheme, [token, page]] of Object.entries(pages)) {
    it(`of ${scheme}:// continues to the last page`, async () => {
      const answer: Answer = ({ query }, response) => {
        const number = Number(query.get(token) ?? "1");
        response.end(page(`bucket-${number}`, number < 3 ? String(number + 1) : ""));
      };
      const server = await startRecordingServer(answer);
      cleanups.push(() => server.stop());
      const storage = opened(`${scheme}://`, config[scheme]?.(server.url) ?? {});
      const paths = await Array.fromAsync(storage.list(), ({ path }) => path);
      assert.deepEqual(paths, ["bucket-1/", "bucket-2/", "bucket-3/"]);
      assert.equal(server.requests.length, 3);
    });
  }

  it("of gs:// needs a project, and says so; anon has none", async () => {
    assert.throws(() => opened("gs://", { token: "t" }), { code: "config", message: /^project is missing/ });
    assert.throws(() => opened("gs://", { token: "anon", project: "p" }), { code: "config", message: /^token: / });
  });

  it("of s3:// is asked of the store itself, whatever addressing_style says", async () => {
    const server = await startRecordingServer((_request, response) => response.end("<ListAllMyBucketsResult />"));
    cleanups.push(() => server.stop());
    const given = { endpoint_url: server.url, key: "k", secret: "s" };
    await Array.fromAsync(opened("s3://", { ...given, config_kwargs: { s3: { addressing_style: "virtual" } } }).list());
    assert.deepEqual([server.requests[0]?.path, server.requests[0]?.headers.host], ["/", new URL(server.url).host]);
  });

  it("that the store refuses fails with that error", async () => {
    const server = await startRecordingServer((_request, response) => response.writeHead(403).end());
    cleanups.push(() => server.stop());
    await rejectsWith("permission", Array.fromAsync(opened("gs://", config["gs"]?.(server.url) ?? {}).list()));
  });
});

describe("a URI with a path and no bucket", () => {
  for (const uri of ["s3:///key", "gs:///key", "az:///key"]) {
    it(`is refused: ${uri}`, () => {
      assert.throws(() => opened(uri, {}), { code: "config", message: /the bucket is missing/ });
    });
  }
});
