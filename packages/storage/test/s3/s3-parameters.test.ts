/** Every parameter of `s3://` has an observable effect: on the wire, at our own server, or in the result. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { S3Client } from "@aws-sdk/client-s3";
import { type ClientConfig, openStorage, type Storage } from "@millrace/storage";
import { type Environment, parameterKeys } from "../../src/configuration/parameters.ts";
import { parameters } from "../../src/schemes/s3/parameters.ts";
import { rejectsWith } from "../conformance.ts";
import { type Answer, type RecordingServer, startRecordingServer } from "../support/recording-server.ts";
import { redirectNetwork } from "../support/redirected-network.ts";
import { documentOf } from "../support/s3-documents.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const keys = { key: "k", secret: "s" };

interface Seen {
  readonly server: RecordingServer;
  readonly storage: Storage;
}

function opened(config: ClientConfig, environment: Environment = {}): Storage {
  const storage = openStorage("s3://bucket", config, { environment });
  cleanups.push(() => storage.close());
  return storage;
}

async function serving(answer: Answer = ok): Promise<RecordingServer> {
  const server = await startRecordingServer(answer);
  cleanups.push(() => server.stop());
  return server;
}

async function against(config: ClientConfig, answer: Answer = ok, environment: Environment = {}): Promise<Seen> {
  const server = await serving(answer);
  return { server, storage: opened({ endpoint_url: server.url, ...config }, environment) };
}

const ok: Answer = (request, response) => {
  const text = documentOf(request) ?? "ok";
  response.writeHead(200, { etag: '"e"', "content-length": text.length }).end(text);
};

const alphabet = Buffer.from("abcdefghijklmnopqrstuvwxyz");

/** An object of 26 bytes, in ranges, and parts of an upload. */
const object: Answer = (request, response) => {
  const { method, headers, query } = request;
  const document = documentOf(request, query.has("uploads") ? "<UploadId>u</UploadId>" : "<ETag>e</ETag>");
  if (document) return response.end(document);
  const [, start, end] = /bytes=(\d+)-(\d+)/.exec(headers.range ?? "") ?? [];
  if (start === undefined) return sendObject(response, method, 200, alphabet, {});
  const part = alphabet.subarray(Number(start), Number(end) + 1);
  const range = { "content-range": `bytes ${start}-${Number(start) + part.length - 1}/${alphabet.length}` };
  sendObject(response, method, 206, part, range);
};

function sendObject(response: ServerResponse, method: string, status: number, bytes: Buffer, headers: object): void {
  response.writeHead(status, { etag: '"e"', "content-length": bytes.length, ...headers });
  response.end(method === "HEAD" ? undefined : bytes);
}

const signerOf = ({ requests }: RecordingServer, index = 0) =>
  /Credential=([^/]+)\/\d+\/([^/]+)\//.exec(requests[index]?.headers.authorization ?? "")?.slice(1);

const rangesOf = ({ requests }: RecordingServer) => requests.flatMap(({ headers }) => headers.range ?? []);

