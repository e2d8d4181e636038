/** Pipelined requests, and many at once: other callers are served in between. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { type SQLInputValue, StatementSync } from "node:sqlite";
import { after, before, describe, it, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { pino } from "pino";
import { Connections } from "../../src/http/connections/connections.ts";
import { lookFirst } from "../../src/http/connections/first-look.ts";
import { readInTurns } from "../../src/http/connections/read-turns.ts";
import { RequestTurns } from "../../src/http/connections/request-turns.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { head, openRaw } from "../support/raw-http.ts";

const timeout = 120_000;

describe("pipelined requests of one connection", { timeout }, () => {
  let server: InProcessServer;
  before(async () => {
    server = await startInProcess();
  });
  after(() => server.dispose());

  /** Number of lists that have been read from the store. */
  function countLists(t: TestContext): () => number {
    let lists = 0;
    for (const name of ["all", "iterate"] as const) {
      const method = StatementSync.prototype[name];
      t.mock.method(StatementSync.prototype, name, function (this: StatementSync, ...values: SQLInputValue[]) {
        if (/ from "jobs"/.test(this.sourceSQL)) lists++;
        return Reflect.apply(method, this, values);
      });
    }
    return () => lists;
  }

  it("are handled one at a time: another caller's request is answered after a few of them", async (t) => {
    const authorization = `Bearer ${await server.token()}`;
    await createJob(await server.client(), shell("true", { start_after: "2040-01-01T00:00:00Z" }));
    const [many, other] = [await openRaw(server.url), await openRaw(server.url)];
    const lists = countLists(t);
    const asked = 15;
    many.socket.write(head("GET /api/datachain/jobs/?team_name=main&limit=1000", { authorization }).repeat(asked));
    other.socket.write(head("GET /readyz"));
    await other.until(/"ready"/);
    assert.ok(lists() <= 5, `answered after ${lists()} lists`);
    many.socket.write(head("GET /healthz"));
    await many.until(/"ok"/);
    assert.ok(lists() >= asked, `${lists()} lists`);
    for (const { socket } of [many, other]) socket.destroy();
  });

  it("are all answered, in order, whatever they are", async () => {
    const authorization = `Bearer ${await server.token()}`;
    const body = JSON.stringify({ team_name: "main", query: "true", query_type: "SHELL" });
    const json = { authorization, "content-type": "application/json" };
    const requests: [string, number][] = [
      [head("HEAD /healthz"), 200],
      [`${head("GET /healthz", { "content-length": 3 })}abc`, 200],
      [`${head("POST /api/datachain/jobs/", { ...json, "content-length": body.length })}${body}`, 200],
      [head("GET /api/nothing"), 404],
      [head("GET /%zz"), 400],
      [`${head("POST /api/datachain/jobs/", { ...json, "transfer-encoding": "chunked" })}2\r\n{}\r\n0\r\n\r\n`, 422],
      [head("GET /api/whoami"), 401],
      [head("GET /api/openapi.json"), 200],
      [head("GET /metrics", { authorization }), 200],
    ];
    const all = requests;
    const raw = await openRaw(server.url, all.map(([text]) => text).join("") + head("GET /", { connection: "close" }));
    const statuses = [...(await raw.closed()).matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => Number(status));
    assert.deepEqual(
      statuses.slice(0, -1),
      all.map(([, status]) => status),
    );
  });
});

