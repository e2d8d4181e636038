/**
 * The effect of each parameter of `az://`, and the handling of failures, seen by our own server instead of the store.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { type ClientConfig, isStorageError, openStorage, type Storage } from "@millrace/storage";
import { resolveConfiguration } from "../../src/configuration/configuration.ts";
import { open as openScheme } from "../../src/schemes/az/open.ts";
import { parameters } from "../../src/schemes/az/parameters.ts";
import { rejectsWith } from "../conformance.ts";
import { proofsOf } from "../support/proofs.ts";
import { type Answer, type RecordingServer, startRecordingServer } from "../support/recording-server.ts";
import { recordingSession } from "../support/recording-session.ts";

const cleanups: (() => Promise<unknown>)[] = [];
const environment = { ...process.env };
before(() => {
  for (const name of Object.keys(process.env)) if (name.startsWith("AZURE_")) delete process.env[name];
});
after(async () => {
  Object.assign(process.env, environment);
  for (const cleanup of cleanups.reverse()) await cleanup();
});

const { proves, provesAll } = proofsOf(parameters);

const key = Buffer.from("a key").toString("base64");
const quiet = { assume_container_exists: true };

const ok: Answer = (request, response) => {
  const blob = { etag: '"e"', "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT" };
  if (request.method === "PUT") response.writeHead(201, blob).end();
  else if (request.method === "DELETE") response.writeHead(202).end();
  else if (request.query.get("comp") === "list")
    response.end("<EnumerationResults><Blobs></Blobs><NextMarker/></EnumerationResults>");
  else if (request.method === "HEAD") response.writeHead(200, { ...blob, "content-length": 2 }).end();
  else response.writeHead(206, { ...blob, "content-length": 2, "content-range": "bytes 0-1/2" }).end("ok");
};

function openAt(config: ClientConfig, variables: Record<string, string> = {}, uri = "az://container"): Storage {
  const storage = openStorage(uri, { ...quiet, ...config }, { environment: variables });
  cleanups.push(() => storage.close());
  return storage;
}

async function serve(answer: Answer = ok): Promise<RecordingServer> {
  const server = await startRecordingServer(answer);
  cleanups.push(() => server.stop());
  return server;
}

/** Over http, which only a connection string allows. */
async function against(config: ClientConfig = {}, answer: Answer = ok) {
  const server = await serve(answer);
  const connection_string = `AccountName=acct;AccountKey=${key};BlobEndpoint=${server.url}/acct`;
  return { server, storage: openAt({ connection_string, ...config }) };
}

async function openBackend(config: ClientConfig) {
  const given = { account_name: "acct", anon: true, ...quiet, ...config };
  const location = { uri: "az://container", scheme: "az", bucket: "container", path: "" };
  const backend = openScheme({ location, configuration: resolveConfiguration(["az"], parameters, given, {}) });
  cleanups.push(() => backend.close());
  return backend;
}

/** Over https, through our own client that is passed as request_session. */
function through(config: ClientConfig, variables: Record<string, string> = {}, uri?: string) {
  const session = recordingSession();
  return { session, storage: openAt({ request_session: session, ...config }, variables, uri) };
}

const refusedBecause = (config: ClientConfig, message: RegExp) =>
  assert.throws(
    () => openStorage("az://container", config, { environment: {} }),
    (error) => isStorageError(error, "config") && message.test(error.message),
  );

