/** Tokens, device login, browser sessions, rate limits. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Client, createClient, routes } from "@millrace/contract";
import { createSignInLink } from "../../src/domain/people/sessions.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

describe("signing in", () => {
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess();
    client = await server.client();
  });
  after(() => server.dispose());

  const start = (body: object = {}) => client.call(routes.startDeviceLogin, { body });
  const poll = (code: string) => client.call(routes.pollDeviceLogin, { body: { code } });
  const approve = (code: string, as = client) => as.call(routes.approveDeviceLogin, { body: { user_code: code } });

  describe("a token", () => {
    it("begins with isat_ and is stored only as a hash", async () => {
      const token = await server.token();
      assert.match(token, /^isat_[\w-]{43}$/);
      const bytes = Buffer.concat(
        await Promise.all(["millrace.db", "millrace.db-wal"].map((name) => readFile(join(server.dataDir, name)))),
      );
      assert.ok(!bytes.includes(token));
      assert.ok(bytes.includes(createHash("sha256").update(token).digest("hex")));
    });

    it("records when it was last used", async () => {
      const token = await server.token();
      await server.fetch("/api/whoami", { token });
      const hash = createHash("sha256").update(token).digest("hex");
      const row = await server.store.db
        .selectFrom("tokens")
        .selectAll()
        .where("hash", "=", hash)
        .executeTakeFirstOrThrow();
      assert.ok(row.last_used_at && Date.parse(row.last_used_at) > Date.now() - 60_000);
    });

    it("may have few scopes, and an unknown one is refused by name", async () => {
      const token = await server.token({ scopes: ["JOB:read"] });
      assert.equal((await server.fetch("/api/datachain/jobs/", { token })).status, 200);
      assert.equal((await server.fetch("/api/datachain/clusters/", { token })).status, 403);
      assert.equal(
        (await server.fetch("/api/datachain/jobs/", { token, json: { query: "", query_type: "SHELL" } })).status,
        403,
      );
      await assert.rejects(server.token({ scopes: ["JUGGLING"] }), /scopes: expected names.*JUGGLING/);
    });

    it("works in its teams only, and shows them", async () => {
      const response = await server.fetch("/api/datachain/jobs/?team_name=other");
      assert.equal(response.status, 403);
      assert.match(((await response.json()) as { message: string }).message, /team other.*main/);
    });
  });

  describe("a device login", () => {
    it("is pending until it is approved, then yields its token once", async () => {
      const login = await start({ client_name: "DataChain", expires_in_days: 30, token_name: "laptop" });
      assert.match(login.user_code, /^[B-Z2-9]{4}-[B-Z2-9]{4}$/);
      assert.equal(login.verification_uri, `${server.url}/auth/device-login`);
      assert.equal(login.token_uri, `${server.url}/api/device-login/token`);
      await assert.rejects(poll(login.device_code), { message: "authorization_pending" });
      await approve(login.user_code.toLowerCase().replace("-", " "));
      const { access_token } = await poll(login.device_code);
      const me = await createClient({ url: server.url, token: access_token }).call(routes.whoAmI, {});
      assert.deepEqual([me.username, me.token_name, me.teams], ["admin", "laptop", [{ name: "main", role: "admin" }]]);
      assert.ok(Date.parse(me.expires_at ?? "") < Date.now() + 31 * 86_400_000);
      await assert.rejects(poll(login.device_code), { message: "authorization_expired" });
    });

    it("that is approved while its token is requested yields it then or at the next request", async () => {
      for (let round = 0; round < 30; round++) {
        const login = await start();
        const asked = Array.from({ length: 8 }, () => poll(login.device_code));
        const [answers] = await Promise.all([Promise.allSettled(asked), approve(login.user_code)]);
        const tokens = answers.filter(({ status }) => status === "fulfilled");
        const refusals = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason.message] : []));
        if (tokens.length > 0) {
          assert.equal(tokens.length, 1);
          continue;
        }
        assert.deepEqual([...new Set(refusals)], ["authorization_pending"]);
        await poll(login.device_code);
      }
    });

    it("that is denied or unknown yields no token", async () => {
      const login = await start();
      await client.call(routes.denyDeviceLogin, { body: { user_code: login.user_code } });
      await assert.rejects(poll(login.device_code), { message: "authorization_denied" });
      await assert.rejects(poll("nonsense"), { message: "authorization_expired" });
      await assert.rejects(approve(login.user_code), /No login waits for the code/);
    });

    it("with the client's own scopes can run jobs", async () => {
      for (const scopes of [undefined, ["DATASETS"], ["experiments", "models"]]) {
        const login = await start(scopes ? { scopes } : {});
        await approve(login.user_code);
        const { access_token } = await poll(login.device_code);
        const response = await server.fetch("/api/datachain/jobs/", {
          token: access_token,
          json: { query: "true", query_type: "SHELL" },
        });
        assert.equal(response.status, 200);
      }
    });

    it("never has more rights than the token that approves it", async () => {
      const small = await server.client({ scopes: ["JOB:read"], team: "main" });
      const login = await start();
      await approve(login.user_code, small);
      const { access_token } = await poll(login.device_code);
      const me = await createClient({ url: server.url, token: access_token }).call(routes.whoAmI, {});
      assert.deepEqual(me.scopes, ["JOB:read"]);
    });

    it("for a team that the approver is not a member of is refused", async () => {
      const login = await start({ team_names: ["elsewhere"] });
      await assert.rejects(approve(login.user_code), /requests the team elsewhere/);
    });
  });

  it("a logout revokes its own token", async () => {
    const token = await server.token();
    assert.equal((await server.fetch("/api/device-logout", { method: "POST", token })).status, 200);
    assert.equal((await server.fetch("/api/device-logout", { method: "POST", token })).status, 401);
  });

  describe("a browser", () => {
    const browse = (path: string, cookie?: string, init: RequestInit = {}) =>
      fetch(server.url + path, {
        redirect: "manual",
        ...init,
        headers: { ...init.headers, ...(cookie ? { cookie } : {}) },
      });
    const signIn = async () => {
      const response = await browse(`/auth/sign-in?link=${await createSignInLink(server.store, "admin", Date.now())}`);
      assert.equal(response.status, 303);
      const header = response.headers.get("set-cookie") ?? "";
      assert.match(header, /HttpOnly; SameSite=Lax/);
      return header.split(";")[0] ?? "";
    };

    it("signs in with a link that works once", async () => {
      const link = await createSignInLink(server.store, "admin", Date.now());
      assert.equal((await browse(`/auth/sign-in?link=${link}`)).status, 303);
      const second = await browse(`/auth/sign-in?link=${link}`);
      assert.equal(second.status, 401);
      assert.match(await second.text(), /used before or has expired.*Ask an administrator of the server for a new one/);
    });

    it("that is not signed in sees how to sign in, on every page", async () => {
      for (const path of ["/", "/auth/device-login?code=AAAA-BBBB", "/team/main/datasets/jobs/x"]) {
        const response = await browse(path);
        assert.equal(response.status, 401, path);
        assert.match(await response.text(), /millrace admin link/);
      }
    });

    it("approves a device login on its page", async () => {
      const cookie = await signIn();
      const login = await start({ client_name: "<b>evil</b>" });
      const page = await (await browse(`/auth/device-login?code=${login.user_code}`, cookie)).text();
      assert.match(page, /&lt;b&gt;evil&lt;\/b&gt;/);
      assert.ok(page.includes(login.user_code));
      const form = { method: "POST", body: new URLSearchParams({ code: login.user_code, answer: "approve" }) };
      assert.equal(
        (await browse("/auth/device-login", cookie, { ...form, headers: { origin: "https://elsewhere.example" } }))
          .status,
        403,
      );
      for (const headers of [{ origin: "null" }, { origin: "nonsense" }, { "sec-fetch-site": "cross-site" }, {}]) {
        assert.equal((await browse("/auth/device-login", cookie, { ...form, headers })).status, 403);
      }
      assert.equal(
        (await browse("/auth/device-login", cookie, { ...form, headers: { origin: server.url } })).status,
        200,
      );
      assert.match((await poll(login.device_code)).access_token, /^isat_/);
    });

    it("signs out", async () => {
      const cookie = await signIn();
      assert.equal((await browse("/", cookie)).status, 200);
      await browse("/auth/sign-out", cookie, { method: "POST", headers: { origin: server.url } });
      assert.equal((await browse("/", cookie)).status, 401);
    });

    it("loads nothing from other sites on any page, including the API reference", async () => {
      const cookie = await signIn();
      for (const path of ["/", "/api/docs"]) {
        const response = await browse(path, cookie);
        const page = await response.text();
        assert.match(response.headers.get("content-security-policy") ?? "", /default-src 'none'/);
        assert.doesNotMatch(page, /(src|href)="(https?:)?\/\//);
      }
    });
  });
});

describe("rate limits", () => {
  it("apply to device logins and guessed tokens, with Retry-After", async () => {
    const server = await startInProcess({ MILLRACE_LOGIN_RATE: "3" });
    try {
      const statuses = [];
      for (let i = 0; i < 5; i++)
        statuses.push((await server.fetch("/api/device-login", { token: null, json: {} })).status);
      assert.deepEqual(statuses, [200, 200, 200, 429, 429]);
      let guess = await server.fetch("/api/whoami", { token: "isat_guess" });
      for (let i = 0; i < 20 && guess.status === 401; i++)
        guess = await server.fetch("/api/whoami", { token: "isat_guess" });
      assert.equal(guess.status, 429);
      assert.ok(Number(guess.headers.get("retry-after")) > 0);
      assert.equal((await server.fetch("/api/whoami")).status, 200, "a good token is not slowed down");
    } finally {
      await server.dispose();
    }
  });
});
