/**
 * The effect of each parameter of `gs://`, and the handling of failures, seen by our own server instead of the store.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { type ClientConfig, isStorageError, openStorage, type Storage } from "@millrace/storage";
import type { Backend } from "../../src/backend.ts";
import { withMetadataCache } from "../../src/schemes/gs/metadata-cache.ts";
import { parameters } from "../../src/schemes/gs/parameters.ts";
import { rejectsWith } from "../conformance.ts";
import { proofsOf } from "../support/proofs.ts";
import { type Answer, type RecordingServer, startRecordingServer } from "../support/recording-server.ts";
import { makeServiceAccount } from "../support/service-account.ts";

const { proves, provesAll } = proofsOf(parameters);
const cleanups: (() => Promise<unknown>)[] = [];
let folder: string;
const environment = { ...process.env };
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-storage-gs-"));
  // Without this machine's own credentials, and without looking for a metadata server.
  for (const name of ["GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"])
    delete process.env[name];
  process.env["METADATA_SERVER_DETECTION"] = "none";
});
afterEach(() => {
  for (const name of ["GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GCE_METADATA_HOST"])
    delete process.env[name];
});
after(async () => {
  Object.assign(process.env, environment);
  for (const cleanup of cleanups.reverse()) await cleanup();
  await rm(folder, { recursive: true, force: true });
});

const resource = { name: "a", size: "2", etag: "e", generation: "7", updated: "2026-01-01T00:00:00Z" };

/** Answers with content, a list, an object or a token, according to the request. */
const ok: Answer = (request, response) => {
  const json = (value: object) =>
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
  const content = { etag: '"e"', "x-goog-generation": "7", "content-length": 2, "content-range": "bytes 0-1/2" };
  if (request.query.get("alt") === "media") response.writeHead(206, content).end("ok");
  else if (request.path === "/token") json({ access_token: "exchanged", token_type: "Bearer", expires_in: 3600 });
  else if (request.path.includes("computeMetadata")) {
    response.setHeader("metadata-flavor", "Google");
    json({ access_token: "of-the-machine", expires_in: 3600 });
  } else if (request.path.includes("/rewriteTo/")) json({ done: true });
  else if (request.method === "DELETE") response.writeHead(204).end();
  else if (request.path.startsWith("/batch/")) {
    const ids = [...request.body.toString().matchAll(/content-id: <(\d+)>/g)].map(([, id]) => id);
    const parts = ids.map(
      (id) =>
        `--b\r\nContent-Type: application/http\r\nContent-ID: <response-${id}>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n`,
    );
    response.end(`${parts.join("")}--b--`);
  } else if (request.path.endsWith("/o") && request.method === "GET") json({ items: [resource] });
  else json(resource);
};

async function serve(answer: Answer = ok): Promise<RecordingServer> {
  const server = await startRecordingServer(answer);
  cleanups.push(() => server.stop());
  return server;
}

function openAt(config: ClientConfig, variables: Record<string, string> = {}): Storage {
  const storage = openStorage("gs://bucket", config, { environment: variables });
  cleanups.push(() => storage.close());
  return storage;
}

async function against(config: ClientConfig = {}, answer: Answer = ok) {
  const server = await serve(answer);
  return { server, storage: openAt({ endpoint_url: server.url, token: "t", ...config }) };
}

const refusedBecause = (config: ClientConfig, message: RegExp) =>
  assert.throws(
    () => openStorage("gs://bucket", config, { environment: {} }),
    (error) => isStorageError(error, "config") && message.test(error.message),
  );

const everyCall = async (storage: Storage) => {
  await storage.read("a");
  await storage.stat("a");
  await storage.write("a", "ok");
  await storage.write("a", "ok", { metadata: { x: "y" } });
  await storage.copy("a", "b");
  await storage.remove("a");
  await Array.fromAsync(storage.list());
};

const authorizations = ({ requests }: RecordingServer) => [
  ...new Set(requests.filter(({ path }) => path.startsWith("/storage/")).map(({ headers }) => headers.authorization)),
];

