/** Rate limits of sign-in: no caller can use up another's budget, and the memory for budgets is bounded. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { connect, Socket } from "node:net";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { createSignInLink } from "../../src/domain/people/sessions.ts";
import { mostKeys } from "../../src/http/connections/bounded-map.ts";
import { Callers } from "../../src/http/connections/callers.ts";
import { GrowingDelays } from "../../src/http/connections/growing-delays.ts";
import { networkOf } from "../../src/http/connections/ip-addresses.ts";
import { RateLimit } from "../../src/http/connections/rate-limit.ts";
import { authenticate } from "../../src/http/requests/authenticate.ts";
import type { HttpContext } from "../../src/http/requests/context.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson, Visitor } from "../support/people.ts";

const password = "correct horse battery";

async function withServer(env: Record<string, string>, test: (server: InProcessServer) => Promise<void>) {
  const server = await startInProcess({ MILLRACE_LOGIN_RATE: "6", MILLRACE_TRUST_PROXY: "loopback", ...env });
  try {
    await test(server);
  } finally {
    await server.dispose();
  }
}

/** As behind a proxy: every caller has its own address. */
const attempt = (
  server: InProcessServer,
  username: string,
  from: string,
  secret = "wrong",
  by = new Visitor(server.url),
) => by.post("/auth/sign-in", { username, password: secret }, { "x-forwarded-for": from });

const statusesOf = async (count: number, call: (index: number) => Promise<Response>) => {
  const statuses = [];
  for (let index = 0; index < count; index++) statuses.push((await call(index)).status);
  return statuses;
};

describe("wrong passwords", () => {
  it("never block the right one from another address, however many there are", () =>
    withServer({}, async (server) => {
      await addPerson(server, "ada", { password });
      for (let i = 0; i < 30; i++) assert.equal((await attempt(server, "ada", `10.0.0.${i}`)).status, 401);
      assert.deepEqual(await statusesOf(4, () => attempt(server, "ada", "10.0.0.66")), [401, 401, 401, 429]);
      assert.equal((await attempt(server, "ada", "192.0.2.1", password)).status, 303);
    }));

  it("delay the next try of the same user and address, longer and longer, with Retry-After", () =>
    withServer({ MILLRACE_LOGIN_RATE: "30" }, async (server) => {
      await addPerson(server, "ada", { password });
      for (let i = 0; i < 11; i++) assert.equal((await attempt(server, "ada", "10.0.0.1")).status, 401);
      const refused = await attempt(server, "ADA ", "10.0.0.1", password);
      assert.equal(refused.status, 429);
      assert.ok(Number(refused.headers.get("retry-after")) > 0);
      assert.match(await refused.text(), /ask an administrator of the server for a sign-in link/);
      assert.equal((await attempt(server, "bob", "10.0.0.1")).status, 401, "another user is another matter");
    }));

  it("never block the right one from a browser that signed in before, even at the same address", () =>
    withServer({}, async (server) => {
      await addPerson(server, "ada", { password });
      const known = new Visitor(server.url);
      assert.equal((await attempt(server, "ada", "10.0.0.1", password, known)).status, 303);
      const rows = await server.store.db.selectFrom("browsers").selectAll().execute();
      assert.equal(rows.length, 1);
      assert.ok(!known.cookie.includes(rows[0]?.hash ?? ""), "kept as a hash");
      for (let i = 0; i < 20; i++) await attempt(server, "ada", "10.0.0.1");
      assert.equal((await attempt(server, "ada", "10.0.0.1", password)).status, 429, "a stranger there has to wait");
      assert.equal((await attempt(server, "ada", "10.0.0.1", password, known)).status, 303);
      assert.equal(
        (await server.store.db.selectFrom("browsers").selectAll().execute()).length,
        1,
        "it keeps its cookie",
      );
    }));

  it("of a known browser have a separate budget, and only a browser that signed in is known", () =>
    withServer({}, async (server) => {
      await addPerson(server, "ada", { password });
      await addPerson(server, "bob", { password });
      const known = new Visitor(server.url);
      await attempt(server, "ada", "10.0.0.1", password, known);
      const wrong = (username: string) =>
        statusesOf(4, (i) => attempt(server, username, `10.0.1.${i}`, "wrong", known));
      assert.deepEqual(await wrong("ada"), [401, 401, 401, 429], "wherever it is");
      assert.deepEqual(await wrong("bob"), [401, 401, 401, 401], "for bob each address is its own");
      const forged = new Visitor(server.url);
      const headers = { "x-forwarded-for": "10.0.0.7", cookie: "millrace_browser=made_up" };
      const post = () => forged.post("/auth/sign-in", { username: "bob", password: "wrong" }, headers);
      assert.deepEqual(await statusesOf(4, post), [401, 401, 401, 429]);
    }));

  it("and right ones of a known browser have a separate budget, because each costs a hash and a session", () =>
    withServer({}, async (server) => {
      await addPerson(server, "ada", { password });
      const known = new Visitor(server.url);
      await attempt(server, "ada", "10.0.0.1", password, known);
      const statuses = await statusesOf(7, (i) => attempt(server, "ada", `10.0.1.${i}`, password, known));
      assert.deepEqual(statuses, [303, 303, 303, 303, 303, 303, 429]);
      assert.equal((await attempt(server, "ada", "10.0.1.1", password)).status, 303, "others have their own");
    }));

  it("of many users from one address are limited together", () =>
    withServer({}, async (server) => {
      const statuses = await statusesOf(7, (i) => attempt(server, `user${i}`, "10.0.0.77"));
      assert.deepEqual(statuses, [401, 401, 401, 401, 401, 401, 429]);
      const network = await statusesOf(7, (i) => attempt(server, `user${i}`, `2001:db8:1:2::${i}`));
      assert.deepEqual(network, [401, 401, 401, 401, 401, 401, 429], "of IPv6 a network of 64 bits is one address");
    }));
});

