/** Users: created, changed, disabled, and never without an administrator. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, routes } from "@millrace/contract";
import { createSignInLink } from "../../src/domain/people/sessions.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson, refused, Visitor } from "../support/people.ts";

describe("users", () => {
  let server: InProcessServer;
  let admin: Client;
  before(async () => {
    server = await startInProcess();
    admin = await server.client();
  });
  after(() => server.dispose());

  const set = (username: string, body: object, as = admin) =>
    as.call(routes.updateUser, { params: { username }, body });
  const get = (username: string) => admin.call(routes.getUser, { params: { username } });

  it("are created with names, an address and a password that nobody can see", async () => {
    const body = {
      username: "ada",
      first_name: " Ada ",
      last_name: "L",
      email: "ada@example.com",
      password: "long enough by far",
    };
    const user = await admin.call(routes.createUser, { body });
    const { created_at, ...rest } = user;
    assert.deepEqual(rest, {
      username: "ada",
      first_name: "Ada",
      last_name: "L",
      email: "ada@example.com",
      timezone: null,
      is_admin: false,
      has_password: true,
      disabled_at: null,
      service_account: false,
      teams: [],
    });
    assert.ok(Date.parse(created_at) > Date.now() - 60_000);
    const row = await server.store.db.selectFrom("users").selectAll().where("username", "=", "ada").executeTakeFirst();
    assert.match(row?.password_hash ?? "", /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });

  it("have unique names that are safe in paths and before a dot", async () => {
    for (const username of ["Ada", "a.b", "-a", "_a", "", "a b", "ä", "a/b", "x".repeat(40), "@a", "..", "a\n"])
      await refused(admin.call(routes.createUser, { body: { username } }), "invalid", /username: expected 1 to 39/);
    for (const username of ["me", "api", "all"])
      await refused(admin.call(routes.createUser, { body: { username } }), "invalid", /reserved/);
    for (const username of ["0", "a-b_c", "x".repeat(39)]) await admin.call(routes.createUser, { body: { username } });
    await refused(admin.call(routes.createUser, { body: { username: "0" } }), "wrong_state", /a user 0 already/);
  });

  it("with a short password, or their name as one, are refused without repeating it", async () => {
    const make = (password: string) => admin.call(routes.createUser, { body: { username: "shortish-name", password } });
    await refused(make("short pwd"), "invalid", /^password: expected 10 to 1024 characters$/);
    await refused(make("x".repeat(1025)), "invalid", /^password: expected at most 1024 characters, got 1025$/);
    await refused(make("SHORTISH-name"), "invalid", /hard to guess/);
  });

  it("with invalid fields are refused by field", async () => {
    const make = (fields: object) => admin.call(routes.createUser, { body: { username: "odd", ...fields } });
    await refused(make({ email: "nobody" }), "invalid", /email: expected an e-mail address/);
    await refused(make({ first_name: "x".repeat(101) }), "invalid", /first_name/);
    await refused(make({ is_admin: "yes" }), "invalid", /is_admin/);
  });

  it("are listed by name, a page at a time", async () => {
    const all = (await admin.call(routes.listUsers, { query: {} })).map((user) => user.username);
    assert.deepEqual(all, [...all].sort());
    const page = await admin.call(routes.listUsers, { query: { limit: 2, cursor: all[0] ?? "" } });
    assert.deepEqual(
      page.map((user) => user.username),
      all.slice(1, 3),
    );
  });

  it("are changed field by field; null leaves a field unchanged, an empty address removes it", async () => {
    await admin.call(routes.createUser, { body: { username: "bob", email: "b@x.org", last_name: "B" } });
    const changed = await set("bob", { first_name: "Bob", last_name: null });
    assert.deepEqual([changed.first_name, changed.last_name, changed.email], ["Bob", "B", "b@x.org"]);
    assert.equal((await set("bob", { email: "" })).email, null);
    await refused(set("nobody-here", {}), "not_found", /no user nobody-here/);
  });

  it("that are disabled lose access at once: tokens, sessions, links and the password", async () => {
    const eve = await addPerson(server, "eve", { team: "main", password: "eve on the tower" });
    const browser = new Visitor(server.url);
    const signIn = () => browser.post("/auth/sign-in", { username: "eve", password: "eve on the tower" });
    const link = await createSignInLink(server.store, "eve", Date.now());
    assert.equal((await signIn()).status, 303);
    assert.equal((await browser.get("/")).status, 200);
    assert.ok((await set("eve", { disabled: true })).disabled_at);
    await refused(eve.client.call(routes.whoAmI, {}), "unauthorized");
    assert.equal((await browser.get("/")).status, 401);
    assert.equal((await signIn()).status, 401);
    assert.equal((await browser.get(`/auth/sign-in?link=${link}`)).status, 401);
    await assert.rejects(server.token({ user: "eve" }), /eve is disabled/);
    await assert.rejects(createSignInLink(server.store, "eve", Date.now()), /eve is disabled/);

    assert.equal((await set("eve", { disabled: false })).disabled_at, null);
    assert.equal((await eve.client.call(routes.whoAmI, {})).username, "eve");
    assert.equal((await browser.get("/")).status, 401, "the session does not come back");
    assert.equal((await signIn()).status, 303);
  });

  it("with a new password lose their sessions", async () => {
    await addPerson(server, "frank", { password: "the first one" });
    const browser = new Visitor(server.url);
    await browser.post("/auth/sign-in", { username: "frank", password: "the first one" });
    assert.equal((await browser.get("/")).status, 200);
    await set("frank", { password: "the second one" });
    assert.equal((await browser.get("/")).status, 401);
    assert.equal((await browser.post("/auth/sign-in", { username: "frank", password: "the first one" })).status, 401);
    assert.equal((await browser.post("/auth/sign-in", { username: "frank", password: "the second one" })).status, 303);
  });

  it("always include an administrator who can sign in", async () => {
    await refused(
      set("admin", { is_admin: false }),
      "wrong_state",
      /only administrator.*Make another user an administrator/,
    );
    await refused(set("admin", { disabled: true }), "wrong_state", /only administrator/);
    await addPerson(server, "grace", { isAdmin: true });
    await set("grace", { disabled: true });
    await refused(set("admin", { is_admin: false }), "wrong_state", /only administrator/);
    await set("grace", { disabled: false });
    const both = await Promise.allSettled([set("admin", { is_admin: false }), set("grace", { is_admin: false })]);
    assert.deepEqual(both.map((result) => result.status).sort(), ["fulfilled", "rejected"]);
    const left = both[0]?.status === "fulfilled" ? await server.client({ user: "grace" }) : admin;
    await set("admin", { is_admin: true }, left);
    await set("grace", { is_admin: false }, await server.client());
    assert.equal((await get("grace")).is_admin, false);
  });

  it("are managed by administrators whose token is not limited to teams", async () => {
    const { client } = await addPerson(server, "henry", { team: "main", role: "admin" });
    const limited = await server.client({ team: "main" });
    await refused(
      limited.call(routes.listUsers, { query: {} }),
      "forbidden",
      /^Only administrators of the server may do this\. This token is limited to teams.*sign in again without naming a team/,
    );
    await refused(
      client.call(routes.listUsers, { query: {} }),
      "forbidden",
      /^Only administrators of the server may do this\.$/,
    );
    for (const as of [client, limited]) {
      await refused(as.call(routes.listUsers, { query: {} }), "forbidden", /administrators of the server/);
      await refused(set("henry", { is_admin: true }, as), "forbidden");
    }
    const reading = await server.client({ scopes: ["ADMIN:read"] });
    await reading.call(routes.listUsers, { query: {} });
    await refused(set("henry", { first_name: "H" }, reading), "forbidden", /write access to the ADMIN scope/);
  });
});