describe("credentials of gs://", () => {
  const externalAccount = async (url: string) => {
    const file = join(folder, "subject");
    await writeFile(file, "subject-token");
    return {
      type: "external_account",
      audience: "//iam.googleapis.com/locations/global/workforcePools/p/providers/x",
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      token_url: `${url}/token`,
      credential_source: { file },
    };
  };

  proves("token", "anon sends no credentials", async () => {
    const { server, storage } = await against({ token: "anon" });
    await everyCall(storage);
    assert.deepEqual(authorizations(server), [undefined]);
  });

  proves(
    "token",
    "that is neither a keyword nor a file is an access token, which is also sent to an emulator",
    async () => {
      const { server, storage } = await against({ token: "raw-token" });
      await everyCall(storage);
      assert.deepEqual(authorizations(server), ["Bearer raw-token"]);
    },
  );

  proves("token", "may be a dictionary that holds an access token", async () => {
    const { server, storage } = await against({ token: { access_token: "of-the-dictionary" } });
    await storage.read("a");
    assert.deepEqual(authorizations(server), ["Bearer of-the-dictionary"]);
  });

  proves("token", "may be a dictionary of credentials, which are exchanged once", async () => {
    const server = await serve();
    const storage = openAt({ endpoint_url: server.url, token: await externalAccount(server.url) });
    await everyCall(storage);
    assert.deepEqual(authorizations(server), ["Bearer exchanged"]);
    assert.equal(server.requests.filter(({ path }) => path === "/token").length, 1);
  });

  proves("token", "may be the path of a file with credentials", async () => {
    const server = await serve();
    const token = join(folder, "token.json");
    await writeFile(token, JSON.stringify(await externalAccount(server.url)));
    await openAt({ endpoint_url: server.url, token }).read("a");
    assert.deepEqual(authorizations(server), ["Bearer exchanged"]);
  });

  proves("token", "that is a path is refused by that path if the file is missing or has no credentials", async () => {
    const token = join(folder, "nothing.json");
    const { server, storage } = await against({ token });
    await assert.rejects(storage.read("a"), { code: "config", message: `token: ${token} does not exist` });
    const isFolder = openAt({ endpoint_url: server.url, token: folder }).read("a");
    await assert.rejects(isFolder, { code: "config", message: `token: ${folder} cannot be read (EISDIR)` });
    const secret = openAt({ endpoint_url: server.url, token: "c2Vj/cmV0" }).read("a");
    await assert.rejects(secret, (error) => isStorageError(error, "config") && !error.message.includes("cmV0"));
    await rejectsWith("config", openAt({ endpoint_url: server.url, token: { nothing: true } }).read("a"));
    assert.equal(server.requests.length, 0);
  });

  proves("token", "google_default uses the default credentials, and so does an unset token", async () => {
    for (const token of ["google_default", null]) {
      const server = await serve();
      const file = join(folder, "default.json");
      await writeFile(file, JSON.stringify(await externalAccount(server.url)));
      process.env["GOOGLE_APPLICATION_CREDENTIALS"] = file;
      await openAt({ endpoint_url: server.url, token }).read("a");
      assert.deepEqual(authorizations(server), ["Bearer exchanged"]);
    }
  });

  proves("token", "that is unset means none if there are no default credentials", async () => {
    const server = await serve();
    await openAt({ endpoint_url: server.url }).read("a");
    assert.deepEqual(authorizations(server), [undefined]);
  });

  proves("token", "google_default fails if there are none, and is retried", async () => {
    const server = await serve();
    const storage = openAt({ endpoint_url: server.url, token: "google_default" });
    process.env["GOOGLE_APPLICATION_CREDENTIALS"] = join(folder, "absent.json");
    await rejectsWith("permission", storage.read("a"));
    const file = join(folder, "later.json");
    await writeFile(file, JSON.stringify(await externalAccount(server.url)));
    process.env["GOOGLE_APPLICATION_CREDENTIALS"] = file;
    await storage.read("a");
    assert.deepEqual(authorizations(server), ["Bearer exchanged"]);
  });

  proves("token", "cloud queries the metadata server", async () => {
    const server = await serve();
    process.env["GCE_METADATA_HOST"] = new URL(server.url).host;
    await openAt({ endpoint_url: server.url, token: "cloud", access: "read_only" }).read("a");
    assert.deepEqual(authorizations(server), ["Bearer of-the-machine"]);
    const asked = server.requests.find(({ path }) => path.includes("computeMetadata"));
    assert.match(asked?.query.get("scopes") ?? "", /devstorage\.read_only$/);
  });

  proves(
    "token",
    "may be a client of the vendor's library, which is called again when the store refuses its token",
    async () => {
      let asked = 0;
      const getAccessToken = async () => {
        asked += 1;
        return { token: `t${asked}` };
      };
      const { server, storage } = await against({ token: { getAccessToken } }, (request, response, count) =>
        count === 1 ? response.writeHead(401).end() : ok(request, response, count),
      );
      await storage.read("a");
      assert.deepEqual(authorizations(server), ["Bearer t1", "Bearer t2"]);
    },
  );

  proves("token", "that the store refuses is not sent again if there is no other", async () => {
    const { server, storage } = await against({}, (_request, response) => response.writeHead(401).end());
    await rejectsWith("permission", storage.read("a"));
    assert.equal(server.requests.length, 1);
  });

  proves("token", "of a kind that only Python can read is refused by name", () => {
    refusedBecause({ token: "cache" }, /^token: "cache"/);
    refusedBecause({ token: "browser" }, /^token: "browser"/);
  });

  proves("access", "is the scope of requested tokens", async () => {
    for (const [access, scope] of [
      ["read_only", "read_only"],
      ["read_write", "read_write"],
      [null, "full_control"],
    ]) {
      const server = await serve();
      await openAt({ endpoint_url: server.url, access, token: await externalAccount(server.url) }).read("a");
      const form = new URLSearchParams(server.requests[0]?.body.toString());
      assert.equal(form.get("scope"), `https://www.googleapis.com/auth/devstorage.${scope}`);
    }
    refusedBecause({ access: "readonly" }, /did you mean read_only\?/);
  });

  proves("token", "is masked in every form", async () => {
    const shown = openStorage("gs://bucket", { token: { access_token: "hush" } }).explainConfig();
    assert.ok(!JSON.stringify(shown).includes("hush"));
    assert.equal(shown.find(({ key }) => key === "token")?.value, "********");
  });
});