describe("secrets that cannot be guessed", () => {
  it("are accepted however many wrong ones came from the same address: links, invitations, device codes, tokens", () =>
    withServer({}, async (server) => {
      const wrong = await statusesOf(8, (i) => server.fetch(`/auth/sign-in?link=x${i}`, { token: null }));
      assert.deepEqual([...new Set(wrong)], [401, 429]);
      const link = await createSignInLink(server.store, "admin", Date.now());
      const answer = await server.fetch(`/auth/sign-in?link=${link}`, { token: null, redirect: "manual" });
      assert.equal(answer.status, 303);

      const login = (await (await server.fetch("/api/device-login", { json: {}, token: null })).json()) as {
        device_code: string;
        user_code: string;
      };
      const poll = (code: string) => server.fetch("/api/device-login/token", { json: { code }, token: null });
      assert.ok((await statusesOf(8, () => poll("made up"))).includes(429));
      assert.equal((await poll(login.device_code)).status, 400, "pending");
      await server.fetch("/api/device-login/approve", { json: { user_code: login.user_code } });
      assert.equal((await poll(login.device_code)).status, 200);
    }));

  it("that are wrong, or not approved yet, cause no write", (t) =>
    withServer({}, async (server) => {
      const { device_code: code } = (await (
        await server.fetch("/api/device-login", { json: {}, token: null })
      ).json()) as { device_code: string };
      const write = t.mock.method(server.store, "write");
      for (let i = 0; i < 20; i++) {
        assert.ok([401, 429].includes((await server.fetch(`/auth/sign-in?link=x${i}`, { token: null })).status));
        const poll = (text: string) => server.fetch("/api/device-login/token", { json: { code: text }, token: null });
        assert.equal((await poll(code)).status, 400);
        assert.ok([400, 429].includes((await poll(`made up ${i}`)).status));
      }
      // The server's own loops may write meanwhile.
      assert.ok(write.mock.callCount() < 10, `${write.mock.callCount()} writes`);
    }));

  it("cannot be tried endlessly on pages: beyond twenty times the rate nothing is looked up any more", () =>
    withServer({ MILLRACE_LOGIN_RATE: "1" }, async (server) => {
      const post = (path: string, from: string) =>
        new Visitor(server.url).post(path, { code: "x", answer: "join" }, { "x-forwarded-for": from });
      const get = (path: string, from: string) =>
        server.fetch(path, { token: null, headers: { "x-forwarded-for": from } });
      for (let i = 0; i < 20; i++) await post("/auth/invitation", "10.0.0.1");
      for (const from of ["10.0.0.1", "10.0.0.2"]) {
        const answers = [
          await get("/auth/sign-in?link=x", from),
          await get("/auth/invitation?code=x", from),
          await post("/auth/sign-in", from),
          await post("/auth/invitation", from),
        ];
        for (const answer of answers) {
          const isRefused = /requests without a token or session from this address/.test(await answer.text());
          assert.equal(isRefused, from === "10.0.0.1", answer.url);
        }
      }
      assert.equal((await get("/auth/sign-in", "10.0.0.1")).status, 200, "the form itself is shown");
    }));

  it("of device logins are polled within a separate budget", () =>
    withServer({ MILLRACE_LOGIN_RATE: "1" }, async (server) => {
      const { device_code: code } = (await (
        await server.fetch("/api/device-login", { json: {}, token: null })
      ).json()) as {
        device_code: string;
      };
      const poll = () => server.fetch("/api/device-login/token", { json: { code }, token: null });
      assert.deepEqual(await statusesOf(5, poll), [400, 400, 400, 400, 429]);
    }));
});