describe("the account of az://", () => {
  proves("account_name", "is the first part of the host name", async () => {
    const { session, storage } = through({ account_name: "acct", anon: true });
    await storage.read("a b");
    assert.equal(session.requests[0]?.url, "https://acct.blob.core.windows.net/container/a%20b");
  });

  proves("account_name", "comes from the environment, and from the longer form of the URI", async () => {
    const first = through({ anon: true }, { AZURE_STORAGE_ACCOUNT_NAME: "env" });
    await first.storage.read("a");
    assert.equal(first.session.requests[0]?.url, "https://env.blob.core.windows.net/container/a");
    const second = through({ anon: true }, {}, "abfs://container@inuri.dfs.core.windows.net/folder");
    await second.storage.read("a");
    assert.equal(second.session.requests[0]?.url, "https://inuri.blob.core.windows.net/container/folder/a");
  });

  proves(
    "account_name",
    "is required, unless there is a connection string or a domain without credentials",
    async () => {
      refusedBecause({ account_key: key }, /no storage account is given: set account_name or connection_string/);
      refusedBecause(
        { account_key: key, account_host: "h" },
        /account_name is missing: it is required with account_host/,
      );
      const { session, storage } = through({ account_host: "files.example", anon: true });
      await storage.read("a");
      assert.equal(session.requests[0]?.url, "https://files.example/container/a");
    },
  );

  proves("account_host", "is the host, while account_name still signs", async () => {
    const config = { account_name: "acct", account_host: "acct.blob.core.example", account_key: key };
    const { session, storage } = through(config);
    await storage.read("a");
    assert.equal(session.requests[0]?.url, "https://acct.blob.core.example/container/a");
    assert.match(session.requests[0]?.headers["authorization"] ?? "", /^SharedKey acct:/);
  });

  proves("connection_string", "overrides all others", async () => {
    const { server, storage } = await against({
      account_name: "other",
      sas_token: "sig=x",
      anon: true,
      account_host: "h",
    });
    await storage.read("a");
    assert.equal(server.requests[0]?.path, "/acct/container/a");
    assert.match(server.requests[0]?.headers.authorization ?? "", /^SharedKey acct:/);
  });

  proves("connection_string", "may come from the environment, where given parameters override it", async () => {
    const server = await serve();
    const variables = {
      AZURE_STORAGE_CONNECTION_STRING: `AccountName=acct;AccountKey=${key};BlobEndpoint=${server.url}/acct`,
    };
    await openAt({}, variables).read("a");
    assert.equal(server.requests.length, 1);
    const { session, storage } = through({ account_name: "given", account_key: key }, variables);
    await storage.read("a");
    assert.match(session.requests[0]?.url ?? "", /^https:\/\/given\./);
  });

  proves("connection_string", "may name a protocol and a suffix, or the emulator", async () => {
    const { session, storage } = through({
      connection_string: `DefaultEndpointsProtocol=http;AccountName=acct;AccountKey=${key};EndpointSuffix=core.example`,
    });
    await storage.read("a");
    assert.equal(session.requests[0]?.url, "http://acct.blob.core.example/container/a");
    const emulated = through({ connection_string: "UseDevelopmentStorage=true" });
    await emulated.storage.read("a");
    assert.equal(emulated.session.requests[0]?.url, "http://127.0.0.1:10000/devstoreaccount1/container/a");
    refusedBecause(
      { connection_string: "nothing" },
      /^connection_string: expected AccountName, or BlobEndpoint with a valid URL/,
    );
  });
});