describe("a piece of data that arrives over a connection", { timeout }, () => {
  it("is discarded once the connection is closed", async () => {
    let handled = 0;
    const server = createServer((request) => {
      handled++;
      request.socket.destroy();
    });
    lookFirst(server);
    await once(server.listen(0, "127.0.0.1"), "listening");
    const raw = await openRaw(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    raw.socket.write(head("GET /").repeat(500));
    await raw.closed();
    assert.equal(handled, 1);
    server.close();
  });

  it("closes the connection if it is part of a body in tiny pieces, before many of them are buffered", async () => {
    const server = await startInProcess();
    const json = { "content-type": "application/json", "transfer-encoding": "chunked" };
    const crumbs = await openRaw(server.url, head("POST /api/device-login", json) + "1\r\n \r\n".repeat(2000));
    await crumbs.closed();
    const raw = await openRaw(server.url);
    const body = JSON.stringify({ client_name: "x".repeat(2000) });
    const lines = [...body].map((letter) => `1\r\n${letter}\r\n`).slice(0, 250);
    raw.socket.write(
      head("POST /api/device-login", { "content-type": "application/json", "transfer-encoding": "chunked" }) +
        lines.join("") +
        `${(body.length - 250).toString(16)}\r\n${body.slice(250)}\r\n0\r\n\r\n`,
    );
    await raw.until(/HTTP\/1.1 \d+/);
    raw.socket.destroy();
    await server.dispose();
  });
});

describe("a connection", { timeout }, () => {
  /** A server that starts the requests that are due and answers when the test says so. */
  async function listening(t: TestContext) {
    const connections = new Connections({
      total: 100,
      perAddress: 50,
      perUser: 50,
      seconds: 60,
      isProxy: () => false,
      callers: { keyOf: async () => "somebody" },
    });
    let come = 0;
    const begun: ServerResponse[] = [];
    const server = createServer((request: IncomingMessage, response) => {
      come++;
      connections.onceItsTurn(request, response, () => void begun.push(response));
    });
    connections.guard(server, pino({ level: "silent" }));
    await once(server.listen(0, "127.0.0.1"), "listening");
    t.after(() => server.close());
    const raw = await openRaw(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    t.after(() => raw.socket.destroy());
    return { raw, begun, come: () => come, server };
  }

  it("starts its next request when the previous answer is sent, and none when it is closed", async (t) => {
    const { raw, begun, server } = await listening(t);
    raw.socket.write(head("GET /").repeat(5));
    while (begun.length < 1) await delay(10);
    begun[0]?.end("first");
    await raw.until(/first/);
    while (begun.length < 2) await delay(10);
    await delay(50);
    assert.equal(begun.length, 2);
    const gone = once(begun[1] as ServerResponse, "close");
    raw.socket.destroy();
    await gone;
    await new Promise((resolve) => server.close(resolve));
    assert.equal(begun.length, 2);
  });

  it("is closed if it has very many unanswered requests", async (t) => {
    const { raw, come, begun } = await listening(t);
    raw.socket.write(head("GET /").repeat(15));
    while (come() < 15) await delay(10);
    raw.socket.write(head("GET /").repeat(100_000));
    await raw.closed();
    assert.ok(come() < 200, `${come()} requests were read`);
    assert.equal(begun.length, 1);
  });
});

describe("data that arrives over a connection", { timeout }, () => {
  it("is read in small slices, alternating with other connections, to the last byte", async (t) => {
    const turns: (() => void)[] = [];
    const pieces: Buffer[] = [];
    let ended = false;
    const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
      readInTurns(socket, (go) => void turns.push(go));
      socket.on("data", (piece: Buffer) => void pieces.push(piece)).on("end", () => (ended = true));
      t.after(() => socket.destroy());
    });
    t.after(() => server.close());
    await once(server.listen(0, "127.0.0.1"), "listening");
    const sent = randomBytes(300_000);
    connect((server.address() as AddressInfo).port, "127.0.0.1").end(sent);
    for (const began = Date.now(); !ended; await delay(1)) {
      assert.ok(Date.now() - began < timeout / 2, `${Buffer.concat(pieces).length} bytes were read`);
      const before = pieces.length;
      const turn = turns.shift();
      if (turn) turn();
      else await delay(1);
      assert.ok(turns.length <= 1 && pieces.length <= before + 1);
    }
    assert.ok((pieces[0]?.length ?? 0) <= 2048);
    assert.ok(Buffer.concat(pieces).equals(sent));
  });
});

describe("requests of many connections at once", () => {
  it("yield to the event loop after 20 ms, alternating between callers", async (t) => {
    let now = 1000;
    t.mock.method(performance, "now", () => now);
    const turns = new RequestTurns();
    const [one, other] = [{}, {}];
    const begun: string[] = [];
    const rounds: number[] = [];
    let round = 0;
    const begin = (caller: object, name: string) =>
      turns.begin(caller, () => {
        begun.push(name);
        rounds[round] = (rounds[round] ?? 0) + 1;
        now += 10;
      });
    for (let index = 0; index < 9; index++) begin(one, `one ${index}`);
    begin(other, "other");
    assert.deepEqual(begun, ["one 0", "one 1"]);
    for (round = 1; begun.length < 10 && round < 100; round++) await new Promise(setImmediate);
    assert.deepEqual(begun.slice(2, 4), ["one 2", "other"]);
    assert.equal(begun.length, 10);
    assert.ok(Math.max(...rounds) <= 2, `${rounds} in a round`);
    now += 10;
    await new Promise(setImmediate);
    begin(one, "at once");
    assert.equal(begun.at(-1), "at once");
  });

  it("of authenticated callers have every second turn, however many unauthenticated ones wait", async (t) => {
    let now = 1000;
    t.mock.method(performance, "now", () => now);
    const turns = new RequestTurns();
    const begun: string[] = [];
    const begin = (name: string, isKnown: boolean) =>
      turns.begin(
        {},
        () => {
          begun.push(name);
          now += 20;
        },
        isKnown,
      );
    for (let index = 0; index < 50; index++) begin("stranger", false);
    for (let index = 0; index < 3; index++) begin("known", true);
    while (begun.length < 53) await new Promise(setImmediate);
    assert.ok(begun.lastIndexOf("known") <= 7, begun.slice(0, 10).join());
  });

  it("that wait do not make a round slower, however many there are", async (t) => {
    let now = 1000;
    t.mock.method(performance, "now", () => now);
    const planned = t.mock.method(globalThis, "setImmediate");
    const turns = new RequestTurns();
    let [begun, took] = [0, 20];
    for (let index = 0; index < 10_000; index++)
      turns.begin({}, () => {
        begun++;
        now += took;
      });
    assert.ok(planned.mock.callCount() < 100, `${planned.mock.callCount()} immediates for those that wait`);
    while (begun < 20) await new Promise(setImmediate);
    assert.ok(planned.mock.callCount() < 3000, `${planned.mock.callCount()} immediates for ${begun} requests`);
    took = 0;
    while (begun < 10_000) await new Promise(setImmediate);
  });
});
