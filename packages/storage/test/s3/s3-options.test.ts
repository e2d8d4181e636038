/** Options of botocore in `client_kwargs`, `config_kwargs` and `kwargs`: the effect on the wire of each that works. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { TLSSocket } from "node:tls";
import { crc32 } from "node:zlib";
import { GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { type ClientConfig, openStorage, type Storage } from "@millrace/storage";
import { type Certificate, makeCertificate, whyNoCertificates } from "@millrace/testing/programs/certificates.ts";
import { startVersitygw, whyNoVersitygw } from "@millrace/testing/servers/versitygw.ts";
import type { Environment } from "../../src/configuration/parameters.ts";
import { crc32Text } from "../../src/schemes/s3/checksum.ts";
import { parameters } from "../../src/schemes/s3/parameters.ts";
import { rejectsWith } from "../conformance.ts";
import { startForwardProxy } from "../support/forward-proxy.ts";
import { proofsOf, workingOptions } from "../support/proofs.ts";
import { type Answer, type RecordingServer, startRecordingServer } from "../support/recording-server.ts";
import { redirectNetwork, silenceNetwork } from "../support/redirected-network.ts";

const options = workingOptions(parameters, "client_kwargs", "config_kwargs", "kwargs");
const { proves, provesAll } = proofsOf(parameters, options);

const cleanups: (() => unknown)[] = [];
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-storage-options-"));
});
after(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  await rm(folder, { recursive: true });
});

const keys = { key: "k", secret: "s" };
const ok: Answer = (_request, response) => response.writeHead(200, { etag: '"e"', "content-length": 2 }).end("ok");

async function serve(answer: Answer = ok): Promise<RecordingServer> {
  const server = await startRecordingServer(answer);
  cleanups.push(() => server.stop());
  return server;
}

function opened(config: ClientConfig, environment: Environment = {}): Storage {
  const storage = openStorage("s3://bucket", { ...keys, ...config }, { environment });
  cleanups.push(() => storage.close());
  return storage;
}

async function against(config_kwargs: ClientConfig, answer: Answer = ok, environment: Environment = {}) {
  const server = await serve(answer);
  return { server, storage: opened({ endpoint_url: server.url, config_kwargs }, environment) };
}

const signerOf = (server: RecordingServer) =>
  /Credential=([^/]+)\/\d+\/([^/]+)\//.exec(server.requests.at(-1)?.headers.authorization ?? "")?.slice(1);

const causeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => assert.fail("it succeeded"),
    (error: Error) => [(error as { code?: string }).code, (error.cause as { code?: string }).code],
  );

describe("client_kwargs and kwargs of s3://", () => {
  proves(
    ["endpoint_url", "region_name", "aws_access_key_id", "aws_secret_access_key", "aws_session_token"].map(
      (name) => `client_kwargs.${name}`,
    ),
    "say where requests go, and who signs them for which region",
    async () => {
      const server = await serve();
      const signing = { aws_access_key_id: "c", aws_secret_access_key: "one", aws_session_token: "t" };
      const client_kwargs = { ...signing, region_name: "eu-west-3", endpoint_url: server.url };
      const storage = openStorage("s3://bucket", { client_kwargs }, { environment: {} });
      await storage.read("a");
      assert.deepEqual(signerOf(server), ["c", "eu-west-3"]);
      assert.equal(server.requests[0]?.headers["x-amz-security-token"], "t");
      const signature = async (aws_secret_access_key: string) => {
        const config = { client_kwargs: { ...client_kwargs, aws_secret_access_key } };
        const other = openStorage("s3://bucket", config, { environment: {} });
        return new URL(await other.presign("a")).searchParams.get("X-Amz-Signature");
      };
      assert.notEqual(await signature("one"), await signature("two"));
      await storage.close();
    },
  );

  proves("config_kwargs.region_name", "is the region, overridden by that of client_kwargs", async () => {
    const { server, storage } = await against({ region_name: "eu-north-1" });
    await storage.read("a");
    assert.equal(signerOf(server)?.[1], "eu-north-1");
    const given = { endpoint_url: server.url, client_kwargs: { region_name: "eu-west-1" } };
    await opened({ ...given, config_kwargs: { region_name: "eu-north-1" } }).read("a");
    assert.equal(signerOf(server)?.[1], "eu-west-1");
  });

  proves("client_kwargs.use_ssl", "selects TLS, and overrides use_ssl", async () => {
    const storage = opened({ use_ssl: true, client_kwargs: { use_ssl: false } });
    assert.equal(new URL(await storage.presign("a")).protocol, "http:");
  });

  proves("kwargs.profile", "is the profile that signs", async () => {
    const file = join(folder, "credentials");
    await writeFile(file, "[work]\naws_access_key_id = of-work\naws_secret_access_key = s\n");
    const name = "AWS_SHARED_CREDENTIALS_FILE";
    const was = process.env[name];
    process.env[name] = file;
    cleanups.push(() => {
      if (was === undefined) delete process.env[name];
      else process.env[name] = was;
    });
    const server = await serve();
    const config = { endpoint_url: server.url, kwargs: { profile: "work" } };
    const storage = openStorage("s3://bucket", config, { environment: {} });
    await storage.read("a");
    await storage.close();
    assert.equal(signerOf(server)?.[0], "of-work");
  });
});

describe("config_kwargs of s3:// for timeouts and retries", () => {
  const onlyOnce = { retries: { total_max_attempts: 1 } };

  proves("config_kwargs.read_timeout", "ends waiting for an answer", async () => {
    const { storage } = await against({ read_timeout: 0.05, ...onlyOnce }, () => {});
    assert.deepEqual(await causeOf(storage.read("a")), ["network", "ETIMEDOUT"]);
  });

  proves("config_kwargs.connect_timeout", "ends waiting for a connection", async () => {
    const network = silenceNetwork();
    const config_kwargs = { connect_timeout: 0.05, ...onlyOnce };
    const storage = opened({ endpoint_url: "http://127.0.0.1:9", config_kwargs });
    const cause = await causeOf(storage.read("a")).finally(() => network.restore());
    assert.deepEqual(cause, ["network", "ETIMEDOUT"]);
  });

  const busy: Answer = (_request, response) => response.writeHead(503, { "retry-after": "0" }).end();
  const counted = async (retries: object, environment: Environment = {}) => {
    const { server, storage } = await against({ retries }, busy, environment);
    await rejectsWith("throttled", storage.read("a"));
    return server.requests.length;
  };

  proves("config_kwargs.retries.total_max_attempts", "counts every attempt, as AWS_MAX_ATTEMPTS does", async () => {
    assert.equal(await counted({ total_max_attempts: 2 }), 2);
    assert.equal(await counted({ total_max_attempts: 2, max_attempts: 3 }), 2);
    assert.equal(await counted({}, { AWS_MAX_ATTEMPTS: "2" }), 2);
  });

  proves("config_kwargs.retries.max_attempts", "counts retries, and overrides the environment", async () => {
    assert.equal(await counted({ max_attempts: 0 }), 1);
    assert.equal(await counted({ max_attempts: 2 }), 3);
    assert.equal(await counted({ max_attempts: 1 }, { AWS_MAX_ATTEMPTS: "4" }), 2);
  });

  proves("config_kwargs.retries.mode", "decides the number of attempts if nothing else does", async () => {
    assert.equal(await counted({}), 5);
    assert.equal(await counted({ mode: "legacy" }), 5);
    assert.equal(await counted({ mode: "standard" }), 3);
    assert.equal(await counted({}, { AWS_RETRY_MODE: "adaptive" }), 3);
    assert.equal(await counted({ mode: "standard", max_attempts: 0 }), 1);
  });
});

describe("config_kwargs of s3:// for connections", () => {
  /** Number of connections that this many reads open, one after the other or in parallel. */
  const connectionsOf = async (config_kwargs: ClientConfig, reads: (storage: Storage) => Promise<unknown>) => {
    let connections = 0;
    const server = createServer((_request, response) => response.writeHead(200, { etag: '"e"' }).end("ok"));
    server.on("connection", () => {
      connections += 1;
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const storage = opened({
      endpoint_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      config_kwargs,
    });
    await reads(storage);
    await storage.close();
    server.close();
    return connections;
  };
  const inTurn = async (storage: Storage) => {
    for (const name of ["a", "b", "c"]) await storage.read(name);
    for (const name of ["a", "b", "c"]) await storage.write(name, "x");
  };

  proves("config_kwargs.max_pool_connections", "is the number of connections per host", async () => {
    const atOnce = (storage: Storage) => Promise.all(Array.from({ length: 12 }, () => storage.write("a", "x")));
    assert.equal(await connectionsOf({ max_pool_connections: 2 }, atOnce), 2);
    assert.equal(await connectionsOf({ max_pool_connections: 5 }, atOnce), 5);
  });

  proves("config_kwargs.connector_args.force_close", "opens one for every request", async () => {
    assert.ok((await connectionsOf({}, inTurn)) < 6);
    assert.equal(await connectionsOf({ connector_args: { force_close: true } }, inTurn), 6);
  });

  proves("config_kwargs.connector_args.keepalive_timeout", "is how long an idle one is kept", async () => {
    const pause = (storage: Storage) => async () => {
      await storage.read("a");
      await new Promise((resolve) => setTimeout(resolve, 2500));
      await storage.read("a");
    };
    const apart = (storage: Storage) => pause(storage)();
    assert.equal(await connectionsOf({ connector_args: { keepalive_timeout: 0.5 } }, apart), 2);
    assert.equal(await connectionsOf({ connector_args: { keepalive_timeout: 60 } }, apart), 1);
  });

  const probes = process.platform === "linux";
  proves("config_kwargs.tcp_keepalive", "enables keep-alive probes of the operating system", async () => {
    if (!probes) return;
    // Of our established ends (01), whose remote address has the server's port. 00 is no timer, 01 is for
    // unacknowledged bytes, 02 is for keep-alive probes.
    const timersTo = async (port: string) => {
      const lines = (await readFile("/proc/net/tcp", "utf8")).split("\n").map((line) => line.trim().split(/\s+/));
      const ours = lines.filter(([, , remote, state]) => state === "01" && remote?.endsWith(`:${port}`));
      return ours.map((line) => line[5]?.slice(0, 2));
    };
    const timersOf = async (config_kwargs: ClientConfig, call: (storage: Storage) => Promise<unknown>) => {
      const { server, storage } = await against(config_kwargs);
      await call(storage);
      const port = Number(new URL(server.url).port).toString(16).toUpperCase().padStart(4, "0");
      let timers = await timersTo(port);
      while (timers.includes("01")) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        timers = await timersTo(port);
      }
      return timers;
    };
    const reading = (storage: Storage) => storage.read("a");
    const writing = (storage: Storage) => storage.write("a", "x");
    assert.deepEqual(await timersOf({ tcp_keepalive: true }, reading), ["02"]);
    assert.deepEqual(await timersOf({ tcp_keepalive: false }, reading), ["00"]);
    assert.deepEqual(await timersOf({ tcp_keepalive: true }, writing), ["02"]);
    assert.deepEqual(await timersOf({ tcp_keepalive: false }, writing), ["00"]);
  });
});

