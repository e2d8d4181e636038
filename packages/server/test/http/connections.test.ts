/** Connections: how long each may keep the server waiting, and how many one address may have. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Socket } from "node:net";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { Owners } from "../../src/http/connections/connection-owners.ts";
import { leastBytes } from "../../src/http/connections/connections.ts";
import { mostWaiting } from "../../src/http/connections/waiting-answers.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson } from "../support/people.ts";
import { head, openRaw, type RawConnection } from "../support/raw-http.ts";

/** A connection that never ends would otherwise block the tests forever. */
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
    it(`because it ${what} is a 408, and its connection is closed`, async () => {
      await withServer(brief, async ({ url }) => {
        const many = await Promise.all(Array.from({ length: 20 }, () => openRaw(url, text)));
        for (const raw of many) assert.match(await raw.closed(), /^HTTP\/1.1 408 [\s\S]*"request_timeout"/);
      });
    });

  for (const line of ["GET /healthz", "POST /api/datachain/jobs/", "POST /api/nothing", "POST /%zz"])
    it(`closes the connection even after an earlier answer: ${line}`, async () => {
      await withServer(brief, async ({ url }) => {
        const raw = await openRaw(url, `${head(line, body)}{`);
        assert.equal((await raw.closed()).match(/HTTP\/1.1/g)?.length, 1);
      });
    });

  it("is closed even if the caller keeps sending a few bytes", async () => {
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

  it("may continue while an authenticated caller sends enough: an upload over many times the limit", async () => {
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

  it("does not close a connection that waits for its answer or for the next request", async () => {
    await withServer(brief, async ({ url }) => {
      const raw = await openRaw(url, head("GET /healthz"));
      await raw.until(/"ok"/);
      await delay(3000);
      raw.socket.write(head("GET /readyz"));
      await raw.until(/"ready"/);
      raw.socket.destroy();
    });
  });

  for (const who of ["a stranger", "a known caller"])
    it(`and an answer that ${who} does not read is aborted`, async () => {
      await withServer(brief, async (server) => {
        const raw = await openRaw(server.url);
        if (who === "a known caller") {
          raw.socket.write(head("GET /api/whoami", { authorization: `Bearer ${await server.token()}` }));
          await raw.until(/"username"/);
        }
        raw.socket.pause();
        const asked = 200;
        raw.socket.write(head("GET /api/openapi.json").repeat(asked));
        // Writing shows that the server has closed the connection: nothing is read here.
        const writing = setInterval(() => raw.socket.write("\r\n"), 100);
        await raw.closed();
        clearInterval(writing);
      });
    });
});

describe("a connection that the server closes", { timeout }, () => {
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
        // A caller that keeps its half open gets a reset.
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

  const stillOpen = async (opened: RawConnection[]) => {
    await delay(200);
    return opened.filter(({ socket }) => !socket.closed).length;
  };
  const untilOpen = async (opened: RawConnection[], count: number) => {
    while ((await stillOpen(opened)) > count);
  };
  /** The limit of the address and, on this machine, of the calling user. */
  const most = 2 + 3;
  const half = head("POST /api/device-login", { ...json, "content-length": 9 });

  it("are limited until the caller shows a valid token: beyond the limit, the longest idle one is closed", async () => {
    await withServer(few, async ({ url }) => {
      const opened = await openMany(url, 30);
      await untilOpen(opened, most);
      await healthy(opened.at(-1) as RawConnection);
      await close(opened);
    });
  });

  for (const [what, text] of Object.entries({
    "whose requests do not arrive whole": half,
    "that do not take their answers": head("GET /api/openapi.json").repeat(100),
  }))
    it(`${what} make room for the next like idle ones`, async () => {
      await withServer(few, async ({ url }) => {
        const opened = await openMany(url, most);
        for (const { socket } of opened) {
          socket.pause();
          socket.write(text);
        }
        await delay(500);
        const next = await openRaw(url);
        assert.equal(await stillOpen([next]), 1);
        await healthy(next);
        await close([...opened, next]);
      });
    });

  const skip = process.getuid?.() === 0 ? false : "needs root";
  it("on this machine are limited per user: a job that opens as many as it can locks nobody out", {
    skip,
  }, async (t) => {
    await withServer({ MILLRACE_ADDRESS_CONNECTIONS: "20" }, async (server) => {
      const script = `const { connect } = require("node:net"); let open = 0;
        for (let i = 0; i < 100; i++) connect(${new URL(server.url).port}, "127.0.0.1", function () {
          this.write(${JSON.stringify(half)}); if (++open === 100) console.log("all") }).on("error", () => {});
        setInterval(() => {}, 1000)`;
      const job = spawn(process.execPath, ["-e", script], { uid: 54_321, gid: 54_321, cwd: "/" });
      t.after(() => job.kill("SIGKILL"));
      await once(job.stdout, "data");
      await delay(300);
      const own = await openMany(server.url, 15);
      for (const raw of own) await healthy(raw);
      assert.equal((await server.fetch("/api/whoami")).status, 200);
      await close(own);
      job.kill("SIGKILL");
    });
  });

  it("that are authenticated, by a token or by following a log, do not count", async () => {
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
      assert.equal(await stillOpen([...known, ...strangers]), 23);
      await close([...known, ...strangers]);
    });
  });

  it("that show an invalid token count", async () => {
    await withServer(few, async ({ url }) => {
      const opened = await openMany(url, 30, head("GET /api/whoami", { authorization: "Bearer isat_bad" }));
      await untilOpen(opened, most);
      await close(opened);
    });
  });

  it("of a trusted proxy do not count, because it represents many callers", async () => {
    await withServer({ ...few, MILLRACE_TRUST_PROXY: "loopback" }, async ({ url }) => {
      const opened = await openMany(url, 10);
      for (const raw of opened) await healthy(raw);
      assert.equal(await stillOpen(opened), 10);
      await close(opened);
    });
  });
});

