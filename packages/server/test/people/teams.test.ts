/** Teams, memberships and roles. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, type Role, routes } from "@millrace/contract";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson, addTeam, refused } from "../support/people.ts";

describe("teams", () => {
  let server: InProcessServer;
  let admin: Client;
  before(async () => {
    server = await startInProcess();
    admin = await server.client();
  });
  after(() => server.dispose());

  const members = async (team_name: string, as = admin) =>
    (await as.call(routes.listMembers, { params: { team_name } })).map(({ username, role }) => `${username} ${role}`);
  const add = (team_name: string, username: string, role: Role, as = admin) =>
    as.call(routes.addMember, { params: { team_name }, body: { username, role } });
  const setRole = (team_name: string, username: string, role: Role, as = admin) =>
    as.call(routes.updateMember, { params: { team_name, username }, body: { role } });
  const remove = (team_name: string, username: string, as = admin) =>
    as.call(routes.removeMember, { params: { team_name, username }, query: {} });
  const change = (team_name: string, body: object, as = admin) =>
    as.call(routes.updateTeam, { params: { team_name }, body });

  it("are created by administrators, who become the first admin or choose one", async () => {
    const vision = await admin.call(routes.createTeam, { body: { name: "vision", max_running: 4 } });
    assert.deepEqual(
      { ...vision, created_at: "" },
      {
        name: "vision",
        role: "admin",
        members: 1,
        max_running: 4,
        max_queued: null,
        max_tasks: null,
        max_schedules: null,
        max_dataset_bytes: null,
        max_upload_bytes: null,
        max_log_bytes: null,
        max_text_bytes: null,
        max_export_bytes: null,
        max_environment_bytes: null,
        job_timeout: null,
        job_retries: null,
        job_retry_delay: null,
        library_version: null,
        created_at: "",
      },
    );
    const lee = await addPerson(server, "lee");
    const speech = await admin.call(routes.createTeam, { body: { name: "speech", admin: "lee" } });
    assert.equal(speech.role, null);
    assert.deepEqual(await members("speech", lee.client), ["lee admin"]);
    await refused(admin.call(routes.createTeam, { body: { name: "speech" } }), "wrong_state", /already a team speech/);
    await refused(
      admin.call(routes.createTeam, { body: { name: "x", admin: "no-one" } }),
      "not_found",
      /no user no-one/,
    );
    await refused(admin.call(routes.createTeam, { body: { name: "all" } }), "invalid", /reserved/);
    await refused(admin.call(routes.createTeam, { body: { name: "A team" } }), "invalid", /name: expected 1 to 39/);
    await refused(lee.client.call(routes.createTeam, { body: { name: "lees" } }), "forbidden");
  });

  it("are listed: a user's own, all for administrators", async () => {
    const lee = await server.client({ user: "lee" });
    assert.deepEqual(
      (await lee.call(routes.listTeams, {})).map(({ name, role }) => [name, role]),
      [["speech", "admin"]],
    );
    assert.deepEqual(
      (await admin.call(routes.listTeams, {})).map(({ name, role }) => [name, role]),
      [
        ["main", "admin"],
        ["speech", null],
        ["vision", "admin"],
      ],
    );
    const limited = await server.client({ team: "vision" });
    assert.deepEqual(
      (await limited.call(routes.listTeams, {})).map(({ name }) => name),
      ["vision"],
    );
    const nobody = await addPerson(server, "nobodys");
    assert.deepEqual(await nobody.client.call(routes.listTeams, {}), []);
  });

  it("are renamed by their admins; administrators of the server set quotas", async () => {
    const lee = await server.client({ user: "lee" });
    assert.equal((await change("speech", { name: "voice" }, lee)).name, "voice");
    assert.deepEqual(await members("voice", lee), ["lee admin"]);
    await refused(change("voice", { name: "vision" }, lee), "wrong_state", /already a team vision/);
    await refused(change("voice", { max_running: 100 }, lee), "forbidden", /administrators of the server/);
    const quotas = await change("voice", { max_running: 3, max_queued: 50 });
    assert.deepEqual([quotas.max_running, quotas.max_queued], [3, 50]);
    assert.equal((await change("voice", { max_running: 0 })).max_running, null);
    await refused(change("voice", { max_queued: -1 }), "invalid", /max_queued/);
    await refused(change("no-team", { name: "x" }), "not_found", /no team no-team/);
  });

  it("have members whose role applies from the next request on", async () => {
    await addTeam(server, "live");
    const mia = await addPerson(server, "mia", { team: "live", role: "viewer" });
    const run = () => mia.client.call(routes.createJob, { body: { query: ":", query_type: "SHELL" } });
    await refused(run(), "forbidden", /role editor in the team live; your role is viewer/);
    await setRole("live", "mia", "editor");
    await run();
    await setRole("live", "mia", "viewer");
    await refused(run(), "forbidden");
    await remove("live", "mia");
    await refused(mia.client.call(routes.listJobs, { query: {} }), "forbidden", /Not authorized for the team live/);
    await refused(remove("live", "mia"), "not_found", /no user mia in the team live/);
    await refused(setRole("live", "mia", "editor"), "not_found");
  });

  it("have each member once, with an existing role", async () => {
    await add("live", "mia", "viewer");
    await refused(add("live", "mia", "admin"), "wrong_state", /already in the team live/);
    await refused(add("live", "no-one", "viewer"), "not_found", /no user no-one/);
    await refused(add("live", "lee", "owner" as Role), "invalid", /role: expected one of viewer, editor, admin/);
  });

  it("are managed by their own admins only", async () => {
    const mia = await server.client({ user: "mia" });
    const lee = await server.client({ user: "lee" });
    await refused(add("live", "lee", "viewer", mia), "forbidden", /needs the role admin/);
    await refused(add("live", "lee", "viewer", lee), "forbidden", /Not authorized for the team live/);
    await refused(members("live", lee), "forbidden");
    assert.deepEqual(await members("live", mia), ["admin admin", "mia viewer"]);
    await setRole("live", "mia", "admin");
    // Without a common team, an invitation asks the user; whether the account exists is not told.
    for (const stranger of ["lee", "no-one"])
      await refused(add("live", stranger, "viewer", mia), "forbidden", /You share no team with a user .*Invite/);
    await add("main", "lee", "viewer");
    await add("main", "mia", "viewer");
    await add("live", "lee", "viewer", mia);
    for (const left of ["lee", "mia"]) await remove("main", left);
    assert.deepEqual(await members("live", lee), ["admin admin", "lee viewer", "mia admin"]);
  });

  it("refuse a caller without the role for that reason, even if the token lacks the scope", async () => {
    await addPerson(server, "vera", { team: "main", role: "viewer" });
    for (const scopes of [["JOB"], ["DATASETS"]]) {
      const client = await server.client({ user: "vera", scopes });
      const create = client.call(routes.createJob, { body: { query: "true", query_type: "SHELL" } });
      await refused(
        create,
        "forbidden",
        /^This request needs the role editor in the team main; your role is viewer\. Ask an admin/,
      );
    }
    const editor = await addPerson(server, "edda", { team: "main" });
    const limited = await server.client({ user: editor.username, scopes: ["DATASETS"] });
    const create = limited.call(routes.createJob, { body: { query: "true", query_type: "SHELL" } });
    await refused(create, "forbidden", /token with write access to the JOB scope\. .*scope JOB:write/);
  });

  it("never lose their last admin who can sign in", async () => {
    await refused(remove("voice", "lee"), "wrong_state", /lee is the only admin.*Give another member the role admin/);
    await refused(setRole("voice", "lee", "editor"), "wrong_state", /only admin/);
    await addPerson(server, "olga", { team: "voice", role: "admin" });
    await admin.call(routes.updateUser, { params: { username: "olga" }, body: { disabled: true } });
    await refused(remove("voice", "lee"), "wrong_state", /only admin/);
    await admin.call(routes.updateUser, { params: { username: "olga" }, body: { disabled: false } });
    const both = await Promise.allSettled([remove("voice", "lee"), remove("voice", "olga")]);
    assert.deepEqual(both.map((result) => result.status).sort(), ["fulfilled", "rejected"]);
    assert.equal((await members("voice")).length, 1);
  });

  it("are all visible to an administrator of the server, but their jobs are not", async () => {
    await members("voice");
    await add("voice", "mia", "viewer");
    const [team] = (await admin.call(routes.listTeams, {})).filter(({ name }) => name === "voice");
    assert.equal(team?.role, null);
    await refused(admin.call(routes.listJobs, { query: { team_name: "voice" } }), "forbidden");
  });
});