describe("the right of az://", () => {
  const account = { account_name: "acct" };
  const authorizationOf = async (config: ClientConfig, variables = {}) => {
    const { session, storage } = through({ ...account, ...config }, variables);
    await storage.read("a");
    const { headers, url } = session.requests.at(-1) ?? assert.fail();
    return { header: headers["authorization"], query: new URL(url).searchParams };
  };

  proves("account_key", "signs, also from the environment", async () => {
    assert.match((await authorizationOf({ account_key: key })).header ?? "", /^SharedKey acct:.{44}$/);
    const variables = { AZURE_STORAGE_ACCOUNT_KEY: key, AZURE_STORAGE_ACCOUNT_NAME: "acct" };
    const { session, storage } = through({}, variables);
    await storage.read("a");
    assert.match(session.requests[0]?.headers["authorization"] ?? "", /^SharedKey acct:/);
  });

  proves(
    "sas_token",
    "is sent in the query, with or without its question mark; if there is a key, the key signs instead",
    async () => {
      for (const sas_token of ["sv=1&sig=a%2Bb", "?sv=1&sig=a%2Bb"]) {
        const { header, query } = await authorizationOf({ sas_token });
        assert.deepEqual([header, query.get("sv"), query.get("sig")], [undefined, "1", "a+b"]);
      }
      const both = await authorizationOf({ sas_token: "sv=1&sig=x", account_key: key });
      assert.deepEqual([both.header?.slice(0, 9), both.query.get("sig")], ["SharedKey", null]);
      const { session, storage } = through(
        {},
        { AZURE_STORAGE_SAS_TOKEN: "sig=e", AZURE_STORAGE_ACCOUNT_NAME: "acct" },
      );
      await storage.read("a");
      assert.match(session.requests[0]?.url ?? "", /\?sig=e$/);
    },
  );

  proves("credential", "may be a SAS token, a key, or a token provider, and overrides the others", async () => {
    assert.equal((await authorizationOf({ credential: "?sig=x", account_key: key })).query.get("sig"), "x");
    assert.match((await authorizationOf({ credential: key })).header ?? "", /^SharedKey acct:/);
    const scopes: string[] = [];
    const getToken = async (scope: string) => {
      scopes.push(scope);
      return { token: "of-the-credential", expiresOnTimestamp: Date.now() + 3_600_000 };
    };
    const { header } = await authorizationOf({ credential: { getToken }, account_key: key });
    assert.deepEqual([header, scopes], ["Bearer of-the-credential", ["https://storage.azure.com/.default"]]);
    refusedBecause({ ...account, credential: {} }, /^credential: expected/);
  });

  proves("credential", "is not needed if the host of the account has a SAS token", async () => {
    const account_host = "store.test?sv=1&sig=own";
    const own = through({ account_name: "acct", account_host });
    await own.storage.read("a");
    assert.equal(own.session.requests[0]?.url, "https://store.test/container/a?sv=1&sig=own");
    const given = through({ account_name: "acct", account_host, sas_token: "sig=given" });
    await given.storage.read("a");
    assert.equal(given.session.requests[0]?.url, "https://store.test/container/a?sig=given");
  });

  proves("credential", "is called again when the store refuses its token", async () => {
    let asked = 0;
    const getToken = async () => {
      asked += 1;
      return { token: `t${asked}`, expiresOnTimestamp: Date.now() + 3_600_000 };
    };
    const { session, storage } = through({ ...account, credential: { getToken } });
    session.answers.push({ status: 401 });
    await storage.read("a");
    assert.deepEqual(
      session.requests.map(({ headers }) => headers["authorization"]),
      ["Bearer t1", "Bearer t2"],
    );
  });

  proves(
    ["client_id", "client_secret", "tenant_id"],
    "are exchanged for a token, through request_session",
    async () => {
      const principal = { client_id: "client", client_secret: "hush", tenant_id: "tenant" };
      for (const [config, variables] of [
        [principal, {}],
        [
          {},
          {
            AZURE_STORAGE_ACCOUNT_NAME: "acct",
            AZURE_STORAGE_CLIENT_ID: "client",
            AZURE_STORAGE_CLIENT_SECRET: "hush",
            AZURE_STORAGE_TENANT_ID: "tenant",
          },
        ],
      ] as const) {
        const name = Object.keys(variables).length > 0 ? {} : account;
        const { session, storage } = through({ ...name, ...config }, variables);
        await storage.read("a");
        const exchange = session.requests.find(({ method }) => method === "POST") ?? assert.fail();
        const form = new URLSearchParams(exchange.body);
        assert.match(exchange.url, /^https:\/\/login\.microsoftonline\.com\/tenant\//);
        assert.deepEqual([form.get("client_id"), form.get("client_secret")], ["client", "hush"]);
        assert.equal(session.requests.at(-1)?.headers["authorization"], "Bearer exchanged");
      }
      refusedBecause(
        { ...account, client_id: "c", tenant_id: "t" },
        /client_secret is missing: a service principal needs/,
      );
      assert.match((await authorizationOf({ ...principal, account_key: key })).header ?? "", /^SharedKey/);
    },
  );

  proves("anon", "sends no credentials, unless others are given", async () => {
    assert.equal((await authorizationOf({ anon: true })).header, undefined);
    assert.match((await authorizationOf({ anon: true, account_key: key })).header ?? "", /^SharedKey/);
  });

  proves("anon", "unset takes AZURE_STORAGE_ANON, otherwise the default credential chain", async () => {
    assert.equal((await authorizationOf({}, { AZURE_STORAGE_ANON: "yes" })).header, undefined);
    Object.assign(process.env, { AZURE_TENANT_ID: "tenant", AZURE_CLIENT_ID: "client", AZURE_CLIENT_SECRET: "hush" });
    assert.equal((await authorizationOf({}, { AZURE_STORAGE_ANON: "0" })).header, "Bearer exchanged");
    assert.equal((await authorizationOf({})).header, "Bearer exchanged");
    for (const name of ["AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET"]) delete process.env[name];
  });

  proves("request_session", "is used for every request, and must be able to send them", async () => {
    const { session, storage } = through({ ...account, anon: true });
    await storage.read("a");
    await storage.write("a", "x");
    await storage.remove("a");
    assert.deepEqual(
      session.requests.map(({ method }) => method),
      ["GET", "PUT", "DELETE"],
    );
    refusedBecause({ ...account, anon: true, request_session: {} }, /^request_session: expected/);
  });
});

describe("transfers of az://", () => {
  async function* stream(size: number): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < size; at += 1) yield Buffer.from("x");
  }
  const blocksOf = ({ requests }: RecordingServer) =>
    requests.filter(({ query }) => query.get("comp") === "block").map(({ body }) => body.length);

  proves("blocksize", "is the size of a block, and of a range", async () => {
    const { server, storage } = await against({ blocksize: 4, max_concurrency: 2 });
    await storage.write("a", stream(10));
    assert.deepEqual(blocksOf(server).sort(), [2, 4, 4]);
    await storage.read("a");
    assert.equal(server.requests.at(-1)?.headers.range, "bytes=0-3");
    refusedBecause({ blocksize: 0 }, /^blocksize: expected 1 or more/);
  });

  it("blocks have names of one length, and the list has them in order", async () => {
    const { server, storage } = await against({ blocksize: 1, max_concurrency: 3 });
    await storage.write("a", stream(12));
    const puts = server.requests.filter(({ query }) => query.get("comp") === "block");
    const listed = [...String(server.requests.at(-1)?.body).matchAll(/<Latest>([^<]+)</g)].map(([, id]) => id);
    assert.deepEqual(puts.map(({ query }) => query.get("blockid")).sort(), listed.toSorted());
    assert.deepEqual(new Set(listed.map((id) => id?.length)).size, 1);
    const numbers = listed.map((id) =>
      Number(
        Buffer.from(id ?? "", "base64")
          .toString()
          .slice(-6),
      ),
    );
    assert.deepEqual(
      numbers,
      Array.from({ length: 12 }, (_, index) => index + 1),
    );
  });

  proves("max_concurrency", "is the number of parallel blocks", async () => {
    let most = 0;
    const waiting: (() => void)[] = [];
    // Answers when the maximum number of requests is waiting and a later request has shown that there are no more.
    const answerAll = async () => {
      for (const _ of [1, 2]) await storage.stat("b");
      for (const answer of waiting.splice(0)) answer();
    };
    const { storage } = await against({ blocksize: 1, max_concurrency: 3 }, (request, ...rest) => {
      if (request.query.get("comp") !== "block") return ok(request, ...rest);
      waiting.push(() => ok(request, ...rest));
      most = Math.max(most, waiting.length);
      if (waiting.length === 3) void answerAll();
    });
    await storage.write("a", stream(12));
    assert.equal(most, 3);
  });

  /** Number of blocks that are requested before any is answered. */
  const blocksAtOnce = async (config: ClientConfig, variables: Record<string, string>, blocks: number) => {
    let most = 0;
    const waiting: (() => void)[] = [];
    const server = await serve((request, ...rest) => {
      if (request.query.get("comp") !== "block") return ok(request, ...rest);
      waiting.push(() => ok(request, ...rest));
      most = Math.max(most, waiting.length);
      if (waiting.length === 1) void release();
    });
    const connection_string = `AccountName=acct;AccountKey=${key};BlobEndpoint=${server.url}/acct`;
    const storage = openAt({ connection_string, blocksize: 1, ...config }, variables);
    // Sequential requests show that no more blocks are requested.
    const release = async () => {
      const looking = openAt({ connection_string });
      for (let before = 0; before < waiting.length; ) {
        before = waiting.length;
        for (const _ of [1, 2, 3]) await looking.stat("b");
      }
      for (const answer of waiting.splice(0)) answer();
    };
    await storage.write("a", stream(blocks));
    return most;
  };

  proves("max_concurrency", "unset is fsspec's batch size: from its configuration files, otherwise 128", async () => {
    const folder = await mkdtemp(join(tmpdir(), "millrace-storage-fsspec-"));
    cleanups.push(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, "conf.json"), JSON.stringify({ gather_batch_size: 5 }));
    assert.equal(await blocksAtOnce({}, { FSSPEC_CONFIG_DIR: folder }, 12), 5);
    await writeFile(join(folder, "conf.json"), JSON.stringify({ gather_batch_size: -1 }));
    assert.equal(await blocksAtOnce({}, { FSSPEC_CONFIG_DIR: folder }, 4), 1, "without a limit one after the other");
    assert.equal(await blocksAtOnce({}, {}, 140), 128);
    assert.equal(await blocksAtOnce({ max_concurrency: 70 }, {}, 80), 70, "each has a connection of its own");
  });

  proves("max_concurrency", "unset is less if the open file limit is low or blocks are large", async () => {
    const { transfer } = await openBackend({ blocksize: 64 * 1024 * 1024 });
    assert.equal(transfer.concurrency, 4, "256 MiB of blocks");
    const module = new URL("../../src/schemes/az/concurrency.ts", import.meta.url).href;
    const program = `const { concurrencyOf } = await import(${JSON.stringify(module)});
      console.log(concurrencyOf({ values: { max_concurrency: null }, environment: {} }, 1));`;
    const words = ["-c", 'ulimit -n 256 && exec "$0" "$@"', process.execPath, "--input-type=module", "-e", program];
    const { stdout } = await promisify(execFile)("sh", words);
    assert.equal(Number(stdout), 32, "an eighth of 256 open files");
  });

  proves("timeout", "is sent to the server, in transfers only", async () => {
    const { server, storage } = await against({ timeout: 7 });
    await storage.read("a");
    await storage.write("a", "x");
    await storage.stat("a");
    await Array.fromAsync(storage.list());
    assert.deepEqual(
      server.requests.map(({ query }) => query.get("timeout")),
      ["7", "7", null, null],
    );
  });

  /** Longer than all attempts with the given timeout, and shorter than the first with the default. */
  const longBeforeTheDefault = () => AbortSignal.timeout(18_000);

  proves("connection_timeout", "ends the wait for a connection", async () => {
    // Accepts connections and says nothing, so the TLS handshake gets no answer.
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const account_host = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const storage = openAt({ account_name: "acct", account_host, anon: true, connection_timeout: 1 });
    const inVain = storage.read("a", { signal: longBeforeTheDefault() });
    await assert.rejects(inVain, { code: "network", message: /the connection timed out/ });
    silent.close();
  });

  proves("read_timeout", "ends the wait for an answer", async () => {
    const { storage } = await against({ read_timeout: 1 }, () => {});
    const inVain = storage.read("a", { signal: longBeforeTheDefault() });
    await assert.rejects(inVain, { code: "network", message: /the server sent nothing before the timeout/ });
  });
});