describe("connections of one user", { timeout }, () => {
  it("are at most a quarter of all, so that one user cannot take all of them", async () => {
    // 384 connections: the longest idle one makes room for the next.
    const server = await TestServer.start({ ulimit: "-n 1024", env: { MILLRACE_ISOLATION: "none" } });
    const opened: RawConnection[] = [];
    try {
      const authorization = `Bearer ${await server.token()}`;
      for (let index = 0; index < 400; index++) {
        const raw = await openRaw(server.url, head("GET /api/whoami", { authorization }));
        await raw.until(/"username"/);
        opened.push(raw);
      }
      await delay(100);
      const open = opened.filter(({ socket }) => !socket.closed);
      assert.ok(open.length <= 384 / 4, `${open.length} are open`);
      assert.equal(open.at(-1), opened.at(-1));
      assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
    } finally {
      for (const { socket } of opened) socket.destroy();
      await server.dispose();
    }
  });

  it("that wait for answers are refused beyond the limit, while other users connect", async () => {
    const env = { MILLRACE_ISOLATION: "none", MILLRACE_RESERVED_FILES: "984" };
    const server = await TestServer.start({ ulimit: "-n 1024", env });
    const opened: RawConnection[] = [];
    try {
      // 20 connections, so 5 per user.
      const authorization = `Bearer ${await server.token()}`;
      const upload = { authorization, ...json, "content-length": 1000 };
      for (let index = 0; index < 8; index++) {
        opened.push(await openRaw(server.url, head("POST /api/datachain/jobs/", upload)));
        await delay(100);
      }
      const refused = await Promise.race(opened.slice(5).map((raw) => raw.until(/\r\n\r\n[\s\S]*}/)));
      assert.match(refused, /^HTTP\/1.1 429 [\s\S]*retry-after: 1[\s\S]*5 connections of yours are busy/i);
      assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
    } finally {
      for (const { socket } of opened) socket.destroy();
      await server.dispose();
    }
  });
});

describe("answers that nobody reads", { timeout }, () => {
  it("are at most 256 MiB together: beyond that, the largest of the caller with the most are aborted", async () => {
    await withServer({}, async (server) => {
      const client = await server.client();
      const { id } = await createJob(
        client,
        shell("\u0001".repeat(1_000_000), { start_after: "2040-01-01T00:00:00Z" }),
      );
      const path = `GET /api/datachain/jobs/?team_name=main&job_id=${id}`;
      const ask = async (token: string) => {
        const raw = await openRaw(server.url);
        raw.socket.pause();
        raw.socket.write(head(path, { authorization: `Bearer ${token}` }));
        return raw;
      };
      const vi = await ask((await addPerson(server, "vi", { team: "main", role: "viewer" })).token);
      const token = await server.token();
      const [asked, bytes] = [60, 6_000_000];
      const greedy: RawConnection[] = [];
      for (let index = 0; index < asked; index++) greedy.push(await ask(token));
      const fit = Math.floor(mostWaiting / bytes);
      // Writing shows that the server has closed the connection: nothing is read here.
      for (let open = asked; open > fit; open = greedy.filter(({ socket }) => !socket.closed).length) {
        for (const { socket } of greedy) if (socket.writable) socket.write("\r\n");
        await delay(100);
      }
      vi.socket.resume();
      assert.match(await vi.until(/\}\]$/), /^HTTP\/1.1 200 /);
      for (const { socket } of [vi, ...greedy]) socket.destroy();
    });
  });
});