describe("buckets of gs://", () => {
  proves(["project", "default_location"], "select the location of a new bucket", async () => {
    const { server, storage } = await against({ project: "p", default_location: "EUROPE-WEST3" });
    await storage.createBucket();
    assert.equal(server.requests[0]?.query.get("project"), "p");
    assert.deepEqual(JSON.parse(String(server.requests[0]?.body)), { name: "bucket", location: "EUROPE-WEST3" });
  });

  proves("project", "also comes from the environment", async () => {
    const server = await serve();
    await openAt({ endpoint_url: server.url, token: "t" }, { GCSFS_DEFAULT_PROJECT: "e" }).createBucket();
    assert.equal(server.requests[0]?.query.get("project"), "e");
  });

  proves("project", "is that of the default credentials if these are used, and none otherwise", async () => {
    const { server, storage } = await against({ token: "anon", project: "p" });
    await rejectsWith("config", storage.createBucket());
    process.env["GOOGLE_CLOUD_PROJECT"] = "theirs";
    const file = join(folder, "plain.json");
    await writeFile(file, JSON.stringify(makeServiceAccount()));
    process.env["GOOGLE_APPLICATION_CREDENTIALS"] = file;
    const signing = openAt({ endpoint_url: server.url, token: "google_default", project: "p", requester_pays: true });
    assert.equal(new URL(await signing.presign("a")).searchParams.get("userProject"), "theirs");
  });
});

describe("writes to gs://", () => {
  const md5 = createHash("md5").update("ok").digest("base64");
  const holding =
    (held: object): Answer =>
    (request, response, count) =>
      request.path.startsWith("/upload/")
        ? response.end(JSON.stringify({ ...resource, ...held }))
        : ok(request, response, count);

  proves("consistency", "none checks nothing, size checks the size, md5 checks the checksum", async () => {
    const cases = [
      ["none", { size: "3", md5Hash: "other" }, true],
      [null, { size: "3" }, true],
      ["size", { size: "2", md5Hash: "other" }, true],
      ["size", { size: "3" }, false],
      ["md5", { size: "2", md5Hash: md5 }, true],
      ["md5", { size: "2", md5Hash: "other" }, false],
      ["md5", { size: "2", crc32c: "/X1t5A==" }, false],
    ] as const;
    for (const [consistency, held, good] of cases) {
      const { storage } = await against({ consistency }, holding(held));
      if (good) await storage.write("a", "ok");
      else await rejectsWith("failed", storage.write("a", "ok"));
    }
  });

  proves("consistency", "md5 falls back to crc32c, for objects that have no MD5", async () => {
    const { storage } = await against({ consistency: "md5" }, holding({ size: "9", crc32c: "4waSgw==" }));
    await storage.write("a", "123456789");
  });

  proves("consistency", "removes a wrong object, and only that generation", async () => {
    const { server, storage } = await against({ consistency: "size" }, holding({ size: "3" }));
    await rejectsWith("failed", storage.write("a", "ok"));
    const removal = server.requests.find(({ method }) => method === "DELETE");
    assert.equal(removal?.query.get("generation"), "7");
  });
});

