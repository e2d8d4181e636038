/** Request bodies: how much of them is read, after which checks, and at which cost. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { bodyLimitOf, invalid, type Route, routes } from "@millrace/contract";
import { BodiesUnderWay, bodyBudgets } from "../../src/http/connections/bodies-under-way.ts";
import { maxValues, readJson } from "../../src/http/requests/json-bodies.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson } from "../support/people.ts";
import { head, openRaw } from "../support/raw-http.ts";

const all = Object.values(routes) as Route[];
const mebibyte = 1024 * 1024;
const json = { "content-type": "application/json" };
const lineOf = ({ method, path }: Route) => `${method} ${path.replace(/\{\w+\}/g, "x")}`;

describe("JSON", () => {
  const parses = (t: { mock: { method: (...words: never[]) => unknown } }) =>
    t.mock.method(JSON as never, "parse" as never) as { mock: { callCount(): number } };
  const readsOf = (t: never, body: string): [string, number] => {
    const parse = parses(t);
    try {
      readJson(Buffer.from(body));
      return ["", parse.mock.callCount()];
    } catch (error) {
      return [(error as Error).message, parse.mock.callCount()];
    }
  };

  for (const [what, body] of [
    ["empty lists", `[${"[],".repeat(5_000_000)}[]]`],
    ["numbers", `[${"0,".repeat(8_000_000)}0]`],
    ["objects", `{"x":[${"{},".repeat(5_000_000)}{}]}`],
    ["fields", `{${'"":0,'.repeat(3_000_000)}"":0}`],
  ] as const)
    it(`with millions of ${what} is refused before it is parsed`, (t) => {
      assert.deepEqual(readsOf(t as never, body), [`body: expected at most ${maxValues} values`, 0]);
    });

  it("with a NUL character in any text is refused before it is parsed", (t) => {
    const filler = "0,".repeat(50_000);
    for (const text of [`{"x":[${filler}"\\u0000"]}`, `["\\\\\\u0000"]`, `{"a\\u0000":1}`, `["\\"\\u0000"]`])
      assert.deepEqual(readsOf(t as never, text), ["body: expected text without NUL characters", 0], text.slice(-20));
  });

  it("with an escaped backslash before u0000 contains no NUL character", () => {
    assert.deepEqual(readJson(Buffer.from('["\\\\u0000", "\\u0001"]')), ["\\u0000", "\u0001"]);
  });

  it("with an unpaired surrogate in any text is refused before it is parsed; pairs are accepted", (t) => {
    for (const text of ['["\\ud800 x"]', '["\\udc00"]', '["\\ud83d\\u0041"]', '{"\\uD83D":1}', '["\\ude00\\ud83d"]'])
      assert.deepEqual(readsOf(t as never, text), ["body: expected text without unpaired surrogates", 0]);
    const whole = '["\\ud83d\\ude00\\uD83D\\uDE00", "\\\\ud800"]';
    assert.deepEqual(readJson(Buffer.from(whole)), ["😀😀", "\\ud800"]);
  });

  it("is accepted with the maximum number of values and any content inside texts", () => {
    assert.equal((readJson(Buffer.from(`[${"0,".repeat(maxValues - 3)}0]`)) as unknown[]).length, maxValues - 2);
    const text = '[{,"\\é😀'.repeat(100_000);
    assert.deepEqual(readJson(Buffer.from(JSON.stringify({ text }))), { text });
  });

  it("that is refused is scanned no further than the part that the error shows", () => {
    let looks = 0;
    const items = Array.from({ length: 100_000 }, () => ({ toJSON: () => Math.sign(++looks) }));
    assert.match(invalid("x", "text", items).message, /^x: expected text, got \[1,1,1.*\.\.\.$/);
    assert.match(invalid("x", "text", { a: "b".repeat(mebibyte) }).message, /^x: expected text, got \{"a":"b+\.\.\.$/);
    assert.ok(looks <= 100, `${looks} looks`);
  });
});

describe("the limit of a body", () => {
  it("is small on every public route, and large only where the caller is authenticated", () => {
    for (const route of all) {
      if (route.access.kind === "public") assert.ok(bodyLimitOf(route, 16 * mebibyte) <= 64 * 1024, route.id);
      if (route.access.kind === "public" && route.method !== "GET") {
        assert.ok(bodyLimitOf(route, 16 * mebibyte) <= 32 * 1024, route.id);
        assert.ok(route.rateLimit, `${route.id} can be called without end`);
      }
    }
    assert.ok(all.some(({ bodyLimit }) => bodyLimit === "large"));
  });

  it("is above the maximum of the route's schema", () => {
    for (const route of all.filter((r) => r.body && r.bodyLimit !== "large")) {
      const most = mostBytes(route.body as Schema);
      assert.ok(most <= bodyLimitOf(route, 16 * mebibyte), `${route.id} takes ${most} bytes`);
    }
  });

  it("is in the OpenAPI document", async () => {
    const server = await startInProcess();
    const { paths } = (await (await server.fetch("/api/openapi.json")).json()) as {
      paths: Record<string, Record<string, { requestBody?: { description?: string } }>>;
    };
    await server.dispose();
    const { path } = routes.pollDeviceLogin;
    assert.equal(paths[path]?.["post"]?.requestBody?.description, "At most 4096 bytes.");
  });
});

interface Schema {
  readonly type?: string | readonly string[];
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** The longest body of ASCII text that fits. */
function mostBytes(schema: Schema): number {
  const types = [schema.type].flat();
  if (types.includes("object"))
    return Object.entries(schema.properties ?? {}).reduce((sum, [name, s]) => sum + name.length + 4 + mostBytes(s), 2);
  if (types.includes("array")) return 2 + (schema.maxItems ?? 0) * (mostBytes(schema.items ?? {}) + 1);
  if (!types.includes("string")) return 24;
  // All patterns of the contract are short and bound their length.
  return 2 + (schema.maxLength ?? 256);
}