describe("config_kwargs of s3:// for proxies", () => {
  proves("config_kwargs.proxies", "are used for requests, by protocol, or by protocol and host", async () => {
    const [server, proxy, other] = [await serve(), await startForwardProxy(), await startForwardProxy()];
    cleanups.push(proxy.stop, other.stop);
    const through = async (proxies: ClientConfig, environment: Environment = {}) => {
      const storage = opened({ endpoint_url: server.url, config_kwargs: { proxies } }, environment);
      assert.equal(await storage.readText("a"), "ok");
      return [proxy.asked.splice(0), other.asked.splice(0)];
    };
    const asked = [`GET ${server.url}/bucket/a`];
    assert.deepEqual(await through({ http: proxy.url }), [asked, []]);
    assert.deepEqual(await through({ http: new URL(proxy.url).host }), [asked, []], "without its own protocol");
    assert.deepEqual(await through({ https: proxy.url }), [[], []]);
    assert.deepEqual(await through({ http: proxy.url, "http://127.0.0.1": other.url }), [[], asked]);
    const environment = { HTTP_PROXY: proxy.url };
    assert.deepEqual(await through({}, environment), [[], []], "an empty dict is none");
    assert.throws(() => opened({ config_kwargs: { proxies: { http: "ftp://x" } } }), /config_kwargs\.proxies\.http/);
  });

  proves("config_kwargs.proxies", "unset are those of the environment, except for the hosts of NO_PROXY", async () => {
    const [server, proxy] = [await serve(), await startForwardProxy()];
    cleanups.push(proxy.stop);
    const asked = async (environment: Environment) => {
      await opened({ endpoint_url: server.url }, environment).read("a");
      return proxy.asked.splice(0).length;
    };
    const { host } = new URL(server.url);
    assert.equal(await asked({ HTTP_PROXY: proxy.url }), 1);
    assert.equal(await asked({ http_proxy: proxy.url, HTTP_PROXY: "http://127.0.0.1:1" }), 1, "small letters first");
    assert.equal(await asked({ HTTPS_PROXY: proxy.url }), 0);
    for (const NO_PROXY of ["127.0.0.1", host, "*", "a.test, .0.0.1"]) {
      assert.equal(await asked({ HTTP_PROXY: proxy.url, NO_PROXY }), 0, NO_PROXY);
    }
    assert.equal(await asked({ HTTP_PROXY: proxy.url, NO_PROXY: "7.0.0.1,store.test" }), 1);
  });
});