describe("listings of gs://", () => {
  const requestsOf = async (config: ClientConfig, work: (storage: Storage) => Promise<unknown>) => {
    const { server, storage } = await against(config);
    await work(storage);
    return server.requests.length;
  };
  const listed = async (storage: Storage, options = {}) =>
    (await Array.fromAsync(storage.list(options), ({ path }) => path)).join();
  const twice = async (storage: Storage) => {
    for (const _ of [1, 2]) {
      assert.equal(await listed(storage), "a");
      assert.equal((await storage.stat("a")).path, "a");
    }
  };

  proves(
    "cache_timeout",
    "caches listings and their metadata of objects: forever when unset, not at all at 0",
    async () => {
      for (const cache_timeout of [null, 600]) assert.equal(await requestsOf({ cache_timeout }, twice), 1);
      for (const cache_timeout of [0, -1]) assert.equal(await requestsOf({ cache_timeout }, twice), 4);
    },
  );

  proves("cache_timeout", "is the number of seconds that they are cached", async () => {
    let now = 0;
    let asked = 0;
    const list = async function* () {
      asked += 1;
      yield [];
    };
    const backend = withMetadataCache({ list } as unknown as Backend, 5, () => now);
    for (now of [0, 4_999, 5_000, 9_999]) await Array.fromAsync(backend.list("", {}));
    assert.equal(asked, 2);
  });

  proves("cache_timeout", "does not cache the result of a stat", async () => {
    const looks = async (storage: Storage) => {
      for (const _ of [1, 2]) await storage.stat("a");
    };
    assert.equal(await requestsOf({}, looks), 2);
  });

  proves("cache_timeout", "drops cached listings after the storage's own changes", async () => {
    for (const change of [
      (storage: Storage) => storage.write("a", "ok"),
      (storage: Storage) => storage.remove("a"),
      (storage: Storage) => storage.copy("a", "b"),
    ]) {
      const work = async (storage: Storage) => {
        await listed(storage);
        await change(storage);
        await listed(storage);
      };
      assert.equal(await requestsOf({}, work), 3);
    }
  });

  it("query the store on request, and before a folder is removed recursively", async () => {
    const refreshed = async (storage: Storage) => {
      for (const refresh of [false, true]) await listed(storage, { refresh });
    };
    assert.equal(await requestsOf({}, refreshed), 2);
    const removed = async (storage: Storage) => {
      await listed(storage, { recursive: true, ordered: true });
      await storage.remove("", { recursive: true });
    };
    assert.equal(await requestsOf({}, removed), 3, "a listing, another, and a batch");
  });

  it("are dropped when an object differs from its entry", async () => {
    const { storage } = await against({}, (request, response, count) => {
      const replaced = { etag: '"new"', "x-goog-generation": "8", "content-length": 2, "content-range": "bytes 0-1/2" };
      if (request.query.get("alt") === "media") response.writeHead(206, replaced).end("ok");
      else if (request.path.endsWith("/a")) response.end(JSON.stringify({ ...resource, etag: "new", generation: "8" }));
      else ok(request, response, count);
    });
    assert.equal(await listed(storage), "a");
    const stale = await storage.open("a");
    await rejectsWith("precondition", stale.read(0, 2));
    const file = await storage.open("a");
    assert.equal(Buffer.from(await file.read(0, 2)).toString(), "ok");
  });
});