describe("a body", () => {
  let server: InProcessServer;
  before(async () => {
    server = await startInProcess({ MILLRACE_BODY_LIMIT: "1MiB" });
  });
  after(() => server.dispose());

  /** Returns the answer to the headers alone. */
  const askFor = async (url: string, line: string, headers: Record<string, string | number>) => {
    const raw = await openRaw(url, head(line, headers));
    const answer = await raw.until(/\r\n\r\n/);
    raw.socket.destroy();
    return answer.split("\r\n")[0];
  };

  it("that is too large is refused by its headers", { timeout: 60_000 }, async () => {
    for (const route of all.filter((r) => r.method !== "GET" && r.access.kind === "public")) {
      const length = bodyLimitOf(route, mebibyte) + 1;
      const answer = await askFor(server.url, lineOf(route), { ...json, "content-length": length });
      assert.equal(answer, "HTTP/1.1 413 Payload Too Large", route.id);
    }
  });

  it("of a caller without a valid token is not waited for", { timeout: 60_000 }, async () => {
    for (const route of all.filter((r) => r.access.kind !== "public")) {
      const answer = await askFor(server.url, lineOf(route), { ...json, "content-length": 1000 });
      assert.equal(answer, "HTTP/1.1 401 Unauthorized", route.id);
    }
    const headers = { "content-type": "application/x-www-form-urlencoded", "content-length": 1000 };
    const site = { "sec-fetch-site": "same-origin" };
    assert.match(String(await askFor(server.url, "POST /auth/account", { ...headers, ...site })), / 401 /);
    assert.match(String(await askFor(server.url, "POST /auth/sign-in", headers)), / 403 /);
  });

  it("that is large, of a caller without the role in any team, is not waited for", { timeout: 60_000 }, async () => {
    const { token } = await addPerson(server, "vi", { team: "main", role: "viewer" });
    const headers = { authorization: `Bearer ${token}`, ...json, "content-length": 1000 };
    for (const route of all.filter((r) => r.bodyLimit === "large"))
      assert.equal(await askFor(server.url, lineOf(route), headers), "HTTP/1.1 403 Forbidden", route.id);
  });

  it("counts toward a budget until its request is answered: beyond it, a 429 before the body is read", {
    timeout: 60_000,
  }, async () => {
    const wide = await startInProcess({ MILLRACE_BODY_LIMIT: "32MiB" });
    const authorization = `Bearer ${await wide.token()}`;
    const large = head("POST /api/datachain/jobs/", { authorization, ...json, "content-length": 32 * mebibyte });
    const first = await Promise.all([1, 2].map(() => openRaw(wide.url, large)));
    const post = (bytes: number) =>
      wide.fetch("/api/datachain/jobs/", { method: "POST", headers: json, body: `{"x":"${"x".repeat(bytes)}"}` });
    let refused = await post(mebibyte);
    for (let tries = 0; refused.status !== 429 && tries < 100; tries++) refused = await post(mebibyte);
    assert.deepEqual([refused.headers.get("retry-after")], ["2"]);
    assert.match(((await refused.json()) as { message: string }).message, /bodies that you are sending/);
    assert.equal((await post(1000)).status, 422);
    // Also for requests that were never reached.
    for (const { socket } of first) socket.destroy();
    while ((await post(mebibyte)).status !== 422);
    await wide.dispose();
  });

  it("of all callers together count toward a second budget, beside which small ones have room", () => {
    const bodies = new BodiesUnderWay();
    const [each, many] = [bodyBudgets.own, bodyBudgets.total / bodyBudgets.own];
    const ends = Array.from({ length: many }, (_, index) => bodies.begin(`user ${index}`, each));
    assert.throws(() => bodies.begin("another", each), /all callers are sending/);
    bodies.begin("another", bodyBudgets.small);
    ends[0]?.();
    bodies.begin("another", each);
  });

  it("of a request that does not exist is not waited for", { timeout: 60_000 }, async () => {
    for (const line of ["POST /api/nothing", "PUT /api/datachain/jobs/", "POST /%zz"])
      assert.match(String(await askFor(server.url, line, { ...json, "content-length": 1000 })), / 40[04] /, line);
  });

  it("of an address that has used up its sign-in budget is not waited for", { timeout: 60_000 }, async () => {
    const strict = await startInProcess({ MILLRACE_LOGIN_RATE: "1" });
    const [, again] = [
      await strict.fetch("/api/device-login", { token: null, json: {} }),
      await askFor(strict.url, "POST /api/device-login", { ...json, "content-length": 2 }),
    ];
    assert.equal(again, "HTTP/1.1 429 Too Many Requests");
    await strict.dispose();
  });

  it("of a GET that is refused is discarded, and the connection serves the next request", {
    timeout: 60_000,
  }, async () => {
    const authorization = `Bearer ${await server.token()}`;
    const chunked = { authorization, ...json, "transfer-encoding": "chunked" };
    for (const headers of [chunked, { authorization, ...json, "content-length": 100_000 }]) {
      const raw = await openRaw(server.url, head("GET /api/datachain/pipeline/list", headers));
      const bytes = "x".repeat(100_000);
      raw.socket.write("content-length" in headers ? bytes : `186a0\r\n${bytes}\r\n0\r\n\r\n`);
      raw.socket.write(head("GET /healthz"));
      assert.match(await raw.until(/"ok"/), /^HTTP\/1.1 413 [\s\S]*HTTP\/1.1 200 OK/);
      raw.socket.destroy();
    }
  });

  it("that is refused and does not end is cut off", { timeout: 60_000 }, async () => {
    for (const line of ["GET /api/datachain/pipeline/list", "POST /api/datachain/jobs/", "POST /api/device-login"]) {
      const headers = { authorization: `Bearer ${await server.token()}`, ...json, "transfer-encoding": "chunked" };
      const raw = await openRaw(server.url, head(line, headers));
      const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
      let sent = 0;
      for (; sent < 1000 && !raw.socket.destroyed; sent++)
        if (!raw.socket.write(chunk)) await once(raw.socket, "drain").catch(() => undefined);
      assert.ok(sent < 1000, `${line} read 64 MB of nothing`);
    }
  });

  it("that is a form is accepted by pages only", async () => {
    const body = new URLSearchParams({ client_name: "x" });
    assert.equal((await server.fetch("/api/device-login", { method: "POST", body, token: null })).status, 415);
  });

  it("of a job may be as large as the setting allows, and no larger", async () => {
    const job = { query: ":", query_type: "SHELL", cron_expression: "@yearly" };
    const ask = (bytes: number) => {
      const body = JSON.stringify({ ...job, unknown: "" });
      const padded = body.replace('"unknown":""', `"unknown":"${"x".repeat(bytes - body.length)}"`);
      return server.fetch("/api/datachain/jobs/", { method: "POST", body: padded, headers: json });
    };
    assert.equal((await ask(mebibyte)).status, 200);
    const refused = await ask(mebibyte + 1);
    assert.equal(refused.status, 413);
    assert.match(((await refused.json()) as { message: string }).message, /larger than 1048576 bytes/);
  });
});