describe("the other parameters of az://", () => {
  proves("version_aware", "lists versions and reads named ones; without it a version is an error", async () => {
    const aware = await against({ version_aware: true });
    await Array.fromAsync(aware.storage.list());
    await aware.storage.read("a", { version: "v" });
    assert.equal(aware.server.requests[0]?.query.get("include"), "versions");
    assert.equal(aware.server.requests[1]?.query.get("versionid"), "v");
    const { server, storage } = await against({ version_aware: false });
    await Array.fromAsync(storage.list());
    assert.equal(server.requests[0]?.query.get("include"), null);
    await assert.rejects(storage.read("a", { version: "v" }), { code: "config", message: /version_aware/ });
  });

  /** A blob of 26 bytes that answers range requests. */
  const alphabet: Answer = (request, response) => {
    const bytes = Buffer.from("abcdefghijklmnopqrstuvwxyz");
    const blob = { etag: '"e"', "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT" };
    if (request.method === "HEAD") {
      response.writeHead(200, { ...blob, "content-length": bytes.length }).end();
      return;
    }
    const [start = 0, end = 0] =
      /=(\d+)-(\d+)/
        .exec(request.headers.range ?? "")
        ?.slice(1)
        .map(Number) ?? [];
    const part = bytes.subarray(start, end + 1);
    const range = { "content-range": `bytes ${start}-${start + part.length - 1}/${bytes.length}` };
    response.writeHead(206, { ...blob, ...range, "content-length": part.length }).end(part);
  };
  const rangesAsked = async (config: ClientConfig) => {
    const { server, storage } = await against({ blocksize: 4, max_concurrency: 1, ...config }, alphabet);
    const file = await storage.open("a");
    for (const [offset, length] of [
      [12, 2],
      [10, 5],
      [12, 2],
    ] as const)
      await file.read(offset, length);
    return server.requests.flatMap(({ headers }) => headers.range ?? []);
  };

  proves("default_cache_type", "selects the cache of opened files: bytes by default, none for null", async () => {
    assert.deepEqual(await rangesAsked({}), ["bytes=12-17", "bytes=10-11"], "what is kept grows on either side");
    assert.deepEqual(await rangesAsked({ default_cache_type: "readahead" }), ["bytes=12-17", "bytes=10-18"]);
    assert.deepEqual(await rangesAsked({ default_cache_type: "blockcache" }), ["bytes=12-15", "bytes=8-11"]);
    assert.deepEqual(await rangesAsked({ default_cache_type: null }), ["bytes=12-13", "bytes=10-14", "bytes=12-13"]);
    refusedBecause({ default_cache_type: "byte" }, /did you mean bytes\?/);
  });

  proves("default_fill_cache", "has no effect: the original never reads it", async () => {
    const asked = await rangesAsked({});
    for (const default_fill_cache of [true, false]) assert.deepEqual(await rangesAsked({ default_fill_cache }), asked);
    refusedBecause({ default_fill_cache: "no" }, /^default_fill_cache: expected boolean/);
  });

  const missing: Answer = (request, response, count) =>
    request.query.get("restype") === "container" && request.method === "HEAD"
      ? response.writeHead(404, { "x-ms-error-code": "ContainerNotFound", "x-ms-request-id": "R1" }).end()
      : ok(request, response, count);

  proves("assume_container_exists", "unset warns if the container cannot be checked, and continues", async () => {
    const warned = once(process, "warning");
    const { storage } = await against({ assume_container_exists: null }, missing);
    assert.equal(await storage.readText("a"), "ok");
    assert.match(String((await warned)[0]), /requests are sent all the same: az:\/\/container: ContainerNotFound/);
  });

  proves("assume_container_exists", "false is an error, each time; true does not check", async () => {
    const strict = await against({ assume_container_exists: false }, missing);
    for (const _ of [1, 2]) await assert.rejects(strict.storage.read("a"), { code: "config", requestId: "R1" });
    const trusting = await against({ assume_container_exists: true }, missing);
    assert.equal(await trusting.storage.readText("a"), "ok");
    assert.equal(trusting.server.requests.length, 1);
  });

  proves("assume_container_exists", "false checks once if the container exists", async () => {
    const { server, storage } = await against({ assume_container_exists: false });
    for (const _ of [1, 2]) await storage.read("a");
    assert.deepEqual(
      server.requests.map(({ method }) => method),
      ["HEAD", "GET", "GET"],
    );
  });

  provesAll();

  it("are all explained, with where they came from and secrets masked", () => {
    const config = {
      account_name: "acct",
      account_key: "hush",
      sas_token: "hush",
      credential: "hush",
      client_secret: "hush",
    };
    const shown = openStorage("az://c", {
      ...config,
      connection_string: "AccountName=a;AccountKey=hush",
    }).explainConfig();
    assert.equal(shown.length, 20);
    assert.ok(!JSON.stringify(shown).includes("hush"));
    const { source, value, effect } =
      shown.find((parameter) => parameter.key === "default_fill_cache") ?? assert.fail();
    assert.deepEqual([source, value, effect], ["default", true, "no-op"]);
    assert.equal(shown.find((parameter) => parameter.key === "default_cache_type")?.value, "bytes");
  });
});