/** A server that answers only when this many requests wait at the same time. */
async function waitingFor(width: number): Promise<{ url: string; connections: () => number }> {
  const waiting: ServerResponse[] = [];
  const sockets = new Set<unknown>();
  const server = createServer((_request, response) => {
    waiting.push(response);
    if (waiting.length < width) return;
    for (const each of waiting.splice(0)) each.writeHead(200, { etag: '"e"' }).end("ok");
  });
  server.on("connection", (socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, connections: () => sockets.size };
}

/** By key: the rule, and its test. */
const effects: Readonly<Record<string, readonly [rule: string, test: () => Promise<void>]>> = {
  anon: [
    "sends no signature, whatever credentials there are",
    async () => {
      const environment = { AWS_ACCESS_KEY_ID: "e", AWS_SECRET_ACCESS_KEY: "e" };
      const { server, storage } = await against({ anon: true }, ok, environment);
      await storage.read("a");
      assert.equal(server.requests[0]?.headers.authorization, undefined);
    },
  ],
  endpoint_url: [
    "is the target of requests, including its path, and overrides client_kwargs and the environment",
    async () => {
      const server = await serving();
      const client_kwargs = { endpoint_url: "http://127.0.0.1:1" };
      const environment = { AWS_ENDPOINT_URL: "http://127.0.0.1:2" };
      await opened({ ...keys, endpoint_url: `${server.url}/deep`, client_kwargs }, environment).read("a");
      await opened({ ...keys, client_kwargs: { endpoint_url: server.url } }, environment).read("a");
      await opened(keys, { AWS_ENDPOINT_URL: server.url }).read("a");
      assert.deepEqual(
        server.requests.map(({ path }) => path),
        ["/deep/bucket/a", "/bucket/a", "/bucket/a"],
      );
    },
  ],
  key: [
    "is the access key id, and overrides client_kwargs and the environment",
    async () => {
      const client_kwargs = { aws_access_key_id: "weak", aws_secret_access_key: "weak" };
      const environment = { AWS_ACCESS_KEY_ID: "weaker", AWS_SECRET_ACCESS_KEY: "weaker" };
      const given = await against({ ...keys, client_kwargs }, ok, environment);
      await given.storage.read("a");
      const weak = await against({ client_kwargs }, ok, environment);
      await weak.storage.read("a");
      const weaker = await against({}, ok, environment);
      await weaker.storage.read("a");
      assert.deepEqual(
        [given, weak, weaker].map(({ server }) => signerOf(server)?.[0]),
        ["k", "weak", "weaker"],
      );
    },
  ],
  secret: [
    "signs requests",
    async () => {
      const signature = async (secret: string) => {
        const url = await opened({ ...keys, secret, endpoint_url: "http://store" }).presign("a");
        return new URL(url).searchParams.get("X-Amz-Signature");
      };
      assert.notEqual(await signature("one"), await signature("two"));
    },
  ],
  token: [
    "is sent with every request; a function is called for it",
    async () => {
      const { server, storage } = await against({ ...keys, token: () => "from a function" });
      await storage.read("a");
      assert.equal(server.requests[0]?.headers["x-amz-security-token"], "from a function");
      const plain = await against({ ...keys, token: "plain" });
      await plain.storage.read("a");
      assert.equal(plain.server.requests[0]?.headers["x-amz-security-token"], "plain");
    },
  ],
  use_ssl: [
    "selects TLS for the standard endpoint; client_kwargs.use_ssl overrides it",
    async () => {
      const protocol = async (config: ClientConfig) =>
        new URL(await opened({ ...keys, ...config }).presign("a")).protocol;
      assert.equal(await protocol({}), "https:");
      assert.equal(await protocol({ use_ssl: false }), "http:");
      assert.equal(await protocol({ use_ssl: true, client_kwargs: { use_ssl: false } }), "http:");
    },
  ],
  s3_additional_kwargs: [
    "are sent with the calls that accept them, and are overridden by a call's own arguments",
    async () => {
      const s3_additional_kwargs = { ContentType: "text/weak", ServerSideEncryption: "AES256" };
      const { server, storage } = await against({ ...keys, s3_additional_kwargs });
      await storage.write("a", "x");
      await storage.write("a", "x", { contentType: "text/strong" });
      await storage.read("a");
      const sent = server.requests.map(({ headers }) => [
        headers["content-type"],
        headers["x-amz-server-side-encryption"],
      ]);
      assert.deepEqual(sent, [
        ["text/weak", "AES256"],
        ["text/strong", "AES256"],
        [undefined, undefined],
      ]);
      const odd: Record<string, unknown> = { CacheControl: "a\nb", Metadata: { colour: "wérd" } };
      for (const [name, value] of Object.entries(odd)) {
        const message = new RegExp(`s3_additional_kwargs.${name}: .* a header takes only printable ASCII`);
        assert.throws(() => opened({ ...keys, s3_additional_kwargs: { [name]: value } }), { code: "config", message });
      }
    },
  ],
  client_kwargs: [
    "give region, endpoint and credentials to the client",
    async () => {
      const server = await serving();
      const aws = { aws_access_key_id: "c", aws_secret_access_key: "c", aws_session_token: "t" };
      const client_kwargs = { ...aws, region_name: "eu-west-3", endpoint_url: server.url };
      await opened({ client_kwargs }).read("a");
      assert.deepEqual(signerOf(server), ["c", "eu-west-3"]);
      assert.equal(server.requests[0]?.headers["x-amz-security-token"], "t");
    },
  ],
  requester_pays: [
    "is sent with every call",
    async () => {
      for (const requester_pays of [true, false]) {
        const { server, storage } = await against({ ...keys, requester_pays }, object);
        await Array.fromAsync(storage.list());
        await Array.fromAsync(storage.list({ recursive: true }));
        await storage.read("a");
        await storage.stat("a");
        await storage.write("a", "x");
        await storage.write("a", Buffer.alloc(6 * 1024 * 1024), { partSize: 5 * 1024 * 1024 });
        await storage.remove("a");
        await storage.copy("a", "b").catch(() => {});
        const said = new Set(server.requests.map(({ headers }) => headers["x-amz-request-payer"]));
        assert.deepEqual([...said], [requester_pays ? "requester" : undefined]);
        assert.ok(server.requests.length >= 11);
      }
    },
  ],
  default_block_size: [
    "is the size of ranges, of read-ahead, and of parts; parts that are too small are refused",
    async () => {
      const { server, storage } = await against({ ...keys, default_block_size: 10, max_concurrency: 2 }, object);
      await storage.read("a");
      assert.deepEqual(rangesOf(server), ["bytes=0-9", "bytes=10-19", "bytes=20-25"]);
      server.requests.length = 0;
      const file = await storage.open("a");
      await file.read(0, 2);
      assert.deepEqual(rangesOf(server), ["bytes=0-9", "bytes=10-11"], "2 bytes and 10 more, in ranges of 10");
      const stream = async function* () {
        yield* [Buffer.alloc(8), Buffer.alloc(8)];
      };
      await rejectsWith("invalid", storage.write("a", stream()));
      const six = 6 * 1024 * 1024;
      const parts = await against({ ...keys, default_block_size: six }, object);
      await parts.storage.write("a", Buffer.alloc(2 * six + 1));
      const sizes = parts.server.requests.filter(({ method }) => method === "PUT").map(({ body }) => body.length);
      assert.deepEqual(sizes, [six, six, 1]);
    },
  ],
  default_fill_cache: [
    "has no effect: the original never reads it",
    async () => {
      const asked = async (default_fill_cache: boolean) => {
        const { server, storage } = await against({ ...keys, default_fill_cache, default_block_size: 4 }, object);
        const file = await storage.open("a");
        for (const offset of [0, 3, 12, 0]) await file.read(offset, 3);
        return rangesOf(server);
      };
      assert.deepEqual(await asked(true), await asked(false));
    },
  ],
  default_cache_type: [
    "selects the cache of opened files; null means none, an unknown one is refused",
    async () => {
      const asked = async (default_cache_type: string | null) => {
        const { server, storage } = await against({ ...keys, default_cache_type, default_block_size: 4 }, object);
        const file = await storage.open("a");
        for (const offset of [0, 2, 0]) await file.read(offset, 2);
        return rangesOf(server);
      };
      assert.deepEqual(await asked("readahead"), ["bytes=0-5"]);
      assert.deepEqual(await asked("blockcache"), ["bytes=0-3"]);
      assert.deepEqual(await asked(null), ["bytes=0-1", "bytes=2-3", "bytes=0-1"]);
      assert.throws(() => opened({ default_cache_type: "readahed" }), /did you mean readahead\?/);
    },
  ],
  version_aware: [
    "lists versions and reads named ones; without it a version is an error",
    async () => {
      const aware = await against({ ...keys, version_aware: true });
      await Array.fromAsync(aware.storage.list());
      await aware.storage.read("a", { version: "v1" });
      assert.equal(aware.server.requests[0]?.query.has("versions"), true);
      assert.equal(aware.server.requests[1]?.query.get("versionId"), "v1");
      const { server, storage } = await against(keys);
      await Array.fromAsync(storage.list());
      assert.equal(server.requests[0]?.query.has("versions"), false);
      for (const call of [
        () => storage.read("a", { version: "v1" }),
        () => storage.stat("a", { version: "v1" }),
        () => storage.open("a", { version: "v1" }),
        () => storage.remove("a", { version: "v1" }),
      ]) {
        await assert.rejects(async () => call(), { code: "config", message: /version_aware/ });
      }
      assert.equal(server.requests.length, 1, "nothing was sent");
    },
  ],
  cache_regions: [
    "queries the region of the bucket first, once, unless a region or an endpoint is given",
    async () => {
      const server = await serving(({ path, headers }, response) => {
        const first = path === "/" && headers.authorization === undefined;
        response.writeHead(first ? 403 : 200, { "x-amz-bucket-region": "eu-north-1", etag: '"e"' });
        response.end(first ? undefined : "ok");
      });
      const network = redirectNetwork(server.url);
      cleanups.push(() => network.restore());
      const storage = opened({ ...keys, use_ssl: false, cache_regions: true });
      await storage.read("a");
      await storage.read("b");
      assert.deepEqual(
        server.requests.map(({ method, headers }) => `${method} ${headers.host}`),
        [
          "HEAD bucket.s3.us-east-1.amazonaws.com",
          "GET bucket.s3.eu-north-1.amazonaws.com",
          "GET bucket.s3.eu-north-1.amazonaws.com",
        ],
      );
      assert.deepEqual(signerOf(server, 1), ["k", "eu-north-1"]);
      server.requests.length = 0;
      const given = { ...keys, use_ssl: false, cache_regions: true };
      await opened({ ...given, client_kwargs: { region_name: "eu-west-1" } }).read("a");
      await opened({ ...given, endpoint_url: server.url }).read("a");
      assert.deepEqual(
        server.requests.map(({ method }) => method),
        ["GET", "GET"],
      );
    },
  ],
  asynchronous: [
    "has no effect: every call is asynchronous",
    async () => {
      for (const asynchronous of [true, false]) {
        const { server, storage } = await against({ ...keys, asynchronous });
        assert.equal(await storage.readText("a"), "ok");
        assert.equal(server.requests.length, 1);
      }
    },
  ],
  config_kwargs: [
    "limit the number of connections",
    async () => {
      const two = await waitingFor(2);
      const pool = opened({ ...keys, endpoint_url: two.url, config_kwargs: { max_pool_connections: 2 } });
      await Promise.all(Array.from({ length: 10 }, () => pool.read("a")));
      assert.equal(two.connections(), 2);
      const ten = await waitingFor(10);
      await Promise.all(
        Array.from({ length: 10 }, () => opened({ ...keys, endpoint_url: ten.url })).map((each) => each.read("a")),
      );
      assert.equal(ten.connections(), 10);
    },
  ],
  kwargs: [
    "accept a profile, which signs, and nothing else",
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "millrace-storage-profile-"));
      cleanups.push(() => rm(folder, { recursive: true }));
      const file = join(folder, "credentials");
      await writeFile(file, "[work]\naws_access_key_id = of-work\naws_secret_access_key = s\n");
      const before = process.env["AWS_SHARED_CREDENTIALS_FILE"];
      process.env["AWS_SHARED_CREDENTIALS_FILE"] = file;
      cleanups.push(() => {
        if (before === undefined) delete process.env["AWS_SHARED_CREDENTIALS_FILE"];
        else process.env["AWS_SHARED_CREDENTIALS_FILE"] = before;
      });
      const { server, storage } = await against({ kwargs: { profile: "work" } });
      await storage.read("a");
      assert.equal(signerOf(server)?.[0], "of-work");
      assert.throws(() => opened({ kwargs: { profil: "x" } }), /did you mean profile\?/);
    },
  ],
  session: [
    "provides its credentials and its region",
    async () => {
      const credentials = { accessKeyId: "lent", secretAccessKey: "s", sessionToken: "t" };
      const client = new S3Client({ region: "eu-south-1", credentials });
      cleanups.push(() => client.destroy());
      const { server, storage } = await against({ session: client });
      await storage.read("a");
      assert.deepEqual(signerOf(server), ["lent", "eu-south-1"]);
      assert.equal(server.requests[0]?.headers["x-amz-security-token"], "t");
      const provider = await against({ session: async () => ({ ...credentials, accessKeyId: "provided" }) });
      await provider.storage.read("a");
      assert.deepEqual(signerOf(provider.server), ["provided", "us-east-1"]);
      assert.throws(() => opened({ session: {} }), /expected an S3 client/);
    },
  ],
  max_concurrency: [
    "is the number of parallel ranges of one object",
    async () => {
      let inFlight = 0;
      let most = 0;
      const held: (() => void)[] = [];
      // The first range is requested alone, because it reports the size. Then answers wait until three ranges, or the
      // last, are requested.
      const answer: Answer = (request, response, count) => {
        inFlight += 1;
        most = Math.max(most, inFlight);
        held.push(() => {
          inFlight -= 1;
          object(request, response, count);
        });
        if (count === 1 || held.length === 3 || count === 7) for (const release of held.splice(0)) release();
      };
      const config = { ...keys, default_block_size: 4, max_concurrency: 3 };
      const { server, storage } = await against(config, answer);
      assert.deepEqual(Buffer.from(await storage.read("a")), alphabet);
      assert.deepEqual([most, server.requests.length], [3, 7]);
      const single = await against({ ...keys, default_block_size: 4 }, object);
      await single.storage.read("a");
      assert.equal(single.server.requests.length, 1, "one request for all, when there is no concurrency");
    },
  ],
};

describe("the parameter of s3://", () => {
  for (const key of parameterKeys(parameters)) {
    const [rule, test] = effects[key] ?? [];
    it(`${key} ${rule}`, { timeout: 60_000 }, () => test?.() ?? assert.fail(`${key} has no test`));
  }
});
