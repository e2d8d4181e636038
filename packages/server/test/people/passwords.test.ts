/** Passwords: stored as hashes, entered in a browser, changed by their owners. */
import assert from "node:assert/strict";
import { argon2Sync } from "node:crypto";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Client, createClient, routes } from "@millrace/contract";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { pino } from "pino";
import { startServer } from "../../src/app/server.ts";
import { readConfig } from "../../src/configuration/config.ts";
import { hashPassword, isOutdated, verifyPassword } from "../../src/domain/people/passwords.ts";
import { setAdminPassword } from "../../src/domain/people/users.ts";
import { ownPath } from "../../src/http/pages/sign-in-form.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson, refused, Visitor } from "../support/people.ts";
import { upgradeStatus } from "../support/walk.ts";

const password = "correct horse battery";
const ada = { username: "ada" };

describe("a password hash", () => {
  it("is argon2id with its parameters, and never the same twice", async () => {
    const [one, two] = await Promise.all([hashPassword(password, ada), hashPassword(password, ada)]);
    assert.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    assert.notEqual(one, two);
    assert.equal(await verifyPassword(password, one), true);
    assert.equal(await verifyPassword(`${password} `, one), false);
    assert.equal(await verifyPassword("", one), false);
  });

  it("of unauthenticated callers delays neither file access nor known users, and its queue is bounded", async () => {
    const hash = await hashPassword(password, ada);
    let done = 0;
    const tries = Array.from({ length: 64 }, (_, index) =>
      verifyPassword("wrong", undefined, { stranger: `caller ${index}` }).then(() => void done++),
    );
    await stat(tmpdir());
    assert.ok(done <= 1, `${done} hashes before a file was looked at`);
    assert.equal(await verifyPassword(password, hash), true);
    assert.ok(done <= 8, `${done} hashes before that of somebody who is known`);
    const late = verifyPassword("wrong", undefined, { stranger: "one more" });
    await assert.rejects(
      Promise.all([
        late,
        ...Array.from({ length: 64 }, (_, index) => verifyPassword("wrong", undefined, { stranger: `late ${index}` })),
      ]),
      /Try again in a few seconds/,
    );
    await Promise.allSettled([...tries, late]);
  });

  it("accepts the same letters in another Unicode normalisation", async () => {
    const hash = await hashPassword("stra\u00dfe caf\u00e9 x", ada);
    assert.equal(await verifyPassword("stra\u00dfe cafe\u0301 x", hash), true);
  });

  it("of no user never matches, not even an empty password", async () => {
    for (const absent of [null, undefined]) assert.equal(await verifyPassword("", absent), false);
  });

  it("with other parameters can still be verified, and is recognised as outdated", async () => {
    const nonce = Buffer.alloc(16, 7);
    const parameters = { message: Buffer.from(password), nonce, memory: 64, passes: 1, parallelism: 1, tagLength: 24 };
    const encode = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");
    const old = `$argon2id$v=19$m=64,t=1,p=1$${encode(nonce)}$${encode(argon2Sync("argon2id", parameters))}`;
    assert.equal(await verifyPassword(password, old), true);
    assert.equal(await verifyPassword("wrong", old), false);
    assert.equal(isOutdated(old), true);
    assert.equal(isOutdated(await hashPassword(password, ada)), false);
  });
});

