/** Connections: how long each may keep the server waiting, and how many one address may have. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { leastBytes } from "../src/http/connections.ts";
import { type InProcessServer, startInProcess } from "./support/in-process.ts";
import { head, openRaw, type RawConnection } from "./support/raw-http.ts";

/** A connection that never ends would otherwise hold up the tests for ever. */
const timeout = 300_000;
const json = { "content-type": "application/json" };

async function withServer(env: Record<string, string>, work: (server: InProcessServer) => Promise<void>) {
  const server = await startInProcess(env);
  await work(server).finally(() => server.dispose());
}

describe("a request that does not arrive whole in time", { timeout }, () => {
  const brief = { MILLRACE_REQUEST_SECONDS: "1" };
  const body = { ...json, "content-length": 100 };

  for (const [what, text] of Object.entries({
    "has no head": "",
    "has half a head": "POST /api/device-login HTTP/1.1\r\nhost: localhost\r\n",
    "has half a body": `${head("POST /api/device-login", body)}{`,
    "has half a chunk": `${head("POST /api/device-login", { ...json, "transfer-encoding": "chunked" })}64\r\n{`,
    "has half a form": `${head("POST /auth/sign-in", { ...body, "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "none" })}a`,
  }))
    it(`since it ${what} is a 408, and its connection is closed`, async () => {
      await withServer(brief, async ({ url }) => {
        const many = await Promise.all(Array.from({ length: 20 }, () => openRaw(url, text)));
        for (const raw of many) assert.match(await raw.closed(), /^HTTP\/1.1 408 [\s\S]*"request_timeout"/);
      });
    });

  for (const line of ["GET /healthz", "POST /api/datachain/jobs/", "POST /api/nothing", "POST /%zz"])
    it(`is closed when it was answered before: ${line}`, async () => {
      await withServer(brief, async ({ url }) => {
        const raw = await openRaw(url, `${head(line, body)}{`);
        assert.equal((await raw.closed()).match(/HTTP\/1.1/g)?.length, 1);
      });
    });

  it("is closed although the caller sends a little again and again", async () => {
    await withServer(brief, async (server) => {
      const authorization = `Bearer ${await server.token()}`;
      for (const headers of [{}, { authorization }]) {
        const path = "authorization" in headers ? "/api/datachain/jobs/" : "/api/device-login";
        const raw = await openRaw(server.url, head(`POST ${path}`, { ...headers, ...body }));
        const dripping = setInterval(() => raw.socket.write(" "), 100);
        assert.match(await raw.closed(), /^HTTP\/1.1 408 /);
        clearInterval(dripping);
      }
    });
  });

  it("is let go on while a known caller sends enough: an upload over many times the limit", async () => {
    await withServer(brief, async (server) => {
      const boundary = "part";
      const part = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n`;
      const [pieces, end] = [10, `\r\n--${boundary}--\r\n`];
      const headers = {
        authorization: `Bearer ${await server.token()}`,
        "content-type": `multipart/form-data; boundary=${boundary}`,
        "content-length": part.length + pieces * leastBytes + end.length,
      };
      const raw = await openRaw(server.url, head("POST /api/datachain/jobs/files?team_name=main", headers) + part);
      for (let piece = 0; piece < pieces; piece++) {
        raw.socket.write(Buffer.alloc(leastBytes, "x"));
        await delay(400);
      }
      raw.socket.write(end);
      assert.match(await raw.until(/"size"/), new RegExp(`^HTTP/1.1 200 [\\s\\S]*"size":${pieces * leastBytes}`));
      raw.socket.destroy();
    });
  });

  it("is no reason to close a connection that waits for its answer or for the next request", async () => {
    await withServer(brief, async ({ url }) => {
      const raw = await openRaw(url, head("GET /healthz"));
      await raw.until(/"ok"/);
      await delay(3000);
      raw.socket.write(head("GET /readyz"));
      await raw.until(/"ready"/);
      raw.socket.destroy();
    });
  });

  it("and an answer that a stranger does not take is given up", async () => {
    await withServer(brief, async ({ url }) => {
      const raw = await openRaw(url);
      raw.socket.pause();
      const asked = 5000;
      raw.socket.write(head("GET /api/openapi.json").repeat(asked));
      // The server's end is seen by writing: nothing is read here.
      const writing = setInterval(() => raw.socket.write(head("GET /healthz")), 100);
      await raw.closed();
      clearInterval(writing);
    });
  });
});

describe("a connection that the server gives up", { timeout }, () => {
  for (const [what, text] of Object.entries({
    "after what is no HTTP": "nonsense\r\n\r\n",
    "after an upgrade with a body that does not come": head("GET /api/logs/follow/", {
      connection: "Upgrade, close",
      upgrade: "websocket",
      "content-length": 100,
    }),
    "after an upgrade without a token": head("GET /api/logs/follow/", { connection: "Upgrade", upgrade: "websocket" }),
  }))
    it(`${what} is closed on both sides, whatever the caller does with its own`, async () => {
      await withServer({}, async ({ url }) => {
        const raw = await openRaw(url, text, { allowHalfOpen: true });
        if (!raw.socket.readableEnded) await once(raw.socket, "end");
        // Whoever holds its half open is told by a reset that there is no other half.
        const writing = setInterval(() => raw.socket.write("x"), 20);
        await raw.closed();
        clearInterval(writing);
      });
    });
});

describe("connections of one address", { timeout }, () => {
  const few = { MILLRACE_ADDRESS_CONNECTIONS: "3" };
  const openMany = async (url: string, count: number, text = "") => {
    const opened: RawConnection[] = [];
    for (let index = 0; index < count; index++) opened.push(await openRaw(url, text));
    return opened;
  };
  const healthy = async (raw: RawConnection) => {
    raw.socket.write(head("GET /healthz"));
    return raw.until(/"ok"/);
  };
  const close = async (connections: RawConnection[]) => {
    for (const { socket } of connections) socket.destroy();
  };

  it("are limited until somebody shows a good token: beyond, a 429", async () => {
    await withServer(few, async ({ url }) => {
      const opened = await openMany(url, 3);
      for (const raw of opened) await healthy(raw);
      assert.match(await (await openRaw(url)).closed(), /^HTTP\/1.1 429 [\s\S]*retry-after: 1[\s\S]*connections/i);
      opened.pop()?.socket.destroy();
      await delay(100);
      const [next] = await openMany(url, 1);
      assert.ok(next);
      await healthy(next);
      await close([...opened, next]);
    });
  });

  it("that are known are not counted: by a token, or by following a log", async () => {
    await withServer(few, async (server) => {
      const authorization = `Bearer ${await server.token()}`;
      const known: RawConnection[] = [];
      for (let index = 0; index < 10; index++) {
        const raw = await openRaw(server.url, head("GET /api/whoami", { authorization }));
        await raw.until(/"username"/);
        known.push(raw);
      }
      const socket = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": 13 };
      const key = { "sec-websocket-key": Buffer.alloc(16).toString("base64") };
      for (let index = 0; index < 10; index++) {
        const path = "/api/logs/follow/?job_id=x&team_name=main";
        const raw = await openRaw(server.url, head(`GET ${path}`, { authorization, ...socket, ...key }));
        await raw.until(/101 Switching/);
        known.push(raw);
      }
      const strangers = await openMany(server.url, 3);
      for (const raw of strangers) await healthy(raw);
      await close([...known, ...strangers]);
    });
  });

  it("that show a bad token are counted", async () => {
    await withServer(few, async ({ url }) => {
      const opened = await openMany(url, 3, head("GET /api/whoami", { authorization: "Bearer isat_bad" }));
      for (const raw of opened) await raw.until(/ 401 /);
      assert.match(await (await openRaw(url)).closed(), /^HTTP\/1.1 429 /);
      await close(opened);
    });
  });

  it("that is a trusted proxy are not counted: it stands for many", async () => {
    await withServer({ ...few, MILLRACE_TRUST_PROXY: "loopback" }, async ({ url }) => {
      const opened = await openMany(url, 10);
      for (const raw of opened) await healthy(raw);
      await close(opened);
    });
  });
});