describe("when Azure's store fails", () => {
  const failure =
    (status: number, word: string, headers = {}): Answer =>
    (_request, response) =>
      response
        .writeHead(status, { "x-ms-request-id": "R1", "x-ms-error-code": word, ...headers })
        .end(`<?xml version="1.0"?><Error><Code>${word}</Code><Message>said so\nRequestId:R1</Message></Error>`);

  it("its errors have a code, the store's message and its request id", async () => {
    const cases = [
      [404, "BlobNotFound", "not_found"],
      [403, "AuthenticationFailed", "permission"],
      [412, "ConditionNotMet", "precondition"],
      [409, "BlobAlreadyExists", "precondition"],
      [412, "LeaseIdMissing", "failed"],
      [400, "InvalidInput", "failed"],
    ] as const;
    for (const [status, word, code] of cases) {
      const { server, storage } = await against({}, failure(status, word));
      const message = `az://container/a: ${word}: said so`;
      await assert.rejects(storage.read("a"), { code, status, message, retryable: false, requestId: "R1", key: "a" });
      assert.equal(server.requests.length, 1);
    }
  });

  it("an overload is retried, however it is reported, and each attempt is signed again", async () => {
    const ways = [
      failure(503, "ServerBusy"),
      failure(429, "", { "retry-after": "0" }),
      failure(500, "OperationTimedOut"),
    ];
    for (const way of ways) {
      const { server, storage } = await against({}, (request, response, count) =>
        (count <= 2 ? way : ok)(request, response, count),
      );
      assert.equal(await storage.readText("a"), "ok");
      assert.equal(server.requests.length, 3);
    }
  });

  it("a slow copy is waited for, and its failure is reported", async () => {
    for (const end of ["success", "failed"]) {
      const { storage } = await against({}, (request, response, count) => {
        const status = request.method === "PUT" || count < 4 ? "pending" : end;
        const headers = { "x-ms-copy-id": "C", "x-ms-copy-status": status, "x-ms-copy-status-description": "no room" };
        response.writeHead(request.method === "PUT" ? 202 : 200, headers).end();
      });
      if (end === "success") await storage.copy("a", "b");
      else await assert.rejects(storage.copy("a", "b"), { code: "failed", message: /failed: no room/ });
    }
  });

  it("a key with a backslash, which the store would change, is refused", async () => {
    const { storage } = await against();
    await rejectsWith("invalid", storage.read("a\\b"));
  });
});
