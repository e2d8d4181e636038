/** Direct connections, against our own server that sends exactly the bytes of the test. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { createHttpClient, type HttpClient } from "../../src/http/client.ts";
import { parseHead, requestHead } from "../../src/http/head.ts";

const content = randomBytes(3_000_000);
const head = Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${content.length}\r\nETag: "e"\r\n\r\n`);
const whole = [head, content];

describe("an answer on a direct connection", { timeout: 60_000 }, () => {
  let server: Server;
  let client: HttpClient;
  let origin: string;
  /** The answers, in order; the last one for all that follow. Nothing: the connection is closed. */
  let answers: (readonly (Buffer | "end")[] | undefined)[];
  let asked: string[];
  let connections: Set<Socket>;
  let connected: number;

  before(async () => {
    connections = new Set();
    server = createServer((socket) => {
      connected += 1;
      connections.add(socket);
      socket.on("close", () => connections.delete(socket)).on("error", () => {});
      socket.on("data", (head) => {
        asked.push(head.toString());
        const answer = answers.length > 1 ? answers.shift() : answers[0];
        if (!answer) return socket.destroy();
        for (const bytes of answer) bytes === "end" ? socket.end() : socket.write(bytes);
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => server.close());

  beforeEach(() => {
    [asked, connected] = [[], 0];
    client = createHttpClient({ connections: 2, connectTimeout: 5, readTimeout: 1 });
  });
  afterEach(async () => {
    await client.close();
    for (const socket of connections) socket.destroy();
  });

  async function useReadTimeout(readTimeout: number): Promise<void> {
    await client.close();
    client = createHttpClient({ connections: 2, connectTimeout: 5, readTimeout });
  }

  const ask = (signal?: AbortSignal) =>
    client.send(
      { method: "GET", origin, path: "/a", headers: { "x-y": "z" }, isDirect: true, signal },
      { scheme: "s3" },
    );

  it("fills buffers of any size, one after another, to the last byte", async () => {
    answers = [whole];
    const answer = await ask();
    const { fill } = answer;
    assert.deepEqual([answer.status, answer.header("etag")], [200, '"e"']);
    assert.ok(fill);
    const read: Buffer[] = [];
    for (const size of [1, 10, 100_000, 1_000_000, 5, 2_500_000]) {
      const buffer = Buffer.alloc(size);
      read.push(buffer.subarray(0, await fill(buffer)));
    }
    assert.ok(content.equals(Buffer.concat(read)));
    assert.equal(await fill(Buffer.alloc(10)), 0);
    assert.match(
      asked[0] ?? "",
      /^GET \/a HTTP\/1\.1\r\nconnection: keep-alive\r\nhost: 127\.0\.0\.1:\d+\r\nx-y: z\r\n\r\n$/,
    );
  });

  it("is read in pieces, and completely", async () => {
    answers = [whole];
    assert.ok(content.equals(Buffer.concat(await Array.fromAsync((await ask()).body))));
    assert.ok(content.equals(await (await ask()).bytes()));
  });

  it("releases its connection for the next", async () => {
    answers = [whole];
    for (let count = 0; count < 3; count += 1) await (await ask()).bytes();
    assert.equal(connected, 1);
  });

  it("uses no more connections than allowed", async () => {
    answers = [whole];
    await Promise.all(Array.from({ length: 6 }, async () => (await ask()).bytes()));
    assert.equal(connected, 2);
  });

  it("closes its connection if the reader stops early", async () => {
    answers = [whole];
    for await (const piece of (await ask()).body) {
      assert.ok(piece.length > 0);
      break;
    }
    assert.ok(content.equals(await (await ask()).bytes()));
    assert.equal(connected, 2);
  });

  it("is requested on a new connection if the server has closed the idle one", async () => {
    answers = [whole, undefined, whole];
    await (await ask()).bytes();
    assert.ok(content.equals(await (await ask()).bytes()));
    assert.deepEqual([connected, asked.length], [2, 3]);
  });

  it("whose head arrives byte by byte is read like any other", async () => {
    answers = [[...Array.from(head, (byte) => Buffer.from([byte])), content]];
    assert.ok(content.equals(await (await ask()).bytes()));
  });

  it("in chunks is read like any other while it is short, and releases its connection for the next", async () => {
    const chunked =
      "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nx: y\r\n\r\n";
    answers = [[Buffer.from(chunked)], Array.from(Buffer.from(chunked), (byte) => Buffer.from([byte]))];
    for (let count = 0; count < 2; count += 1) {
      const answer = await ask();
      assert.deepEqual([answer.status, await answer.text()], [404, "abcde"]);
    }
    assert.deepEqual([connected, asked.length], [1, 2]);
  });

  it("in long chunks, or that ends with the connection, is read over undici", async () => {
    const chunks = [`${content.length.toString(16)}\r\n`, content.toString("latin1"), "\r\n0\r\n\r\n"].join("");
    answers = [[Buffer.from(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`, "latin1")]];
    assert.ok(content.equals(await (await ask()).bytes()));
    answers = [[Buffer.from("HTTP/1.1 200 OK\r\n\r\nabc"), "end"]];
    assert.equal(await (await ask()).text(), "abc");
    assert.equal(asked.length, 4);
  });

  it("with invalid chunks is an error", async () => {
    answers = [[Buffer.from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnone\r\n")]];
    await assert.rejects(ask(), {
      code: "network",
      message: /Transfer-Encoding: chunked, but its body is not chunked/,
    });
  });

  it("that breaks off delivers what there is, and then fails", async () => {
    answers = [[head, content.subarray(0, 1000), "end"]];
    const { fill } = await ask();
    assert.equal(await fill?.(Buffer.alloc(5000)), 1000);
    await assert.rejects(fill?.(Buffer.alloc(5000)) ?? assert.fail(), { code: "network", retryable: true });
  });

  it("that stalls is aborted after the read timeout", async () => {
    answers = [[head]];
    const { fill } = await ask();
    await assert.rejects(fill?.(Buffer.alloc(10)) ?? assert.fail(), {
      code: "network",
      message: /the server sent nothing before the timeout/,
    });
  });

  it("waits for a reader that takes longer than the read timeout", async () => {
    await useReadTimeout(0.2);
    answers = [whole];
    const { fill } = await ask();
    assert.ok(fill);
    const read: Buffer[] = [];
    for (const size of [1_000_000, 2_000_000]) {
      const buffer = Buffer.alloc(size);
      read.push(buffer.subarray(0, await fill(buffer)));
      await pause(500);
    }
    assert.ok(content.equals(Buffer.concat(read)));
  });

  it("may be slow as long as data arrives", async () => {
    await useReadTimeout(0.3);
    answers = [[head]];
    const { fill } = await ask();
    const buffer = Buffer.alloc(content.length);
    const filling = fill?.(buffer);
    for (let start = 0; start < content.length; start += 500_000) {
      await pause(100);
      for (const socket of connections) socket.write(content.subarray(start, start + 500_000));
    }
    assert.equal(await filling, content.length);
    assert.ok(content.equals(buffer));
  });

  it("may take any time without a timeout", async () => {
    await useReadTimeout(0);
    answers = [[]];
    const asking = ask();
    await pause(700);
    for (const socket of connections) for (const bytes of whole) socket.write(bytes);
    assert.ok(content.equals(await (await asking).bytes()));
  });

  it("is subject to the timeout even after a time without connections", async () => {
    await useReadTimeout(0.2);
    answers = [[...whole, "end"], [head]];
    await (await ask()).bytes();
    while (connections.size > 0) await pause(10);
    const { fill } = await ask();
    await assert.rejects(fill?.(Buffer.alloc(10)) ?? assert.fail(), /the server sent nothing before the timeout/);
  });

  it("closes connections that are idle for long", async () => {
    answers = [whole];
    await (await ask()).bytes();
    assert.equal(connections.size, 1);
    while (connections.size > 0) await pause(100);
  });

  it("that is longer than declared is read over undici", async () => {
    answers = [[Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc")]];
    assert.equal((await ask()).fill, undefined);
    assert.equal(asked.length, 2);
  });

  const ends: Record<string, () => Promise<unknown>> = {
    "is partly read": async () => {
      const answer = await ask();
      await answer.fill?.(Buffer.alloc(10));
      answer.close?.();
    },
    "is not read, and its signal is aborted": async () => {
      const stop = new AbortController();
      await ask(stop.signal);
      stop.abort();
    },
    "claims to be longer than any memory": async () => {
      answers = [[Buffer.from("HTTP/1.1 404 Not Found\r\nContent-Length: 999999999999999\r\n\r\nabc"), "end"]];
      await assert.rejects(async () => (await ask()).text(), { code: "network" });
      answers = [whole];
    },
  };
  for (const [end, run] of Object.entries(ends)) {
    it(`that ${end} frees its slot for the next`, async () => {
      answers = [whole];
      for (let count = 0; count < 3; count += 1) await run();
      assert.ok(content.equals(await (await ask()).bytes()));
    });
  }

  it("is refused once the client is closed, without a retry", async () => {
    answers = [whole];
    await client.close();
    await assert.rejects(ask(), { code: "network", retryable: false });
  });

  it("is read over undici at once if it is never simple", async () => {
    answers = [[Buffer.from("HTTP/1.1 200 OK\r\n\r\nabc"), "end"]];
    for (let count = 0; count < 6; count += 1) await (await ask()).text();
    assert.equal(asked.length, 3 * 2 + 3);
  });

  it("stops at a signal, with its reason", async () => {
    answers = [[head]];
    const stop = new AbortController();
    const { fill } = await ask(stop.signal);
    const filled = fill?.(Buffer.alloc(10));
    stop.abort(new Error("enough"));
    await assert.rejects(filled ?? assert.fail(), /enough/);
    await assert.rejects(ask(AbortSignal.abort(new Error("too late"))), /too late/);
  });
});

describe("the head of an answer", () => {
  const parse = (...lines: string[]) => parseHead(lines.join("\r\n"));

  it("has status, length, headers, and whether the connection stays open", () => {
    assert.deepEqual(
      { ...parse("HTTP/1.1 206 Partial Content", "Content-Length: 12", "X-A:  b ", "x-a: c"), headers: undefined },
      { status: 206, length: 12, keptAlive: true, headers: undefined },
    );
    assert.deepEqual(parse("HTTP/1.1 200 OK", "Content-Length: 1", "X-A:  b ", "x-a: c")?.headers["x-a"], ["b", "c"]);
    assert.equal(parse("HTTP/1.1 200 OK", "Content-Length: 1", "Connection: Close")?.keptAlive, false);
    assert.equal(parse("HTTP/1.1 304 Not Modified", "Content-Length: 9")?.length, 0);
  });

  it("is left to undici if anything is unusual", () => {
    const odd = [
      ["HTTP/1.0 200 OK", "Content-Length: 1"],
      ["HTTP/1.1 100 Continue", "Content-Length: 1"],
      ["HTTP/1.1 200 OK"],
      ["HTTP/1.1 200 OK", "Content-Length: 1", "Transfer-Encoding: chunked"],
      ["HTTP/1.1 200 OK", "Transfer-Encoding: gzip, chunked"],
      ["HTTP/1.1 200 OK", "Content-Length: 1", "Content-Length: 2"],
      ["HTTP/1.1 200 OK", "Content-Length: -1"],
      ["HTTP/1.1 200 OK", "Content-Length: 1e3"],
      ["HTTP/1.1 200 OK", "Content-Length: 1", " folded"],
      ["HTTP/1.1 200 OK", "Content-Length: 1", "a: b\nc"],
      ["HTTP/1.1 200 OK", "Content-Length : 1"],
      ["HTTP/1.1 200 OK", "Content-Length: 1", "no colon"],
    ];
    for (const lines of odd) assert.equal(parse(...lines), undefined, lines.join(" | "));
  });

  it("of a request cannot be ended by a header's value", () => {
    assert.equal(requestHead("GET", "/a", "h", { a: "b\r\nc: d" }), undefined);
    assert.equal(requestHead("GET", "/a\nb", "h", {}), undefined);
    assert.equal(requestHead("GET", "/a", "h", { a: "\u{1f600}" }), undefined);
  });
});