describe("a job on this machine", () => {
  const asJob = async (server: InProcessServer, headers: string[] = []) => {
    const word = [
      "-s",
      "-o",
      "/dev/null",
      "-w",
      "%{http_code} ",
      "-X",
      "POST",
      "-H",
      "content-type: application/json",
      ...headers,
    ];
    const one = [...word, "-d", "{}", `${server.url}/api/device-login`];
    const all = Array.from({ length: 40 }, (_, i) => (i === 0 ? one : ["--next", ...one])).flat();
    const { stdout } = await promisify(execFile)("curl", all, { uid: 61_003, gid: 61_003, cwd: "/" });
    return new Set(stdout.trim().split(" "));
  };
  const skip = process.getuid?.() === 0 ? false : "needs root, to call as the user of a job";

  it("does not use up the budget of people who call from the same address", { skip }, () =>
    withServer({ MILLRACE_TRUST_PROXY: "" }, async (server) => {
      assert.deepEqual(await asJob(server), new Set(["200", "429"]));
      assert.equal((await server.fetch("/api/device-login", { token: null, json: {} })).status, 200);
      await addPerson(server, "ada", { password });
      assert.equal((await new Visitor(server.url).post("/auth/sign-in", { username: "ada", password })).status, 303);
    }),
  );

  it("is recognised as a job even if it pretends to be a proxy", { skip }, () =>
    withServer({}, async (server) => {
      const told = ["-H", "x-forwarded-for: 192.0.2.7"];
      assert.deepEqual(await asJob(server, told), new Set(["200", "429"]));
      const headers = { "x-forwarded-for": "192.0.2.7" };
      assert.equal((await server.fetch("/api/device-login", { token: null, json: {}, headers })).status, 200);
    }),
  );

  it("that has already closed its end counts as unknown, not as the operator", () =>
    withServer({ MILLRACE_TRUST_PROXY: "" }, async (server) => {
      const { port } = new URL(server.url);
      const half = () =>
        new Promise<void>((resolve, reject) => {
          const head =
            "POST /api/device-login HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json";
          const socket = connect({ port: Number(port), host: "127.0.0.1", allowHalfOpen: true }, () =>
            socket.end(`${head}\r\ncontent-length: 2\r\n\r\n{}`),
          );
          socket
            .on("close", () => resolve())
            .on("error", reject)
            .resume();
        });
      for (let i = 0; i < 12; i++) await half();
      const begun = await server.store.db.selectFrom("device_logins").select("user_code").execute();
      assert.ok(begun.length <= 6, `${begun.length} logins were begun`);
      assert.equal((await server.fetch("/api/device-login", { token: null, json: {} })).status, 200);
    }));
});

describe("a caller that disconnects before its answer", () => {
  it("counts as unknown, with a bounded budget", async () => {
    const socket = new Socket();
    assert.equal(await new Callers({ first: 61_000, last: 61_999 }).keyOf({ ip: undefined, socket }), "nobody");
    const server = await startInProcess({ MILLRACE_LOGIN_RATE: "1" });
    try {
      const limits = { badTokens: new RateLimit({ now: () => 0, monotonic: () => 0 }, 1, "bad tokens") };
      const context = { store: server.store, keys: {}, clock: { now: Date.now }, limits } as unknown as HttpContext;
      const guess = () => authenticate(context, { headers: { authorization: "Bearer isat_wrong" } }, undefined);
      await assert.rejects(guess(), { code: "unauthorized" });
      await assert.rejects(guess(), { code: "too_many_requests" });
    } finally {
      await server.dispose();
    }
  });
});

describe("the memory for budgets", () => {
  const clock = { now: () => 0, monotonic: () => 0 };

  it("is bounded, however many addresses call", () => {
    const limit = new RateLimit(clock, 1, "calls");
    const delays = new GrowingDelays(clock, 1);
    for (let i = 0; i < mostKeys * 2; i++) {
      limit.take(`address ${i}`);
      delays.take(`address ${i}`);
    }
    assert.deepEqual([limit.size, delays.size], [mostKeys, mostKeys]);
    assert.throws(() => limit.take(`address ${mostKeys * 2 - 1}`), /within a minute/, "the newest are remembered");
  });

  it("forgets tries after an hour, and delays for at most a quarter of an hour", () => {
    let now = 0;
    const delays = new GrowingDelays({ now: () => 0, monotonic: () => now }, 2);
    const wait = () => {
      try {
        delays.take("ada");
        return 0;
      } catch (error) {
        return (error as { retryAfter: number }).retryAfter;
      }
    };
    const waits = [];
    for (let i = 0; i < 16; i++) {
      assert.equal(wait(), 0);
      const asked = wait();
      if (asked > 0) waits.push(asked);
      now += asked * 1000;
    }
    assert.deepEqual(waits.slice(0, 4), [1, 2, 4, 8]);
    assert.equal(Math.max(...waits), 900);
    now += 3_600_000;
    assert.deepEqual([wait(), wait()], [0, 0]);
  });

  it("has one entry per IPv6 network, and separate entries for different networks", () => {
    assert.equal(networkOf("2001:db8::1"), networkOf("2001:db8:0:0:ffff::"));
    assert.notEqual(networkOf("2001:db8:0:1::1"), networkOf("2001:db8:0:2::1"));
    assert.equal(networkOf("::ffff:192.0.2.1"), "192.0.2.1");
    assert.equal(networkOf("fe80::1%eth0"), "fe80:0:0:0::/64");
    assert.ok(networkOf("x".repeat(1000)).length <= 64);
  });
});
