/**
 * Service accounts: a team's user that is not a person. Nobody signs in as it, and the team's admins create its tokens.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, createClient, routes } from "@millrace/contract";
import { createSignInLink } from "../../src/domain/people/sessions.ts";
import { setAdminPassword } from "../../src/domain/people/users.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson, addTeam, type Person, refused } from "../support/people.ts";

describe("the service account of a team", () => {
  let server: InProcessServer;
  let admin: Client;
  let boss: Person;
  let editor: Person;
  const params = { team_name: "crew" };
  before(async () => {
    server = await startInProcess();
    admin = await server.client();
    await addTeam(server, "crew");
    boss = await addPerson(server, "boss", { team: "crew", role: "admin" });
    editor = await addPerson(server, "ed", { team: "crew" });
  });
  after(() => server.dispose());

  const create = (client: Client, body: object = {}) => client.call(routes.createServiceAccount, { params, body });
  const createToken = (client: Client, body: object = {}) =>
    client.call(routes.createServiceToken, { params, body: { token_name: "ci", ...body } });
  const as = (token: string) => createClient({ url: server.url, token, team: "crew" });

  it("is created by a team admin, once, as an editor, and is listed with the members", async () => {
    await refused(create(editor.client), "forbidden", /needs the role admin/);
    await refused(createToken(boss.client), "not_found", /has no service account/);
    assert.deepEqual(await create(boss.client), {
      username: "crew-service",
      first_name: "",
      last_name: "",
      role: "editor",
      disabled: false,
      service_account: true,
    });
    await refused(
      create(boss.client, { account_name: "second" }),
      "wrong_state",
      /already has a service account, crew-service/,
    );
    const members = await boss.client.call(routes.listMembers, { params });
    assert.deepEqual(
      members.map(({ username, service_account }) => [username, service_account]),
      [
        ["admin", false],
        ["boss", false],
        ["crew-service", true],
        ["ed", false],
      ],
    );
    const actions = (await boss.client.call(routes.listAudit, { query: { team_name: "crew" } })).map(
      ({ action, target, username }) => [action, target, username],
    );
    assert.ok(actions.some((entry) => entry.join() === "service-account.create,crew-service,boss"));
  });

  it("cannot have the name of a person or a reserved name", async () => {
    await addTeam(server, "second");
    const other = (account_name: string) =>
      admin.call(routes.createServiceAccount, { params: { team_name: "second" }, body: { account_name } });
    await refused(other("ed"), "wrong_state", /There is already a user ed/);
    await refused(other("api"), "invalid", /reserved/);
    assert.equal((await other("robot")).username, "robot");
  });

  it("works with tokens that admins of its team create, in that team only, and never with ADMIN", async () => {
    const token = await createToken(boss.client, { expires_in_days: 3 });
    assert.deepEqual([token.username, token.team_names], ["crew-service", ["crew"]]);
    assert.ok(!token.scopes.some((scope) => scope.startsWith("ADMIN")));
    assert.ok(token.expires_at);
    const body = { query: "exit 0", query_type: "SHELL" } as const;
    const client = as(token.access_token);
    assert.equal((await client.call(routes.createJob, { body })).created_by, "crew-service");
    await refused(createToken(editor.client), "forbidden", /needs the role admin/);
    await refused(
      createToken(boss.client, { scopes: ["ADMIN"] }),
      "forbidden",
      /apart from ADMIN, which a service account cannot have/,
    );
    const limited = as(await server.token({ user: "boss", scopes: ["ADMIN", "JOB:read"] }));
    assert.deepEqual((await createToken(limited)).scopes, ["JOB:read"], "no further than the one that makes it");
    const listed = await boss.client.call(routes.listServiceTokens, { params });
    assert.equal(listed.length, 2);
    const id = { params: { ...params, service_token_id: String(token.id) } };
    await refused(editor.client.call(routes.revokeServiceToken, id), "forbidden");
    await boss.client.call(routes.revokeServiceToken, id);
    await refused(client.call(routes.whoAmI, {}), "unauthorized");
    const own = await boss.client.call(routes.createToken, { body: { name: "a person's" } });
    const other = { params: { ...params, service_token_id: String(own.id) } };
    await refused(boss.client.call(routes.revokeServiceToken, other), "not_found", /has no valid token/);
  });

  it("has no password, no link and no administrator rights, grants no rights and joins no other team", async () => {
    const set = (body: object) => admin.call(routes.updateUser, { params: { username: "crew-service" }, body });
    await refused(set({ password: "long enough by far" }), "wrong_state", /is a service account/);
    await refused(set({ is_admin: true }), "wrong_state", /cannot have a password or administrator rights/);
    await assert.rejects(createSignInLink(server.store, "crew-service", Date.now()), /nobody signs in as it/);
    await assert.rejects(
      setAdminPassword(server.store, "crew-service", "long enough by far", Date.now()),
      /is a service account/,
    );
    const client = as((await createToken(boss.client)).access_token);
    await refused(client.call(routes.createToken, { body: { name: "more" } }), "forbidden", /may not create tokens/);
    await refused(client.call(routes.changePassword, { body: { password: "long enough by far" } }), "forbidden");
    const login = await client.call(routes.startDeviceLogin, { body: {} });
    await refused(
      client.call(routes.approveDeviceLogin, { body: { user_code: login.user_code } }),
      "forbidden",
      /may not approve logins/,
    );
    const join = { params: { team_name: "second" }, body: { username: "crew-service", role: "editor" as const } };
    await refused(admin.call(routes.addMember, join), "wrong_state", /service account of another team/);
    const role = { params: { ...params, username: "crew-service" }, body: { role: "admin" as const } };
    await refused(boss.client.call(routes.updateMember, role), "wrong_state", /viewer or editor/);
  });

  it("can be removed from its team like a member, and added again", async () => {
    const client = as((await createToken(boss.client)).access_token);
    const member = { ...params, username: "crew-service" };
    await boss.client.call(routes.removeMember, { params: member, query: {} });
    await refused(client.call(routes.listJobs, { query: {} }), "forbidden");
    await refused(create(boss.client), "wrong_state", /already has a service account, crew-service\. .*add it again/);
    await boss.client.call(routes.addMember, { params, body: { username: "crew-service", role: "viewer" } });
    assert.ok(await client.call(routes.listJobs, { query: {} }));
  });
});