describe("the other parameters of gs://", () => {
  proves("secure_serialize", "warns that it is deprecated", async () => {
    const warned = once(process, "warning");
    openStorage("gs://bucket", { secure_serialize: true });
    assert.match(String((await warned)[0]), /secure_serialize of gs:\/\/ is deprecated/);
  });

  proves("requester_pays", "names who pays in every call: the project, or the given one", async () => {
    for (const [config, payer] of [
      [{ requester_pays: true, project: "p" }, "p"],
      [{ requester_pays: "q", project: "p" }, "q"],
      [{ project: "p" }, null],
    ] as const) {
      const { server, storage } = await against(config);
      await everyCall(storage);
      assert.deepEqual([...new Set(server.requests.map(({ query }) => query.get("userProject")))], [payer]);
    }
  });

  proves("requester_pays", "is in each part of a batch", async () => {
    const { server, storage } = await against({ requester_pays: "q" });
    await storage.remove("", { recursive: true });
    assert.match(String(server.requests.at(-1)?.body), /DELETE \/storage\/v1\/b\/bucket\/o\/a\?userProject=q HTTP/);
  });

  proves("requester_pays", "without a project is refused, by name", () => {
    refusedBecause({ requester_pays: true }, /^requester_pays: project is missing/);
    refusedBecause(
      { requester_pays: true, project: "p", token: "anon" },
      /^requester_pays: token is anon, so nobody can be billed/,
    );
  });

  proves("session_kwargs", "headers are sent with every request", async () => {
    const { server, storage } = await against({ session_kwargs: { headers: { "x-test": "yes" } } });
    await everyCall(storage);
    assert.deepEqual([...new Set(server.requests.map(({ headers }) => headers["x-test"]))], ["yes"]);
  });

  proves("session_kwargs", "proxy is used for requests, including those for tokens", async () => {
    const asked: string[] = [];
    // It answers for the store, and refuses tunnels, which TLS would need.
    const proxy = createServer((request, response) => {
      asked.push(request.url ?? "");
      response.writeHead(206, { etag: '"e"', "content-length": 2, "content-range": "bytes 0-1/2" }).end("ok");
    }).listen(0, "127.0.0.1");
    proxy.on("connect", (request, socket) => {
      asked.push(request.url ?? "");
      socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    });
    await once(proxy, "listening");
    const session_kwargs = { proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
    const endpoint_url = "http://store.test:81";
    const storage = openAt({ endpoint_url, token: "t", session_kwargs });
    assert.equal(await storage.readText("a"), "ok");
    assert.match(asked[0] ?? "", /store\.test:81/);
    const token = makeServiceAccount();
    await rejectsWith("permission", openAt({ endpoint_url, session_kwargs, token }).read("a"));
    assert.equal(asked.at(-1), "oauth2.googleapis.com:443");
    await storage.close();
    proxy.closeAllConnections();
    proxy.close();
  });

  proves("session_kwargs", "timeout ends the wait for an answer", async () => {
    const { storage } = await against({ session_kwargs: { timeout: 0.2 } }, () => {});
    await rejectsWith("network", storage.read("a"));
  });

  proves("session_kwargs", "limit is the number of parallel requests", async () => {
    for (const limit of [1, 4]) {
      let most = 0;
      const waiting: (() => void)[] = [];
      // Answers when the maximum number of requests is waiting and requests to another server have shown that there are
      // no more.
      const other = openAt({ endpoint_url: (await serve()).url, token: "t" });
      const answerAll = async () => {
        for (const _ of [1, 2]) await other.stat("a");
        for (const answer of waiting.splice(0)) answer();
      };
      const { storage } = await against({ session_kwargs: { limit } }, (...words) => {
        waiting.push(() => ok(...words));
        most = Math.max(most, waiting.length);
        if (waiting.length === limit) void answerAll();
      });
      await Promise.all(Array.from({ length: 12 }, () => storage.read("a")));
      assert.equal(most, limit);
    }
  });

  proves("session_kwargs", "accepts no others", () => {
    refusedBecause(
      { session_kwargs: { trust_envy: true } },
      /session_kwargs\.trust_envy is not a parameter of .*did you mean trust_env/,
    );
  });

  proves("endpoint_url", "overrides STORAGE_EMULATOR_HOST, which may lack its protocol", async () => {
    const [given, emulator] = [await serve(), await serve()];
    const variables = { STORAGE_EMULATOR_HOST: new URL(emulator.url).host };
    await openAt({ endpoint_url: given.url, token: "t" }, variables).read("a");
    assert.deepEqual([given.requests.length, emulator.requests.length], [1, 0]);
    await openAt({ token: "t" }, variables).read("a");
    assert.deepEqual([given.requests.length, emulator.requests.length], [1, 1]);
    refusedBecause({ endpoint_url: "http://host/path" }, /without a path/);
    refusedBecause({ endpoint_url: "ftp://host" }, /^endpoint_url: expected http:/);
  });

  proves("version_aware", "lists generations and reads named ones; without it a generation is an error", async () => {
    const aware = await against({ version_aware: true });
    await Array.fromAsync(aware.storage.list());
    await aware.storage.read("a", { version: "7" });
    assert.equal(aware.server.requests[0]?.query.get("versions"), "true");
    assert.equal(aware.server.requests[1]?.query.get("generation"), "7");
    const { server, storage } = await against({ version_aware: false });
    await Array.fromAsync(storage.list());
    assert.equal(server.requests[0]?.query.get("versions"), null);
    await assert.rejects(storage.read("a", { version: "7" }), { code: "config", message: /version_aware/ });
  });

  provesAll();

  it("are all explained, with where they came from", () => {
    const config = { project: "p", session_kwargs: { headers: { authorization: "hush" } } };
    const shown = openStorage("gs://bucket", config, { environment: { STORAGE_EMULATOR_HOST: "h:1" } }).explainConfig();
    const source = (name: string) => shown.find(({ key }) => key === name)?.source;
    assert.equal(shown.filter(({ key }) => !key.includes(".")).length, 11);
    assert.deepEqual(
      [source("project"), source("endpoint_url"), source("access")],
      ["client_config.project", "environment STORAGE_EMULATOR_HOST", "default"],
    );
    assert.ok(!JSON.stringify(shown).includes("hush"));
  });

  it("also have the scheme name gcs", () => {
    assert.equal(openStorage("gcs://bucket/x", { token: "anon" }).scheme, "gcs");
  });
});

describe("when Google's store fails", () => {
  const failure =
    (status: number, reason = "", headers = {}): Answer =>
    (_request, response) => {
      const error = { code: status, message: "said so", errors: [{ reason }] };
      response.writeHead(status, { "x-guploader-uploadid": "U1", ...headers }).end(JSON.stringify({ error }));
    };

  it("its errors have a code, the store's message and its request id", async () => {
    const cases = [
      [404, "notFound", "not_found"],
      [403, "forbidden", "permission"],
      [412, "conditionNotMet", "precondition"],
      [409, "conflict", "failed"],
      [400, "invalid", "failed"],
    ] as const;
    for (const [status, reason, code] of cases) {
      const { server, storage } = await against({}, failure(status, reason));
      const message = `gs://bucket/a: ${reason}: said so`;
      await assert.rejects(storage.read("a"), { code, status, message, retryable: false, requestId: "U1", key: "a" });
      assert.equal(server.requests.length, 1);
    }
  });

  it("an overload is retried, however it is reported", async () => {
    const ways = [
      failure(429, "", { "retry-after": "0" }),
      failure(503),
      failure(403, "rateLimitExceeded"),
      failure(500),
    ];
    for (const way of ways) {
      const { server, storage } = await against({}, (request, response, count) =>
        (count <= 2 ? way : ok)(request, response, count),
      );
      assert.equal(await storage.readText("a"), "ok");
      assert.equal(server.requests.length, 3);
    }
  });

  it("its Retry-After is reported", async () => {
    const signal = AbortSignal.timeout(20_000);
    const { storage } = await against({}, failure(429, "", { "retry-after": "0" }));
    await assert.rejects(storage.read("a", { signal }), { code: "throttled", retryAfter: 0, retryable: true });
  });

  it("the temporarily failed calls of a batch are retried, and no others", async () => {
    const items = ["a", "b", "c"].map((name) => ({ ...resource, name }));
    const { server, storage } = await against({}, (request, response, count) => {
      if (request.method === "GET") return void response.end(JSON.stringify({ items }));
      if (request.method === "DELETE") return ok(request, response, count);
      const first = server.requests.filter(({ path }) => path.startsWith("/batch/")).length === 1;
      const statuses = first ? [204, 503, 404] : [204];
      const parts = statuses.map(
        (status, id) => `--b\r\nContent-ID: <response-${id}>\r\n\r\nHTTP/1.1 ${status} X\r\n\r\n{}\r\n`,
      );
      response.end(`${parts.join("")}--b--`);
    });
    await storage.remove("", { recursive: true });
    const batches = server.requests.filter(({ path }) => path.startsWith("/batch/")).map(({ body }) => String(body));
    const removed = batches.map((body) => [...body.matchAll(/\/o\/(\w) HTTP/g)].map(([, key]) => key));
    assert.deepEqual(removed, [["a", "b", "c"], ["b"]]);
  });
});

describe("a resumable write to gs://", () => {
  const mebibyte = 1024 * 1024;

  /** A session that accepts as many bytes of a request as `take` returns, or breaks the connection. */
  function session(take: (size: number, count: number) => number | "break") {
    const state = { content: Buffer.alloc(0), removed: false, puts: 0 };
    const answer: Answer = (request, response, count) => {
      if (request.method === "POST") {
        return void response.writeHead(200, { location: `http://${request.headers.host}/session?upload_id=1` }).end();
      }
      if (request.method === "DELETE") {
        state.removed = true;
        return void response.writeHead(499).end();
      }
      const range = request.headers["content-range"] ?? "";
      const [, start = "", total] = /^bytes (\d+|\*)[^/]*\/(\d+|\*)$/.exec(range) ?? assert.fail(range);
      const asked = start === "*";
      if (!asked) {
        assert.equal(Number(start), state.content.length);
        state.puts += 1;
        const taken = take(request.body.length, state.puts);
        if (taken === "break") return void response.destroy();
        state.content = Buffer.concat([state.content, request.body.subarray(0, taken)]);
      }
      if (state.content.length === Number(total)) return ok(request, response, count);
      const headers = state.content.length > 0 ? { range: `bytes=0-${state.content.length - 1}` } : {};
      response.writeHead(308, headers).end();
    };
    return { state, answer };
  }
  const bytes = Buffer.alloc(5 * mebibyte, "abcdefg");
  const options = { partSize: 2 * mebibyte };
  async function* stream(): AsyncGenerator<Uint8Array> {
    yield bytes;
  }

  it("of more bytes than declared leaves nothing: the last part is not sent before they are counted", async () => {
    const { state, answer } = session((size) => size);
    const { storage } = await against({}, answer);
    await assert.rejects(storage.write("a", stream(), { ...options, size: 4 * mebibyte }), { code: "invalid" });
    assert.equal(state.content.length, 2 * mebibyte);
    assert.ok(state.removed);
  });

  it("queries what has arrived when a part breaks off, and continues from there", async () => {
    const { state, answer } = session((size, count) => (count === 2 ? "break" : size));
    const { server, storage } = await against({}, answer);
    await storage.write("a", stream(), options);
    assert.ok(bytes.equals(state.content));
    assert.ok(server.requests.some(({ headers }) => headers["content-range"] === "bytes */*"));
  });

  it("sends bytes again that the store did not accept", async () => {
    const { state, answer } = session((size) => Math.min(size, mebibyte));
    const { storage } = await against({}, answer);
    await storage.write("a", stream(), options);
    assert.ok(bytes.equals(state.content));
  });

  it("sends its credentials only to the store, not to the session's URL", async () => {
    const { answer } = session((size) => size);
    const { server, storage } = await against({}, answer);
    await storage.write("a", stream(), options);
    const shown = server.requests.map(({ path, headers }) => [path, headers.authorization]);
    assert.ok(shown.every(([path, shownThere]) => (path === "/session") === (shownThere === undefined)));
  });

  it("is aborted when the store accepts nothing, and its session is deleted", async () => {
    const { state, answer } = session(() => 0);
    const { storage } = await against({}, answer);
    await rejectsWith("network", storage.write("a", stream(), options));
    assert.ok(state.removed);
  });

  it("sends its conditions when it starts", async () => {
    const { answer } = session((size) => size);
    const { server, storage } = await against({}, answer);
    await storage.write("a", stream(), { ...options, ifNoneMatch: "*" });
    assert.equal(server.requests[0]?.query.get("ifGenerationMatch"), "0");
  });
});
