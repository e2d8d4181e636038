/** Invitations: one link, one person, one team. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, createClient, routes } from "@millrace/contract";
import { insertInvitation } from "../../src/store/queries/people/invitations.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson, addTeam, refused, Visitor } from "../support/people.ts";

const password = "a long password";

describe("an invitation", () => {
  let server: InProcessServer;
  let admin: Client;
  let stranger: Client;
  before(async () => {
    server = await startInProcess();
    admin = await server.client();
    stranger = createClient({ url: server.url });
    await addTeam(server, "crew");
  });
  after(() => server.dispose());

  const params = { team_name: "crew" };
  const invite = async (body: object = {}, as = admin) => {
    const invitation = await as.call(routes.createInvitation, { params, body: { role: "editor", ...body } });
    return { ...invitation, code: new URL(invitation.url).searchParams.get("code") ?? "" };
  };
  const read = (code: string) => stranger.call(routes.readInvitation, { body: { code } });
  const signUp = (code: string, username: string, fields: object = {}) =>
    stranger.call(routes.signUp, { body: { code, username, password, ...fields } });
  const open = () => admin.call(routes.listInvitations, { params });

  it("is a link that is shown once, works for a week, and is stored as a hash", async () => {
    const invitation = await invite({ role: "viewer", email: "new@example.com" });
    assert.ok(invitation.url.startsWith(`${server.url}/auth/invitation?code=`));
    const days = (Date.parse(invitation.expires_at) - Date.now()) / 86_400_000;
    assert.ok(days > 6.9 && days <= 7, String(days));
    const [listed] = await open();
    const { url: _, code, ...rest } = invitation;
    assert.deepEqual(listed, rest);
    const rows = JSON.stringify(await server.store.db.selectFrom("invitations").selectAll().execute());
    assert.ok(!rows.includes(code));
    assert.deepEqual(await read(code), {
      team_name: "crew",
      role: "viewer",
      invited_by: "admin",
      expires_at: rest.expires_at,
    });
  });

  it("creates an account, once", async () => {
    const { code } = await invite();
    await signUp(code, "nina", { first_name: "Nina", email: "n@example.com" });
    await refused(signUp(code, "oscar"), "not_found", /has expired, or was already used or revoked/);
    await refused(read(code), "not_found");
    const nina = await admin.call(routes.getUser, { params: { username: "nina" } });
    assert.deepEqual([nina.first_name, nina.is_admin, nina.teams], ["Nina", false, [{ name: "crew", role: "editor" }]]);
    const browser = new Visitor(server.url);
    assert.equal((await browser.post("/auth/sign-in", { username: "nina", password })).status, 303);
  });

  it("used by two people at once admits one and leaves nothing of the other", async () => {
    const { code } = await invite();
    const both = await Promise.allSettled([signUp(code, "twin-a"), signUp(code, "twin-b")]);
    assert.deepEqual(both.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    const twins = (await admin.call(routes.listUsers, { query: { cursor: "twin", limit: 2 } })).filter(({ username }) =>
      username.startsWith("twin-"),
    );
    assert.equal(twins.length, 1);
  });

  it("is not used up by a name that is in use, a weak password or an invalid name", async () => {
    const { code } = await invite();
    await refused(signUp(code, "admin"), "wrong_state", /already a user admin/);
    await refused(signUp(code, "pete", { password: "short" }), "invalid", /^password: expected 10/);
    await refused(signUp(code, "Pete!"), "invalid", /username/);
    await signUp(code, "pete");
  });

  it("cannot grant more than its role and team", async () => {
    const { code } = await invite({ role: "viewer" });
    await signUp(code, "quinn", { is_admin: true, role: "admin", teams: ["main"] });
    const quinn = await admin.call(routes.getUser, { params: { username: "quinn" } });
    assert.deepEqual([quinn.is_admin, quinn.teams], [false, [{ name: "crew", role: "viewer" }]]);
  });

  it("lets an existing user join, unless they are already a member", async () => {
    const rose = await addPerson(server, "rose");
    const { code } = await invite({ role: "viewer" });
    const join = (client: Client) => client.call(routes.joinTeam, { body: { code } });
    await refused(join(admin), "wrong_state", /already in the team crew/);
    await refused(stranger.call(routes.joinTeam, { body: { code } }), "unauthorized");
    assert.match((await join(rose.client)).message, /joined the team crew/);
    await refused(join(rose.client), "not_found");
    assert.deepEqual((await rose.client.call(routes.whoAmI, {})).teams, [{ name: "crew", role: "viewer" }]);
  });

  it("can be revoked, and only in its own team", async () => {
    const { id, code } = await invite();
    const revoke = (team_name: string) =>
      admin.call(routes.revokeInvitation, { params: { team_name, invitation_id: String(id) } });
    await refused(revoke("main"), "not_found", /no open invitation/);
    await revoke("crew");
    await refused(revoke("crew"), "not_found");
    await refused(signUp(code, "sam"), "not_found");
    assert.ok((await open()).every((invitation) => invitation.id !== id));
  });

  it("ends at its expiry, and when its creator may no longer invite", async () => {
    const late = await invite();
    await server.store.write((db) =>
      db.updateTable("invitations").set({ expires_at: "2020-01-01T00:00:00.000Z" }).where("id", "=", late.id).execute(),
    );
    await refused(read(late.code), "not_found");
    const { client } = await addPerson(server, "tess", { team: "crew", role: "admin" });
    const demoted = await invite({}, client);
    await read(demoted.code);
    const setRole = (role: "viewer" | "admin") =>
      admin.call(routes.updateMember, { params: { ...params, username: "tess" }, body: { role } });
    await setRole("viewer");
    await refused(signUp(demoted.code, "uma"), "not_found");
    await setRole("admin");
    await admin.call(routes.updateUser, { params: { username: "tess" }, body: { disabled: true } });
    await refused(signUp(demoted.code, "uma"), "not_found");
  });

  it("is one of at most 1,000 open ones of a team; a list of more shows the newest 1,000", async () => {
    await addTeam(server, "many");
    const many = { team_name: "many" };
    const create = () => admin.call(routes.createInvitation, { params: many, body: { role: "viewer" } });
    await create();
    const put = (first: number, count: number) =>
      server.store.write(async (db) => {
        const { id: _, ...row } = await db
          .selectFrom("invitations")
          .selectAll()
          .orderBy("id", "desc")
          .limit(1)
          .executeTakeFirstOrThrow();
        for (let index = first; index < first + count; index++)
          await insertInvitation(db, { ...row, hash: `many-${index}` });
      });
    await put(0, 998);
    const last = await create();
    await refused(create(), "wrong_state", /The team many already has 1000 open invitations, which is the limit\./);
    await admin.call(routes.revokeInvitation, { params: { ...many, invitation_id: String(last.id) } });
    const next = await create();
    await put(998, 5);
    const list = await admin.call(routes.listInvitations, { params: many });
    assert.equal(list.length, 1000);
    assert.ok(
      list.some(({ id }) => id === next.id),
      "the newest",
    );
  });

  it("can be created by admins of the team only", async () => {
    const { client } = await addPerson(server, "vera", { team: "crew", role: "editor" });
    await refused(invite({}, client), "forbidden", /needs the role admin/);
    await refused(client.call(routes.listInvitations, { params }), "forbidden");
    await refused(invite({ role: "owner" }), "invalid", /role/);
    await refused(invite({ expires_in_days: 0 }), "invalid", /expires_in_days/);
  });

  describe("in a browser", () => {
    const page = (code: string) => `/auth/invitation?code=${code}`;

    it("shows inviter, role and team, and signs the new user in", async () => {
      const { code } = await invite({ role: "viewer" });
      const browser = new Visitor(server.url);
      const shown = await (await browser.get(page(code))).text();
      assert.match(shown, /Join the team crew[\s\S]*admin invites you as viewer/);
      const form = { code, username: " Walt ", first_name: "<b>", password, again: password };
      const different = await browser.post("/auth/invitation", { ...form, again: "something else" });
      assert.equal(different.status, 422);
      assert.match(await different.text(), /two passwords differ[\s\S]*value="&lt;b&gt;"/);
      const made = await browser.post("/auth/invitation", form);
      assert.deepEqual([made.status, made.headers.get("location")], [303, "/"]);
      assert.match(await (await browser.get("/auth/account")).text(), /walt[\s\S]*crew \(/);
      assert.equal((await new Visitor(server.url).get(page(code))).status, 404);
    });

    it("lets a signed-in user join, and asks an existing user to sign in first", async () => {
      await addPerson(server, "xena", { password });
      const { code } = await invite();
      const browser = new Visitor(server.url);
      const shown = await (await browser.get(page(code))).text();
      const signIn = /href="(\/auth\/sign-in\?next=[^"]+)"/.exec(shown)?.[1] ?? "";
      const form = await (await browser.get(signIn)).text();
      const next = /name="next" value="([^"]+)"/.exec(form)?.[1] ?? "";
      const signedIn = await browser.post("/auth/sign-in", { username: "xena", password, next });
      assert.equal(signedIn.headers.get("location"), page(code));
      assert.match(await (await browser.get(page(code))).text(), /Join crew as xena/);
      assert.equal((await browser.post("/auth/invitation", { code, answer: "join" })).status, 303);
      assert.match(await (await browser.get("/auth/account")).text(), /crew \(/);
    });

    it("is refused from another site, and if nobody is signed in any more", async () => {
      const { code } = await invite();
      const browser = new Visitor(server.url);
      const form = { code, username: "yves", password, again: password };
      for (const headers of [{ origin: "https://elsewhere.example" }, { "sec-fetch-site": "cross-site" }])
        assert.equal((await browser.post("/auth/invitation", form, headers)).status, 403);
      assert.equal((await browser.post("/auth/invitation", { code, answer: "join" })).status, 401);
      await read(code);
    });

    it("is rate-limited", async () => {
      const slow = await startInProcess({ MILLRACE_LOGIN_RATE: "3" });
      try {
        const statuses = [];
        for (let i = 0; i < 4; i++)
          statuses.push((await slow.fetch("/api/invitations/read", { json: { code: "x" }, token: null })).status);
        assert.deepEqual(statuses, [404, 404, 404, 429]);
        assert.equal((await slow.fetch("/auth/invitation?code=x", { token: null })).status, 429);
      } finally {
        await slow.dispose();
      }
    });
  });
});
