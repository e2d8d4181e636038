/** Tokens that people create for their programs. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { allScopes, type Client, createClient, routes, type Token } from "@millrace/contract";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson, addTeam, type Person, refused } from "../support/people.ts";

describe("tokens", () => {
  let server: InProcessServer;
  let admin: Client;
  let zoe: Person;
  before(async () => {
    server = await startInProcess();
    admin = await server.client();
    await addTeam(server, "crew");
    zoe = await addPerson(server, "zoe", { team: "main", role: "editor" });
    await admin.call(routes.addMember, { params: { team_name: "crew" }, body: { username: "zoe", role: "viewer" } });
  });
  after(() => server.dispose());

  const create = (body: object = {}, as = zoe.client) => as.call(routes.createToken, { body: { name: "ci", ...body } });
  const using = (token: string) => createClient({ url: server.url, token });
  const whoIs = (token: string) => using(token).call(routes.whoAmI, {});
  const list = (as: Client, query: object = {}) => as.call(routes.listTokens, { query });
  const revoke = (id: number, as: Client) => as.call(routes.revokeToken, { params: { token_id: String(id) } });

  it("are created with a name, scopes, teams and an expiry, and shown once", async () => {
    const made = await create({ scopes: ["job:read", "clusters"], team_names: ["crew"], expires_in_days: 3 });
    assert.match(made.access_token, /^isat_/);
    assert.deepEqual(made.scopes, ["JOB:read", "CLUSTERS:read", "CLUSTERS:write"]);
    const me = await whoIs(made.access_token);
    assert.deepEqual([me.username, me.token_name, me.teams], ["zoe", "ci", [{ name: "crew", role: "viewer" }]]);
    assert.ok(Date.parse(me.expires_at ?? "") < Date.now() + 3.01 * 86_400_000);
    const listed = await list(zoe.client);
    const { access_token: _, ...shown } = made;
    assert.deepEqual({ ...listed[0], last_used_at: null }, shown);
    assert.doesNotMatch(JSON.stringify(listed), /isat_|hash/);
    assert.deepEqual(
      listed.filter(({ current }) => current).map(({ name }) => name),
      ["admin token"],
    );
  });

  it("cover all of the caller's teams, including later ones, and never expire, unless requested otherwise", async () => {
    const made = await create();
    assert.deepEqual([made.team_names, made.expires_at, made.scopes], [null, null, [...allScopes]]);
    const several = await create({ team_names: ["main", "crew"] });
    assert.deepEqual(several.team_names, ["main", "crew"]);
  });

  it("never have more rights than the token that creates them", async () => {
    const narrow = await create({ scopes: ["JOB:write", "ADMIN"], team_names: ["crew"], expires_in_days: 2 });
    const client = using(narrow.access_token);
    await refused(
      create({ scopes: ["CLUSTERS:read"] }, client),
      "forbidden",
      /does not have these scopes: CLUSTERS:read/,
    );
    await refused(create({ team_names: ["main"] }, client), "forbidden", /team main/);
    const child = await create({ expires_in_days: 3650 }, client);
    assert.deepEqual([child.team_names, child.expires_at], [["crew"], narrow.expires_at]);
    assert.deepEqual(child.scopes, narrow.scopes);
    const forever = await create({}, client);
    assert.equal(forever.expires_at, narrow.expires_at, "no end asked for is no way to live longer");
    assert.deepEqual((await create({ scopes: ["JOB:read"] }, client)).scopes, ["JOB:read"], "write includes read");
  });

  it("for teams of others, or with unknown scopes, are refused", async () => {
    await addTeam(server, "secret");
    await refused(create({ team_names: ["secret"] }), "forbidden", /team secret/);
    await refused(create({ team_names: ["no-such-team"] }), "forbidden", /team no-such-team/);
    await refused(create({ scopes: ["JUGGLING"] }), "invalid", /JUGGLING/);
    await refused(create({ name: "" }), "invalid", /name/);
    await refused(create({ expires_in_days: 0 }), "invalid", /expires_in_days/);
  });

  it("follow the current role of their user", async () => {
    const { access_token } = await create({ team_names: ["main"] });
    const run = () => using(access_token).call(routes.createJob, { body: { query: ":", query_type: "SHELL" } });
    await run();
    const params = { team_name: "main", username: "zoe" };
    await admin.call(routes.updateMember, { params, body: { role: "viewer" } });
    await refused(run(), "forbidden");
    await admin.call(routes.updateMember, { params, body: { role: "editor" } });
  });

  it("can be revoked by their owner, with immediate effect", async () => {
    const { id, access_token } = await create();
    await revoke(id, zoe.client);
    await refused(whoIs(access_token), "unauthorized");
    await refused(revoke(id, zoe.client), "not_found", /no valid token/);
    assert.ok((await list(zoe.client)).every((token) => token.id !== id));
  });

  it("with few scopes can revoke themselves, and no other", async () => {
    const small = await create({ scopes: ["JOB:read"] });
    const other = await create();
    await refused(revoke(other.id, using(small.access_token)), "forbidden", /ADMIN scope/);
    await revoke(small.id, using(small.access_token));
    await refused(whoIs(small.access_token), "unauthorized");
    await whoIs(other.access_token);
  });

  it("of others can be seen and revoked by administrators only", async () => {
    const theirs = await addPerson(server, "yan", { team: "main", role: "admin" });
    const { id } = await create();
    await refused(list(theirs.client, { username: "zoe" }), "forbidden");
    await refused(list(theirs.client, { all_users: true }), "forbidden");
    await refused(revoke(id, theirs.client), "not_found");
    const names = (tokens: Token[]) => new Set(tokens.map(({ username }) => username));
    assert.deepEqual(names(await list(admin, { username: "zoe" })), new Set(["zoe"]));
    assert.ok(names(await list(admin, { all_users: true })).has("yan"));
    await refused(list(admin, { username: "no-one" }), "not_found");
    await refused(list(await server.client({ team: "main" }), { all_users: true }), "forbidden");
    await revoke(id, admin);
  });

  describe("from a device login", () => {
    const start = () => admin.call(routes.startDeviceLogin, { body: {} });
    const poll = (code: string) => admin.call(routes.pollDeviceLogin, { body: { code } });
    const approve = (user_code: string, as: Client) => as.call(routes.approveDeviceLogin, { body: { user_code } });

    it("are not issued after the approving token is revoked", async () => {
      const { id, access_token } = await create();
      const login = await start();
      await approve(login.user_code, using(access_token));
      await revoke(id, zoe.client);
      await refused(poll(login.device_code), "authorization_expired");
      await refused(poll(login.device_code), "authorization_expired");
    });

    it("are not issued after the approver is disabled, even if enabled again", async () => {
      const gone = await addPerson(server, "gone");
      const login = await start();
      await approve(login.user_code, gone.client);
      const set = (disabled: boolean) =>
        admin.call(routes.updateUser, { params: { username: "gone" }, body: { disabled } });
      await set(true);
      await refused(poll(login.device_code), "authorization_expired");
      await set(false);
      await refused(poll(login.device_code), "authorization_expired");
    });

    it("cover teams that the approver joins later only if the approving token does", async () => {
      const login = await start();
      await approve(login.user_code, zoe.client);
      const all = await poll(login.device_code);
      const narrow = await create({ team_names: ["main"] });
      const second = await start();
      await approve(second.user_code, using(narrow.access_token));
      const one = await poll(second.device_code);
      await addTeam(server, "later");
      await admin.call(routes.addMember, { params: { team_name: "later" }, body: { username: "zoe", role: "viewer" } });
      const names = async (token: string) => (await whoIs(token)).teams.map(({ name }) => name);
      assert.ok((await names(all.access_token)).includes("later"));
      assert.deepEqual(await names(one.access_token), ["main"]);
    });
  });
});
