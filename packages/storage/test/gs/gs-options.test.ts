/** Options of aiohttp in `session_kwargs`: the effect on the wire of each that works. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, describe } from "node:test";
import { type ClientConfig, openStorage, type Storage } from "@millrace/storage";
import type { Environment } from "../../src/configuration/parameters.ts";
import { parameters } from "../../src/schemes/gs/parameters.ts";
import { rejectsWith } from "../conformance.ts";
import { startForwardProxy } from "../support/forward-proxy.ts";
import { proofsOf, workingOptions } from "../support/proofs.ts";
import { type Answer, startRecordingServer } from "../support/recording-server.ts";
import { silenceNetwork } from "../support/redirected-network.ts";

const { proves, provesAll } = proofsOf(parameters, [
  ...workingOptions(parameters, "session_kwargs"),
  "session_kwargs.timeout",
]);

const cleanups: (() => unknown)[] = [];
after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

const resource = {
  name: "a",
  bucket: "bucket",
  size: "2",
  generation: "7",
  updated: "2026-01-01T00:00:00Z",
  etag: "e",
};
const ok: Answer = ({ query, method }, response) => {
  if (method === "GET" && query.get("alt") === "media") {
    const told = { etag: '"e"', "content-length": 2, "x-goog-generation": "7", "x-goog-stored-content-length": "2" };
    return response.writeHead(200, told).end("ok");
  }
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(resource));
};

function opened(endpoint_url: string, config: ClientConfig, environment: Environment = {}): Storage {
  const storage = openStorage("gs://bucket", { endpoint_url, token: "anon", ...config }, { environment });
  cleanups.push(() => storage.close());
  return storage;
}

async function against(session_kwargs: ClientConfig, config: ClientConfig = {}, answer: Answer = ok) {
  const server = await startRecordingServer(answer);
  cleanups.push(() => server.stop());
  return { server, storage: opened(server.url, { session_kwargs, ...config }) };
}

const sentBy = async (session_kwargs: ClientConfig, config: ClientConfig = {}) => {
  const { server, storage } = await against(session_kwargs, config);
  await storage.read("a");
  await storage.write("a", "ok");
  return server.requests.map(({ headers }) => headers);
};

const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

describe("session_kwargs of gs:// for every request", () => {
  proves("session_kwargs.headers", "are sent, below those of the request", async () => {
    const sent = await sentBy({ headers: { "X-Test": "yes", Authorization: "weak" } }, { token: "strong" });
    for (const headers of sent) assert.deepEqual([headers["x-test"], headers.authorization], ["yes", "Bearer strong"]);
    assert.throws(() => opened("http://store", { session_kwargs: { headers: { a: "b\nc" } } }), /printable ASCII/);
  });

  proves("session_kwargs.cookies", "are sent", async () => {
    for (const { cookie } of await sentBy({ cookies: { a: "1", b: "2" } })) assert.equal(cookie, "a=1; b=2");
  });

  proves("session_kwargs.auth", "is a name and a password, unless there is a token", async () => {
    for (const auth of [["me", "hush"], { login: "me", password: "hush" }]) {
      for (const { authorization } of await sentBy({ auth })) assert.equal(authorization, basic("me:hush"));
    }
    for (const { authorization } of await sentBy({ auth: ["me", "hush"] }, { token: "t" })) {
      assert.equal(authorization, "Bearer t");
    }
    assert.throws(
      () => opened("http://store", { session_kwargs: { auth: [1] } }),
      /auth: expected \[login, password\]/,
    );
    const told = JSON.stringify(opened("http://store", { session_kwargs: { auth: ["me", "hush"] } }).explainConfig());
    assert.ok(!told.includes("hush"));
  });
});

describe("session_kwargs of gs:// for proxies", () => {
  const asking = async (
    session_kwargs: (proxy: string) => ClientConfig,
    environment?: (proxy: string) => Environment,
  ) => {
    const { server } = await against({});
    const proxy = await startForwardProxy();
    cleanups.push(proxy.stop);
    const config = { session_kwargs: session_kwargs(proxy.url) };
    assert.equal(await opened(server.url, config, environment?.(proxy.url)).readText("a"), "ok");
    return proxy;
  };

  proves("session_kwargs.proxy", "is used for requests", async () => {
    const { asked } = await asking((proxy) => ({ proxy }));
    assert.match(asked[0] ?? "", /^GET http:\/\/127\.0\.0\.1:\d+\/.*bucket/);
    assert.throws(() => opened("http://store", { session_kwargs: { proxy: "ftp://x" } }), /session_kwargs\.proxy/);
  });

  proves("session_kwargs.proxy_auth", "is sent to the proxy only", async () => {
    const { authorizations } = await asking((proxy) => ({ proxy, proxy_auth: ["me", "hush"] }));
    assert.deepEqual(authorizations, [basic("me:hush")]);
    for (const headers of await sentBy({ proxy_auth: ["me", "hush"] })) {
      assert.equal(headers["proxy-authorization"], undefined);
    }
  });

  proves(
    "session_kwargs.trust_env",
    "uses the proxy of the environment; without it the environment is ignored",
    async () => {
      const environment = (proxy: string) => ({ HTTP_PROXY: proxy });
      assert.equal((await asking(() => ({ trust_env: true }), environment)).asked.length, 1);
      assert.equal((await asking(() => ({}), environment)).asked.length, 0);
      const sparing = (proxy: string) => ({ HTTP_PROXY: proxy, NO_PROXY: "127.0.0.1" });
      assert.equal((await asking(() => ({ trust_env: true }), sparing)).asked.length, 0);
      const elsewhere = () => ({ HTTP_PROXY: "http://127.0.0.1:1" });
      assert.equal(
        (await asking((proxy) => ({ proxy, trust_env: true }), elsewhere)).asked.length,
        1,
        "proxy goes before",
      );
    },
  );
});

describe("session_kwargs of gs:// for timeouts and connections", () => {
  const silent: Answer = () => {};
  const noAnswer = async (session_kwargs: ClientConfig) => {
    const { storage } = await against(session_kwargs, {}, silent);
    await rejectsWith("network", storage.read("a"));
  };
  const noConnection = async (session_kwargs: ClientConfig) => {
    const network = silenceNetwork();
    const reading = opened("http://127.0.0.1:9", { session_kwargs }).read("a");
    await rejectsWith("network", reading).finally(() => network.restore());
  };

  // With the default of a minute for each of five attempts, none of these would end in the time of a test.
  proves("session_kwargs.timeout", "as a number limits the wait for connections and for answers", async () => {
    await noAnswer({ timeout: 0.1 });
    await noConnection({ timeout: 0.1 });
  });
  proves("session_kwargs.timeout.total", "does the same", async () => {
    await noAnswer({ timeout: { total: 0.1 } });
    await noConnection({ timeout: { total: 0.1 } });
  });
  proves(["session_kwargs.timeout.sock_read", "session_kwargs.read_timeout"], "bound waits for answers", async () => {
    await noAnswer({ timeout: { total: 60, sock_read: 0.1 } });
    await noAnswer({ read_timeout: 0.1 });
  });
  proves(
    ["session_kwargs.timeout.connect", "session_kwargs.timeout.sock_connect", "session_kwargs.conn_timeout"],
    "limit the wait for connections",
    async () => {
      await noConnection({ timeout: { connect: 0.1 } });
      await noConnection({ timeout: { connect: 60, sock_connect: 0.1 } });
      await noConnection({ conn_timeout: 0.1 });
    },
  );

  proves("session_kwargs.limit", "is the number of connections", async () => {
    for (const limit of [2, 5]) {
      let connections = 0;
      const server = createServer((_request, response) => response.end(JSON.stringify(resource)));
      server.on("connection", () => {
        connections += 1;
      });
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const storage = opened(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
        session_kwargs: { limit },
      });
      await Promise.all(Array.from({ length: 12 }, () => storage.write("a", "ok")));
      await storage.close();
      server.close();
      assert.equal(connections, limit);
    }
  });
});

describe("options of gs://", () => provesAll());