const noTls = await whyNoCertificates();
describe("config_kwargs of s3:// over TLS", { skip: noTls }, () => {
  let [store, client]: Certificate[] = [];
  let endpoint_url: string;
  const shown: unknown[] = [];
  const bodies: (string | undefined)[] = [];
  before(async () => {
    store = await makeCertificate(folder, "store");
    client = await makeCertificate(folder, "client");
    const tls = { key: store.key, cert: store.cert, ca: client.cert, requestCert: true, rejectUnauthorized: false };
    const server = createSecureServer(tls, (request, response) => {
      const socket = request.socket as TLSSocket;
      shown.push(socket.authorized ? socket.getPeerCertificate().subject?.CN : undefined);
      bodies.push(request.headers["x-amz-content-sha256"] as string | undefined);
      request.resume();
      response.writeHead(200, { etag: '"e"', "content-length": 2 }).end(request.method === "HEAD" ? undefined : "ok");
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    cleanups.push(() => {
      server.closeAllConnections();
      server.close();
    });
    endpoint_url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  const open = (config_kwargs: ClientConfig) =>
    opened({ endpoint_url, config_kwargs, client_kwargs: { verify: store?.certFile } });

  proves("client_kwargs.verify", "names the trusted certificates, or trusts any", async () => {
    assert.equal(await open({}).readText("a"), "ok");
    assert.equal(await opened({ endpoint_url, client_kwargs: { verify: false } }).readText("a"), "ok");
    await rejectsWith("network", opened({ endpoint_url }).read("a"));
  });

  proves("config_kwargs.client_cert", "is sent to the store: two files, or one with both", async () => {
    const both = join(folder, "both.pem");
    await writeFile(both, `${client?.cert}${client?.key}`);
    for (const client_cert of [[client?.certFile, client?.keyFile], both]) {
      shown.length = 0;
      const storage = open({ client_cert });
      await storage.read("a");
      await storage.write("a", "x");
      assert.deepEqual(shown, ["client", "client"], "on connections of either kind");
    }
    shown.length = 0;
    await open({}).read("a");
    assert.deepEqual(shown, [undefined]);
    await assert.rejects(open({ client_cert: ["one"] }).read("a"), {
      code: "config",
      message: /client_cert: expected/,
    });
    await assert.rejects(open({ client_cert: "/none" }).read("a"), { code: "config", message: /client_cert: ENOENT/ });
  });

  proves("config_kwargs.s3.payload_signing_enabled", "signs written content, also over TLS", async () => {
    const hashes = async (payload_signing_enabled?: boolean) => {
      bodies.length = 0;
      await open({ s3: { payload_signing_enabled } }).write("a", "x");
      return bodies;
    };
    assert.deepEqual(await hashes(), ["UNSIGNED-PAYLOAD"]);
    assert.deepEqual(await hashes(false), ["UNSIGNED-PAYLOAD"]);
    assert.match((await hashes(true))[0] ?? "", /^[0-9a-f]{64}$/);
  });

  proves(
    ["config_kwargs.proxies_config.proxy_ca_bundle", "config_kwargs.proxies_config.proxy_client_cert"],
    "verify a TLS proxy, and authenticate to it",
    async () => {
      const place = await makeCertificate(folder, "proxy");
      const proxy = await startForwardProxy({ key: place.key, cert: place.cert, ca: client?.cert ?? "" });
      cleanups.push(proxy.stop);
      const proxies = { https: proxy.url };
      const retries = { max_attempts: 0 };
      const proxy_client_cert = [client?.certFile, client?.keyFile];
      const proxy_ca_bundle = place.certFile;
      const through = (proxies_config: object) => open({ proxies, retries, proxies_config }).readText("a");
      assert.equal(await through({ proxy_ca_bundle, proxy_client_cert }), "ok");
      assert.deepEqual(proxy.asked, [`CONNECT ${new URL(endpoint_url).host}`]);
      assert.deepEqual(proxy.shown, ["client"]);
      await rejectsWith("network", through({ proxy_client_cert }));
      await rejectsWith("network", through({ proxy_ca_bundle }));
    },
  );
});

describe("config_kwargs of s3:// for names and addresses", () => {
  proves("config_kwargs.user_agent", "is sent with every request, and not signed", async () => {
    const { server, storage } = await against({ user_agent: "mine/1" });
    await storage.read("a");
    await storage.write("a", "x");
    for (const { headers } of server.requests) {
      assert.equal(headers["user-agent"], "mine/1");
      assert.ok(!/SignedHeaders=[^,]*user-agent/.test(headers.authorization ?? ""));
    }
    assert.throws(() => opened({ config_kwargs: { user_agent: "a\nb" } }), /printable ASCII/);
    const plain = await against({});
    await plain.storage.read("a");
    assert.equal(plain.server.requests[0]?.headers["user-agent"], undefined);
  });

  proves(["config_kwargs.user_agent_extra", "config_kwargs.user_agent_appid"], "are added to it", async () => {
    const sent = async (config_kwargs: ClientConfig, environment: Environment = {}) => {
      const { server, storage } = await against(config_kwargs, ok, environment);
      await storage.read("a");
      return server.requests[0]?.headers["user-agent"];
    };
    assert.equal(await sent({ user_agent_extra: "more/2" }), "millrace-storage more/2");
    assert.equal(await sent({ user_agent: "mine/1", user_agent_extra: "more/2" }), "mine/1 more/2");
    assert.equal(await sent({ user_agent_appid: "my app" }), "millrace-storage app/my-app");
    assert.equal(await sent({}, { AWS_SDK_UA_APP_ID: "app" }), "millrace-storage app/app");
  });

  const hostOf = async (config_kwargs: ClientConfig, environment: Environment = {}, config: ClientConfig = {}) =>
    new URL(await opened({ config_kwargs, ...config }, environment).presign("a")).host;

  proves(
    [
      "config_kwargs.use_dualstack_endpoint",
      "config_kwargs.s3.use_dualstack_endpoint",
      "config_kwargs.use_fips_endpoint",
    ],
    "choose a variant of the standard endpoint",
    async () => {
      assert.equal(await hostOf({}), "bucket.s3.us-east-1.amazonaws.com");
      assert.equal(await hostOf({ use_dualstack_endpoint: true }), "bucket.s3.dualstack.us-east-1.amazonaws.com");
      assert.equal(
        await hostOf({ s3: { use_dualstack_endpoint: true } }),
        "bucket.s3.dualstack.us-east-1.amazonaws.com",
      );
      assert.equal(await hostOf({ use_fips_endpoint: true }), "bucket.s3-fips.us-east-1.amazonaws.com");
      assert.equal(await hostOf({}, { AWS_USE_FIPS_ENDPOINT: "true" }), "bucket.s3-fips.us-east-1.amazonaws.com");
      const both = { use_dualstack_endpoint: true, use_fips_endpoint: true };
      assert.equal(await hostOf(both), "bucket.s3-fips.dualstack.us-east-1.amazonaws.com");
      const given = { endpoint_url: "http://store", config_kwargs: { use_fips_endpoint: true } };
      assert.throws(() => opened(given), /use_fips_endpoint: this option works only with the standard endpoint/);
    },
  );

  proves("config_kwargs.s3.use_accelerate_endpoint", "selects the transfer acceleration endpoint", async () => {
    assert.equal(await hostOf({ s3: { use_accelerate_endpoint: true } }), "bucket.s3-accelerate.amazonaws.com");
    const s3 = { use_accelerate_endpoint: true, addressing_style: "path" };
    const dual = { s3, use_dualstack_endpoint: true };
    assert.equal(await hostOf(dual), "bucket.s3-accelerate.dualstack.amazonaws.com");
    assert.throws(
      () => opened({ config_kwargs: { s3, use_fips_endpoint: true } }),
      /cannot be combined with config_kwargs\.use_fips/,
    );
  });

  proves("config_kwargs.s3.us_east_1_regional_endpoint", "legacy selects the old address of us-east-1", async () => {
    assert.equal(await hostOf({ s3: { us_east_1_regional_endpoint: "legacy" } }), "bucket.s3.amazonaws.com");
    const elsewhere = { region_name: "eu-west-1", s3: { us_east_1_regional_endpoint: "legacy" } };
    assert.equal(await hostOf(elsewhere), "bucket.s3.eu-west-1.amazonaws.com");
  });

  proves("config_kwargs.ignore_configured_endpoint_urls", "ignores those of the environment", async () => {
    const environment = { AWS_ENDPOINT_URL: "http://weak", AWS_ENDPOINT_URL_S3: "http://weaker" };
    const ignoring = { ignore_configured_endpoint_urls: true };
    assert.equal(await hostOf({}, environment), "weaker");
    assert.equal(await hostOf(ignoring, environment), "bucket.s3.us-east-1.amazonaws.com");
    assert.equal(await hostOf(ignoring, environment, { endpoint_url: "http://given" }), "given");
  });

  proves("config_kwargs.s3.addressing_style", "puts the bucket into the host or into the path", async () => {
    const server = await serve();
    const network = redirectNetwork(server.url);
    const endpoint_url = "http://store.example:8080";
    const read = async (addressing_style: string, config: ClientConfig) =>
      opened({ use_ssl: false, config_kwargs: { s3: { addressing_style } }, ...config }).read("a b");
    await read("virtual", { endpoint_url });
    await read("auto", { endpoint_url });
    await read("path", {});
    await read("auto", {}).finally(() => network.restore());
    assert.deepEqual(
      server.requests.map(({ headers, path }) => headers.host + path),
      [
        "bucket.store.example:8080/a%20b",
        "store.example:8080/bucket/a%20b",
        "s3.us-east-1.amazonaws.com/bucket/a%20b",
        "bucket.s3.us-east-1.amazonaws.com/a%20b",
      ],
    );
    assert.deepEqual(network.hosts.slice(0, 2), ["bucket.store.example", "store.example"]);
  });

  proves("config_kwargs.signature_version", "is version 4, and no other", async () => {
    const { server, storage } = await against({ signature_version: "s3v4" });
    await storage.read("a");
    assert.match(server.requests[0]?.headers.authorization ?? "", /^AWS4-HMAC-SHA256 /);
    assert.throws(() => opened({ config_kwargs: { signature_version: "s3" } }), /expected one of s3v4/);
  });
});

const noServer = await whyNoVersitygw();
describe("config_kwargs of s3:// for checksums", { skip: noServer, timeout: 120_000 }, () => {
  const five = 5 * 1024 * 1024;

  proves(
    "config_kwargs.request_checksum_calculation",
    "sends checksums that a real store checks and stores",
    async () => {
      const server = await startVersitygw({ sidecar: true });
      cleanups.push(() => server.stop());
      const bucket = await server.makeBucket("sums");
      const config_kwargs = { request_checksum_calculation: "when_supported" };
      const storage = openStorage(`s3://${bucket}`, { ...server.config, config_kwargs }, { environment: {} });
      cleanups.push(() => storage.close());
      await storage.write("small", "hello");
      const asked = { Bucket: bucket, ChecksumMode: "ENABLED" } as const;
      const small = await server.vendor.send(new GetObjectCommand({ ...asked, Key: "small" }));
      assert.equal(small.ChecksumCRC32, crc32Text(crc32("hello")));
      const bytes = Buffer.alloc(five + 7, "x");
      await storage.write("big", bytes, { partSize: five });
      assert.deepEqual(Buffer.from(await storage.read("big")), bytes);
      const big = await server.vendor.send(new GetObjectCommand({ ...asked, Key: "big" }));
      assert.match(big.ChecksumCRC32 ?? "", /-2$/, "a checksum of the parts' checksums");
      big.Body?.transformToByteArray();
    },
  );

  it("unset sends none", async () => {
    const { server, storage } = await against({});
    await storage.write("a", "x");
    assert.equal(server.requests[0]?.headers["x-amz-checksum-crc32"], undefined);
  });

  proves("config_kwargs.response_checksum_validation", "compares whole objects with the store's checksum", async () => {
    const server = await startVersitygw({ sidecar: true });
    cleanups.push(() => server.stop());
    const bucket = await server.makeBucket("sums");
    for (const ChecksumAlgorithm of ["CRC32", "SHA1", "SHA256"] as const) {
      const put = { Bucket: bucket, Key: ChecksumAlgorithm, Body: "hello", ChecksumAlgorithm };
      await server.vendor.send(new PutObjectCommand(put));
    }
    const config_kwargs = { response_checksum_validation: "when_supported" };
    const storage = openStorage(`s3://${bucket}`, { ...server.config, config_kwargs }, { environment: {} });
    cleanups.push(() => storage.close());
    for (const name of ["CRC32", "SHA1", "SHA256"]) {
      assert.equal(await storage.readText(name), "hello");
      await writeFile(join(server.data, bucket, name), "jello");
      await assert.rejects(storage.read(name), {
        code: "failed",
        message: /the received bytes do not match the store's checksum/,
      });
      await assert.rejects(Array.fromAsync(storage.readStream(name)), { code: "failed" });
      assert.equal(Buffer.from(await storage.read(name, { start: 1, end: 3 })).toString(), "el", "ranges have none");
    }
    const careless = openStorage(`s3://${bucket}`, server.config, { environment: {} });
    cleanups.push(() => careless.close());
    assert.equal(await careless.readText("CRC32"), "jello");
  });
});

describe("options of s3://", () => provesAll());