describe("a new password", () => {
  const refusal = (text: string, owner: Parameters<typeof hashPassword>[1] = ada) =>
    assert.rejects(hashPassword(text, owner), { code: "invalid" }, text);

  it("is refused if it is common, a word, keys in a row, a repetition, the user's name or the product's", async () => {
    for (const text of ["1234567890", "0987654321!", "qwertyuiop", "1q2w3e4r5t", "aaaaaaaaaaaa", "abcabcabcabc"])
      await refusal(text);
    for (const text of ["Password123", "p@ssw0rd2026", "iloveyou!!!", "welcome2026", "strawberry", "Basketball1"])
      await refusal(text);
    for (const text of ["carolcarol", "Carol-2026!", "millrace123", "MillraceCarol"])
      await refusal(text, { username: "carol" });
  });

  it("is refused if it is a date, runs of characters, few characters, or two ordinary words", async () => {
    for (const text of ["2026-11-16", "16.11.2026!!", "Summer 11/16/26", "2026111620261117"]) await refusal(text);
    for (const text of ["11112222333", "aaabbbccc111", "1221121221", "abababba11"]) await refusal(text);
    for (const text of ["correcthorse", "Correct Horse", "waterbottle", "nightnight99"]) await refusal(text);
    await refusal("zzuser77zzuser77", { username: "zzuser" });
  });

  it("is refused if it is little more than its owner's name or address", async () => {
    const owner = {
      username: "abl",
      first_name: "Augusta",
      last_name: "Lovelace",
      email: "countess@analytical.example",
    };
    for (const text of ["augustalovelace", "Lovelace.1985", "Countess@Analytical", "countess-2026-11-16"])
      await refusal(text, owner);
    const server = await startInProcess();
    try {
      const { client } = await addPerson(server, "abl");
      await client.call(routes.updateProfile, { body: { first_name: "Augusta", email: owner.email } });
      await refused(client.call(routes.changePassword, { body: { password: "augusta@analytical" } }), "invalid");
      const admin = await server.client();
      const person = { email: owner.email, password: "augusta@analytical" };
      const params = { username: "abl" };
      await refused(admin.call(routes.updateUser, { params, body: person }), "invalid", /names, dates/);
      const body = { ...owner, username: "other", password: "augusta@analytical" };
      await refused(admin.call(routes.createUser, { body }), "invalid");
    } finally {
      await server.dispose();
    }
  });

  it("is checked in bounded time, however long it is", async () => {
    for (const text of ["ab".repeat(512), "a".repeat(1024), "2026-11-16".repeat(100)]) await refusal(text);
    assert.match(await hashPassword("tide water lamp ".repeat(64), ada), /^\$argon2id/);
  });

  it("is accepted if it is long enough and hard to guess, whatever its characters", async () => {
    const three = [password, "tide water lamp", "waterbottlenight", "every house wants a door", "red sun over map"];
    const others = [
      "xK9#mQ2vL7",
      "fünf graue Katzen",
      "my password is a whale",
      "born 1984 in a barn",
      "6174-8821-3095",
    ];
    for (const text of [...three, ...others]) assert.match(await hashPassword(text, ada), /^\$argon2id/);
  });

  it("is judged the same in any disguise, and the error does not repeat it", async () => {
    await assert.rejects(hashPassword("P4$$W0RD2026", ada), (error: Error) => {
      assert.match(error.message, /hard to guess/);
      return !error.message.toLowerCase().includes("p4$$");
    });
  });
});

