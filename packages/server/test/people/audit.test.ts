/** The audit: every change writes an entry with who, what and from where. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type AuditEntry, type Client, createClient, routes } from "@millrace/contract";
import { createSignInLink } from "../../src/domain/people/sessions.ts";
import { setAdminPassword } from "../../src/domain/people/users.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson, addTeam, refused, Visitor } from "../support/people.ts";

const password = "correct horse battery";

describe("the audit", () => {
  let server: InProcessServer;
  let admin: Client;
  before(async () => {
    server = await startInProcess();
    admin = await server.client();
    everything = createClient({ url: server.url, token: await server.token() });
    await addTeam(server, "crew");
  });
  after(() => server.dispose());

  /** Without a default team: all entries. */
  let everything: Client;
  const read = (query: object = {}, as = everything) => as.call(routes.listAudit, { query });

  /** The entries of an action, oldest first, in short form. */
  async function leaves(work: () => Promise<unknown>): Promise<string[]> {
    const [last] = await read({ limit: 1 });
    await work();
    const entries = await read({ limit: 50 });
    return entries
      .filter(({ id }) => id > (last?.id ?? 0))
      .reverse()
      .map(({ action, target, detail, team_name }) => [action, target, detail, team_name].filter(Boolean).join(" | "));
  }

  it("has an entry for every change of users and profiles", async () => {
    const params = { username: "ada" };
    const set = (body: object) => () => admin.call(routes.updateUser, { params, body });
    const make = () => admin.call(routes.createUser, { body: { ...params, is_admin: true, password } });
    assert.deepEqual(await leaves(make), ["user.create | ada | administrator of the server"]);
    assert.deepEqual(await leaves(set({ first_name: "A", is_admin: false })), [
      "user.update | ada | first_name=A, is_admin=0",
    ]);
    assert.deepEqual(await leaves(set({ disabled: true })), ["user.disable | ada"]);
    assert.deepEqual(await leaves(set({ disabled: true })), []);
    assert.deepEqual(await leaves(set({ disabled: false })), ["user.enable | ada"]);
    assert.deepEqual(await leaves(set({ password })), ["user.password | ada"]);
    const ada = await server.client({ user: "ada" });
    assert.deepEqual(await leaves(() => ada.call(routes.updateProfile, { body: { email: "a@x.org" } })), [
      "user.update | ada | email",
    ]);
    const change = { current_password: password, password: `${password}!` };
    assert.deepEqual(await leaves(() => ada.call(routes.changePassword, { body: change })), ["user.password | ada"]);
    await set({ password })();
  });

  it("has an entry for every change of teams, memberships and invitations", async () => {
    const params = { team_name: "crew" };
    const member = { ...params, username: "ada" };
    const create = () => admin.call(routes.createTeam, { body: { name: "made" } });
    assert.deepEqual(await leaves(create), ["team.create | made | admin admin | made"]);
    assert.deepEqual(
      await leaves(() => admin.call(routes.updateTeam, { params: { team_name: "made" }, body: { max_running: 2 } })),
      ["team.update | made | max_running=2 | made"],
    );
    const add = () => admin.call(routes.addMember, { params, body: { username: "ada", role: "viewer" } });
    assert.deepEqual(await leaves(add), ["member.add | ada | viewer | crew"]);
    const promote = () => admin.call(routes.updateMember, { params: member, body: { role: "editor" } });
    assert.deepEqual(await leaves(promote), ["member.update | ada | editor | crew"]);
    const remove = () => admin.call(routes.removeMember, { params: member, query: {} });
    assert.deepEqual(await leaves(remove), ["member.remove | ada | editor | crew"]);
    const invite = () =>
      admin.call(routes.createInvitation, { params, body: { role: "viewer", email: "new@example.com" } });
    const first = await invite();
    const revoke = () =>
      admin.call(routes.revokeInvitation, { params: { ...params, invitation_id: String(first.id) } });
    assert.deepEqual(await leaves(revoke), [`invitation.revoke | ${first.id} | crew`]);
    const invited = await leaves(invite);
    assert.deepEqual(invited, [`invitation.create | ${first.id + 1} | viewer for new@example.com | crew`]);
    const code = new URL((await invite()).url).searchParams.get("code") ?? "";
    const id = first.id + 2;
    const signUp = () =>
      createClient({ url: server.url }).call(routes.signUp, { body: { code, username: "newcomer", password } });
    assert.deepEqual(await leaves(signUp), [
      "user.create | newcomer",
      "member.add | newcomer | viewer | crew",
      `invitation.accept | ${id} | newcomer | crew`,
    ]);
    const [entry] = await read({ username: "newcomer" });
    assert.deepEqual([entry?.via, entry?.address], ["invitation", "127.0.0.1"]);
  });

  it("has an entry for every token and device login", async () => {
    const made = await admin.call(routes.createToken, { body: { name: "ci", scopes: ["JOB:read"] } });
    const [entry] = await read({ limit: 1 });
    assert.deepEqual(
      [entry?.action, entry?.target, entry?.detail, entry?.username, entry?.via, entry?.address],
      ["token.create", `${made.id} ci`, "for admin: JOB:read", "admin", "token admin token", "127.0.0.1"],
    );
    const revoke = () => admin.call(routes.revokeToken, { params: { token_id: String(made.id) } });
    assert.deepEqual(await leaves(revoke), [`token.revoke | ${made.id} ci | of admin`]);
    const start = () => admin.call(routes.startDeviceLogin, { body: { token_name: "laptop", scopes: ["JOB"] } });
    const [one, two] = [await start(), await start()];
    const answer = (route: "approveDeviceLogin" | "denyDeviceLogin", user_code: string) => () =>
      admin.call(routes[route], { body: { user_code } });
    const approved = await leaves(answer("approveDeviceLogin", one.user_code));
    assert.deepEqual(approved, [`device-login.approve | ${one.user_code}`]);
    assert.deepEqual(await leaves(answer("denyDeviceLogin", two.user_code)), [`device-login.deny | ${two.user_code}`]);
    await admin.call(routes.pollDeviceLogin, { body: { code: one.device_code } });
    const [collected] = await read({ limit: 1 });
    assert.match(
      `${collected?.action} ${collected?.target} ${collected?.via}`,
      /^token.create \d+ laptop device login$/,
    );
    const out = createClient({ url: server.url, token: await server.token() });
    assert.match(
      (await leaves(() => out.call(routes.deviceLogout, {}))).join(),
      /^token.revoke \| \d+ admin token \| of admin$/,
    );
  });

  it("has an entry for every sign-in, and for every failed one with the name that was tried", async () => {
    const browser = new Visitor(server.url);
    const signIn = (username: string, secret: string) => () =>
      browser.post("/auth/sign-in", { username, password: secret });
    assert.deepEqual(await leaves(signIn("ada", password)), ["session.create | ada"]);
    assert.deepEqual(await leaves(() => browser.post("/auth/sign-out", {})), ["session.end | ada"]);
    assert.deepEqual(await leaves(signIn("ADA", "wrong")), ["session.refuse | ada"]);
    assert.deepEqual(await leaves(signIn("nobody-here", "wrong")), ["session.refuse | nobody-here"]);
    const slip = await leaves(signIn("My Secret: typed into the wrong field", ""));
    assert.deepEqual(slip, ["session.refuse | (no username)"]);
    const [refusal] = await read({ action: "session.refuse", limit: 1 });
    assert.deepEqual([refusal?.via, refusal?.address], ["password", "127.0.0.1"]);
    const link = async () => {
      const secret = await createSignInLink(server.store, "ada", Date.now());
      await browser.get(`/auth/sign-in?link=${secret}`);
    };
    assert.deepEqual(await leaves(link), ["link.create | ada", "session.create | ada"]);
  });

  it("has an entry for jobs created and canceled, and for files uploaded", async () => {
    const body = { query: "sleep 9", query_type: "SHELL", query_name: "long.sh" } as const;
    let id = "";
    const create = async () => {
      id = (await admin.call(routes.createJob, { body })).id;
    };
    assert.deepEqual(await leaves(create), [`job.create | ${id} | long.sh | main`]);
    const cancel = () => admin.call(routes.cancelJob, { params: { job_id: id }, body: {} });
    assert.deepEqual(await leaves(cancel), [`job.cancel | ${id} | main`]);
    const upload = await leaves(() => admin.upload(routes.uploadFile, new Blob(["x"]), "data.csv"));
    assert.match(upload.join(), /^file.upload \| \d+ \| data.csv \| main$/);
  });

  it("has no entry for refused or repeated requests", async () => {
    const nothing = async (work: () => Promise<unknown>) =>
      assert.deepEqual(await leaves(() => work().catch(() => {})), []);
    await nothing(() => admin.call(routes.createUser, { body: { username: "ada" } }));
    await nothing(() => admin.call(routes.updateUser, { params: { username: "admin" }, body: { disabled: true } }));
    await nothing(() => admin.call(routes.createJob, { body: { query: "", query_type: "SHELL", files: ["99"] } }));
    const once = () =>
      admin.call(
        routes.createJob,
        { body: { query: ":", query_type: "SHELL" } },
        { headers: { "idempotency-key": "once" } },
      );
    assert.equal((await leaves(once)).length, 1);
    await nothing(once);
  });

  it("records who worked on the store directly", async () => {
    await setAdminPassword(server.store, "ada", password, Date.now());
    const [entry] = await read({ limit: 1 });
    assert.deepEqual([entry?.username, entry?.via, entry?.address], ["", "command line", ""]);
  });

  it("contains no secret", async () => {
    const text = JSON.stringify(await server.store.db.selectFrom("audit").selectAll().execute());
    assert.doesNotMatch(text, /isat_|correct horse|argon2|code=/);
  });

  it("is read newest first, a page at a time, by team, user and action", async () => {
    const all = await read({ limit: 1000 });
    const ids = all.map(({ id }) => id);
    assert.deepEqual(
      ids,
      [...ids].sort((a, b) => b - a),
    );
    const page = await read({ limit: 3, cursor: ids[1] ?? 0 });
    assert.deepEqual(
      page.map(({ id }) => id),
      ids.slice(2, 5),
    );
    const every = (entries: AuditEntry[], test: (entry: AuditEntry) => boolean) =>
      assert.ok(entries.length > 0 && entries.every(test), JSON.stringify(entries));
    every(await read({ team_name: "crew" }), (entry) => entry.team_name === "crew");
    every(await read({ username: "ada" }), (entry) => entry.username === "ada");
    every(await read({ action: "user" }), (entry) => entry.action.startsWith("user."));
    every(await read({ action: "user.disable" }), (entry) => entry.action === "user.disable");
    assert.deepEqual(await read({ action: "use" }), []);
    await refused(read({ action: "user%" }), "invalid", /action/);
    await refused(read({ team_name: "no-team" }), "not_found");
  });

  it("is visible completely to administrators, per team to its admins, and not at all to others", async () => {
    const boss = await addPerson(server, "boss", { team: "crew", role: "admin" });
    const worker = await addPerson(server, "worker", { team: "crew", role: "editor" });
    assert.ok((await read({}, boss.client)).every((entry) => entry.team_name === "crew"));
    assert.ok((await read({ team_name: "crew" }, boss.client)).length > 0);
    await refused(read({ team_name: "main" }, boss.client), "forbidden");
    await refused(read({}, worker.client), "forbidden", /needs the role admin/);
    const limited = await server.client({ team: "main" });
    assert.ok((await read({}, limited)).every((entry) => entry.team_name === "main"));
    await refused(read({}, await server.client({ scopes: ["JOB"] })), "forbidden", /ADMIN scope/);
  });
});