describe("if all connections are taken", { timeout }, () => {
  it("an idle one is closed first, then one that keeps the server waiting, and last a new one", () => {
    const owners = new Owners();
    const owner = owners.get("somebody", 10);
    const [coming, waitedFor, busy, idle, newest] = Array.from({ length: 5 }, () => new Socket());
    assert.ok(coming && waitedFor && busy && idle && newest);
    const looks = {
      isWaitedFor: (socket: Socket) => socket === waitedFor,
      isComing: (socket: Socket) => socket === coming,
    };
    for (const socket of [coming, waitedFor, busy, idle, newest])
      owners.add(owner, socket, socket !== waitedFor && socket !== busy);
    for (const expected of [idle, waitedFor, coming, undefined]) {
      const least = owners.leastMissed(looks, newest);
      assert.equal(least, expected);
      if (least) owners.remove(owner, least);
    }
  });

  it("an idle one of the caller with the most makes room for the next", async () => {
    // 20 connections: 5 per user, and up to 15 of unauthenticated callers on this machine.
    const env = { MILLRACE_ISOLATION: "none", MILLRACE_RESERVED_FILES: "984" };
    const server = await TestServer.start({ ulimit: "-n 1024", env });
    const opened: RawConnection[] = [];
    try {
      const authorization = `Bearer ${await server.token()}`;
      for (let index = 0; index < 25; index++) {
        const raw = await openRaw(server.url, head("GET /api/whoami", index < 5 ? { authorization } : {}));
        await raw.until(/HTTP\/1.1 (200|401)/);
        opened.push(raw);
      }
      const answer = await openRaw(server.url, head("GET /readyz"));
      await answer.until(/"ready"/);
      answer.socket.destroy();
      assert.ok(opened.filter(({ socket }) => !socket.closed).length < 20);
    } finally {
      for (const { socket } of opened) socket.destroy();
      await server.dispose();
    }
  });

  const skip = process.getuid?.() === 0 ? false : "needs root";
  it("by unauthenticated callers whose requests never complete, new callers connect, and uploads continue", {
    skip,
  }, async (t) => {
    // 20 connections: 5 per user, and 10 of unauthenticated callers with one address or, on this machine, of one user.
    const env = { MILLRACE_ISOLATION: "none", MILLRACE_RESERVED_FILES: "984" };
    const server = await TestServer.start({ ulimit: "-n 1024", env });
    t.after(() => server.dispose());
    const authorization = `Bearer ${await server.token()}`;
    const post = head("POST /api/datachain/jobs/", { authorization, ...json, "content-length": 1000 });
    const upload = await openRaw(server.url, post);
    t.after(() => upload.socket.destroy());
    const half = head("POST /api/device-login", { ...json, "content-length": 9 });
    const script = `const { connect } = require("node:net"); let open = 0;
      const hold = () => connect(${server.port}, "127.0.0.1", function () {
        this.write(${JSON.stringify(half)}); if (++open === 20) console.log("all");
      }).on("error", () => {}).on("close", () => setTimeout(hold, 50));
      for (let i = 0; i < 20; i++) hold()`;
    for (const uid of [54_321, 54_322, 54_323]) {
      const stranger = spawn(process.execPath, ["-e", script], { uid, gid: uid, cwd: "/" });
      t.after(() => stranger.kill("SIGKILL"));
      await once(stranger.stdout, "data");
    }
    let answers = 0;
    for (let index = 0; index < 20; index++)
      for (const path of ["/readyz", "/api/whoami"]) {
        const raw = await openRaw(server.url, head(`GET ${path}`, { authorization, connection: "close" }));
        if (/^HTTP\/1.1 200 /.test(await raw.closed())) answers++;
      }
    assert.ok(answers > 30, `${answers} of 40 were answered`);
    assert.ok(!upload.socket.closed);
  });
});