describe("signing in with a password", () => {
  let server: InProcessServer;
  let browser: Visitor;
  before(async () => {
    server = await startInProcess();
    await addPerson(server, "ada", { team: "main", password });
    await addPerson(server, "no-password", { team: "main" });
  });
  after(() => server.dispose());

  const signIn = (fields: Record<string, string> = {}, headers: Record<string, string> = {}) => {
    browser = new Visitor(server.url);
    return browser.post("/auth/sign-in", { username: "ada", password, ...fields }, headers);
  };

  it("sets a new cookie each time, which scripts and other sites cannot read", async () => {
    const response = await signIn({ username: " ADA " });
    assert.deepEqual([response.status, response.headers.get("location")], [303, "/"]);
    const [session = "", known = ""] = response.headers.getSetCookie();
    assert.match(session, /^millrace_session=[\w-]{43}; Path=\/; Max-Age=1209600; HttpOnly; SameSite=Lax$/);
    assert.match(known, /^millrace_browser=[\w-]{43}; Path=\/auth; Max-Age=31536000; HttpOnly; SameSite=Lax$/);
    const first = browser.cookie;
    assert.match(await (await browser.get("/auth/account")).text(), /ada[\s\S]*Sign out/);
    await signIn();
    assert.notEqual(browser.cookie, first);
  });

  it("gives the same answer for a wrong password, an unknown user and a user without a password", async () => {
    const pages = [];
    for (const fields of [
      { password: "wrong" },
      { username: "nobody-here" },
      { username: "no-password", password: "" },
    ]) {
      const response = await signIn(fields);
      assert.deepEqual([response.status, response.headers.get("set-cookie")], [401, null]);
      pages.push((await response.text()).replace(/(name="username"[^>]*) value="[^"]*"/, "$1"));
    }
    assert.match(pages[0] ?? "", /The username or the password is not right/);
    assert.deepEqual(new Set(pages).size, 1);
    const page = await (await signIn({ username: '"><script>' })).text();
    assert.doesNotMatch(page, /<script>/);
  });

  it("replaces a hash with weaker parameters, even of a password that would be refused today", async () => {
    const nonce = Buffer.alloc(16, 7);
    const weak = "1234567890";
    const parameters = { message: Buffer.from(weak), nonce, memory: 64, passes: 1, parallelism: 1, tagLength: 32 };
    const encode = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");
    const old = `$argon2id$v=19$m=64,t=1,p=1$${encode(nonce)}$${encode(argon2Sync("argon2id", parameters))}`;
    const users = (hash: string) =>
      server.store.write((db) =>
        db.updateTable("users").set({ password_hash: hash }).where("username", "=", "ada").execute(),
      );
    await users(old);
    assert.equal((await signIn({ password: "wrong" })).status, 401);
    assert.equal((await signIn({ password: weak })).status, 303);
    const row = await server.store.db.selectFrom("users").selectAll().where("username", "=", "ada").executeTakeFirst();
    assert.equal(isOutdated(row?.password_hash ?? ""), false);
    assert.equal((await signIn({ password: weak })).status, 303);
    await users(await hashPassword(password, ada));
  });

  it("is refused for forms of other sites", async () => {
    for (const headers of [
      { origin: "https://elsewhere.example" },
      { origin: "null" },
      { "sec-fetch-site": "same-site" },
    ]) {
      const response = await signIn({}, headers);
      assert.deepEqual([response.status, response.headers.get("set-cookie")], [403, null]);
    }
  });

  it("returns to the requested page", async () => {
    const wanted = "/auth/device-login?code=AAAA-BBBB";
    const page = await (await new Visitor(server.url).get(wanted)).text();
    assert.ok(page.includes(`name="next" value="${wanted}"`), page);
    assert.equal((await signIn({ next: wanted })).headers.get("location"), wanted);
  });

  it("never redirects to another site", async () => {
    for (const next of [
      "https://elsewhere.example/",
      "//elsewhere.example",
      "/\\elsewhere.example",
      "\\\\elsewhere.example",
      "/\t/elsewhere.example",
      "/.//elsewhere.example",
      "/x/..//elsewhere.example",
      "javascript:alert(1)",
      "/auth/sign-in?link=x",
      "",
    ]) {
      assert.equal(ownPath(next), "/", next);
      assert.equal((await signIn({ next })).headers.get("location"), "/", next);
    }
    assert.equal(ownPath("/a/../b?c=d#e"), "/b?c=d");
  });
});

describe("a user's own profile", () => {
  let server: InProcessServer;
  let admin: Client;
  before(async () => {
    server = await startInProcess();
    admin = await server.client();
  });
  after(() => server.dispose());

  const change = (as: Client, body: { password: string; current_password?: string }) =>
    as.call(routes.changePassword, { body });

  it("shows who the user is", async () => {
    const { client } = await addPerson(server, "ada", { team: "main", role: "viewer" });
    const { token_name: _, scopes: __, ...me } = await client.call(routes.whoAmI, {});
    assert.deepEqual(me, {
      username: "ada",
      first_name: "",
      last_name: "",
      email: null,
      has_password: false,
      is_admin: false,
      teams: [{ name: "main", role: "viewer" }],
      expires_at: null,
      timezone: null,
    });
    assert.equal((await admin.call(routes.whoAmI, {})).is_admin, true);
    assert.equal((await (await server.client({ team: "main" })).call(routes.whoAmI, {})).is_admin, false);
  });

  it("can be changed by the user, except for their rights", async () => {
    const { client } = await addPerson(server, "bob");
    const body = { first_name: "Bob", email: "bob@example.com", is_admin: true, disabled: true } as object;
    const me = await client.call(routes.updateProfile, { body });
    assert.deepEqual([me.first_name, me.email, me.is_admin], ["Bob", "bob@example.com", false]);
    const small = await server.client({ user: "bob", scopes: ["JOB"] });
    await refused(small.call(routes.updateProfile, { body: { first_name: "X" } }), "forbidden", /ADMIN scope/);
  });

  it("gets a first password only with a token that has all scopes and teams", async () => {
    const { client } = await addPerson(server, "carol", { team: "main" });
    for (const limits of [{ scopes: ["ADMIN"] }, { team: "main" }]) {
      const limited = await server.client({ user: "carol", ...limits });
      await refused(change(limited, { password }), "forbidden", /cannot set a first password/);
    }
    await change(client, { password });
    assert.equal((await client.call(routes.whoAmI, {})).has_password, true);
  });

  it("gets another password only with the current one, and other sessions end", async () => {
    const { client } = await addPerson(server, "dave", { password });
    const browser = new Visitor(server.url);
    await browser.post("/auth/sign-in", { username: "dave", password });
    await refused(change(client, { password: "another one" }), "forbidden", /current password is wrong/);
    await refused(change(client, { current_password: "wrong", password: "another one" }), "forbidden");
    await refused(change(client, { current_password: password, password: "short" }), "invalid");
    assert.equal((await browser.get("/")).status, 200);
    await change(client, { current_password: password, password: "another one" });
    assert.equal((await browser.get("/")).status, 401);
    assert.equal((await browser.post("/auth/sign-in", { username: "dave", password })).status, 401);
    assert.equal((await browser.post("/auth/sign-in", { username: "dave", password: "another one" })).status, 303);
  });

  it("can be changed on its page, where the current session continues", async () => {
    await addPerson(server, "erin", { password });
    const [one, other] = [new Visitor(server.url), new Visitor(server.url)];
    for (const browser of [one, other]) await browser.post("/auth/sign-in", { username: "erin", password });
    const saved = await one.post("/auth/account", {
      change: "profile",
      first_name: "<E>",
      last_name: "",
      email: "e@x.org",
    });
    assert.match(await saved.text(), /Your profile was changed[\s\S]*value="&lt;E&gt;"/);
    const bad = await one.post("/auth/account", {
      change: "profile",
      first_name: "",
      last_name: "",
      email: "nonsense",
    });
    assert.equal(bad.status, 422);
    const form = { change: "password", current_password: password, password: "another one", again: "another one" };
    assert.equal((await one.post("/auth/account", { ...form, again: "x" })).status, 422);
    assert.equal((await one.post("/auth/account", { ...form, current_password: "x" })).status, 403);
    assert.equal((await one.post("/auth/account", form, { origin: "https://elsewhere.example" })).status, 403);
    assert.equal((await one.post("/auth/account", form)).status, 200);
    assert.equal((await one.get("/auth/account")).status, 200);
    assert.equal((await other.get("/auth/account")).status, 401);
  });
});

describe("a server that other machines can reach", () => {
  it("starts only if an administrator who can sign in has a password", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "millrace-host-"));
    const start = (host: string) =>
      startServer(
        readConfig({ host }, { PATH: process.env["PATH"], MILLRACE_DATA_DIR: dataDir, MILLRACE_PORT: "0" }),
        pino({ level: "silent" }),
      );
    const refusal = { message: /no administrator has a password yet/, next: /millrace admin password/ };
    const change = async (changes: object) => {
      const store = await openStore(storeIn(dataDir));
      await store.write((db) => db.updateTable("users").set(changes).where("username", "=", "admin").execute());
      await store.close();
    };
    try {
      for (const host of ["0.0.0.0", "::", "192.0.2.1", "localhost.example", "127.0.0.1.example", "128.0.0.1"])
        await assert.rejects(start(host), refusal, host);
      for (const host of ["127.0.0.1", "127.1.2.3", "localhost"]) await (await start(host)).stop();
      const store = await openStore(storeIn(dataDir));
      await setAdminPassword(store, "admin", password, Date.now());
      await store.close();
      await (await start("0.0.0.0")).stop();
      await change({ disabled_at: "2030-01-01T00:00:00.000Z" });
      await assert.rejects(start("0.0.0.0"), refusal);
      await change({ disabled_at: null, is_admin: 0 });
      await assert.rejects(start("0.0.0.0"), refusal);
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});

describe("the address of a caller", () => {
  it("is that of the connection unless a proxy is trusted, also for sockets", async () => {
    for (const [trust, forwarded, expected] of [
      ["", "192.0.2.7", "127.0.0.1"],
      ["loopback", "192.0.2.7", "192.0.2.7"],
      ["loopback", "203.0.113.9, 192.0.2.7", "192.0.2.7"],
      ["127.0.0.1,192.0.2.0/24", "203.0.113.9, 192.0.2.7", "203.0.113.9"],
      ["1", "203.0.113.9, 192.0.2.7", "192.0.2.7"],
      ["2", "203.0.113.9, 192.0.2.7", "203.0.113.9"],
      ["10.0.0.0/8", "192.0.2.7", "127.0.0.1"],
    ] as const) {
      const server = await startInProcess({ MILLRACE_TRUST_PROXY: trust, MILLRACE_LOGIN_RATE: "1" });
      try {
        const headers = { "x-forwarded-for": forwarded };
        const client = createClient({ url: server.url, token: await server.token() });
        await client.call(routes.createToken, { body: { name: "seen" } }, { headers });
        const [entry] = await client.call(routes.listAudit, { query: { action: "token.create", limit: 1 } });
        assert.equal(entry?.address, expected, `${trust} ${forwarded}`);
        // Four invalid tokens per minute and address: those over a socket count, too.
        const statuses = [];
        for (let i = 0; i < 5; i++) {
          const path = `${server.url}${routes.followLogs.path}`;
          const bad = { authorization: "Bearer isat_bad", ...headers };
          statuses.push(await upgradeStatus(path, bad));
        }
        assert.deepEqual(statuses, [401, 401, 401, 401, 429]);
        assert.equal(
          (await server.fetch("/api/whoami", { token: "isat_bad", headers })).status,
          429,
          "the same address",
        );
      } finally {
        await server.dispose();
      }
    }
  });

  it("is read only from a valid list of proxies", () => {
    const read = (value: string) => readConfig({}, { MILLRACE_TRUST_PROXY: value }).listening.trustProxy;
    assert.deepEqual(read(" 10.0.0.0/8, ::1 ,loopback"), ["10.0.0.0/8", "::1", "loopback"]);
    assert.equal(read("2"), 2);
    for (const value of ["everybody", "10.0.0.0/33", "10.0.0.0/x", "proxy.example", "true"])
      assert.throws(() => read(value), /MILLRACE_TRUST_PROXY: expected the number of proxies/);
  });
});
