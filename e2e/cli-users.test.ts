/** `millrace user`, `team`, `token`, `audit` and `admin password`: people are added, given roles, and removed. */
import assert from "node:assert/strict";
import { access } from "node:fs/promises";
import { describe, test } from "node:test";
import {
  type AuditEntry,
  createClient,
  type Invitation,
  type Member,
  type NewToken,
  routes,
  type Team,
  type Token,
  type User,
  type WhoAmI,
} from "@millrace/contract";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

const password = "correct horse battery";
const noTerminal = await access("/usr/bin/script").then(
  () => false as const,
  () => "no program `script` to make a terminal with",
);

describe("people on the command line", { concurrency: 2 }, () => {
  const suite = ClientSuite.use();
  const commandLine = Millrace.useWith(suite);

  /** A user with their own command line. */
  async function person(name: string, ...membership: string[]): Promise<Millrace> {
    const admin = await commandLine();
    await admin.print("user", "add", name);
    if (membership.length > 0) await admin.print("team", "add-member", name, "--role", ...membership);
    return commandLine({ token: await suite.server.token("--user", name) });
  }

  /** Whether a browser can sign in with a password. */
  async function signsIn(username: string, secret: string): Promise<boolean> {
    const { url } = suite.server;
    const body = new URLSearchParams({ username, password: secret });
    const response = await fetch(`${url}/auth/sign-in`, {
      method: "POST",
      body,
      redirect: "manual",
      headers: { origin: url },
    });
    return response.status === 303;
  }

  test("users are created, shown, changed, disabled and enabled", async () => {
    const admin = await commandLine();
    const added = await admin.run("user", "add", "ada", "--first-name", "Ada", "--email", "ada@example.com");
    assert.equal(added.stdout, "Created user ada\n");
    assert.match(added.stderr, /millrace team add-member ada.*millrace admin link --user ada/);
    const shown = await admin.json<User>("user", "show", "ada");
    assert.deepEqual([shown.first_name, shown.email, shown.has_password], ["Ada", "ada@example.com", false]);
    const changed = await admin.json<User>("user", "set", "ada", "--last-name", "L", "--email=", "--admin");
    assert.deepEqual([changed.last_name, changed.email, changed.is_admin], ["L", null, true]);
    await admin.print("user", "set", "ada", "--no-admin");
    // Checked here: a concurrent test briefly creates a second administrator.
    assert.match(await admin.refused(1, "user", "disable", "admin"), /why: admin is the only administrator/);
    assert.match(await admin.print("user", "ls"), /^ada\tAda\tL\t\tenabled\t$/m);
    assert.ok((await admin.json<User[]>("user", "ls")).some(({ username }) => username === "ada"));
    const token = await suite.server.token("--user", "ada");
    assert.equal(await admin.print("user", "disable", "ada"), "Disabled user ada\n");
    const ada = await commandLine({ token });
    await ada.refused(4, "user", "show");
    assert.match(await admin.print("user", "show", "ada"), /^disabled_at\t2\S+$/m);
    assert.equal(await admin.print("user", "enable", "ada"), "Enabled user ada\n");
    assert.equal((await ada.json<WhoAmI>("user", "show")).username, "ada");
  });

  test("an error names what is wrong with a user", async () => {
    const admin = await commandLine();
    assert.match(await admin.refused(1, "user", "add", "Not.A.Name"), /why: username: expected 1 to 39 lower-case/);
    assert.match(await admin.refused(1, "user", "show", "no-one"), /why: There is no user no-one/);
    assert.match(
      await admin.refused(64, "user", "set", "admin"),
      /^error: There is nothing to change: give at least one flag\n next: .*--help/,
    );
    assert.match(await admin.refused(64, "user", "set", "--admin"), /^error: USER is missing\n/);
    assert.match(await admin.refused(64, "user", "set", "x", "--admin", "--no-admin"), /cannot be combined/);
    const plain = await person("plain");
    assert.match(await plain.refused(1, "user", "ls"), /^error: You may not do this\n {2}why: .*administrators/);
  });

  test("passwords come from standard input or a terminal without echo, never from an argument", async (t) => {
    const admin = await commandLine();
    const made = await admin.feed(`${password}\n`, "user", "add", "bob", "--password");
    assert.equal(made.code, 0, made.stderr);
    assert.ok(await signsIn("bob", password));
    const empty = await admin.feed("\n", "user", "passwd", "bob");
    assert.deepEqual([empty.code, empty.stdout], [64, ""]);
    assert.match(empty.stderr, /^error: The password is missing\n/);
    const weak = await admin.feed("short\n", "user", "passwd", "bob");
    assert.match(weak.stderr, /why: password: expected 10 to 1024 characters\n/);
    assert.match(await admin.refused(64, "user", "passwd", "bob", password), /Unexpected argument/);

    const bob = await commandLine({ token: await suite.server.token("--user", "bob") });
    const wrong = await bob.feed("not it\nanother blue kettle\n", "user", "passwd");
    assert.match(wrong.stderr, /why: The current password is wrong/);
    assert.equal((await bob.feed(`${password}\nanother blue kettle\n`, "user", "passwd")).code, 0);
    assert.ok(await signsIn("bob", "another blue kettle"));
    assert.ok(!(await signsIn("bob", password)));

    if (noTerminal) return t.skip(noTerminal);
    const typed = await bob.type(
      [
        ["Current password of bob: ", "another blue kettle\r"],
        ["New password of bob: ", "third timX\u007fe lucky\r"],
        ["Repeat the password: ", "third time lucky\r"],
      ],
      "user",
      "passwd",
    );
    assert.equal(typed.code, 0, typed.stdout);
    assert.doesNotMatch(typed.stdout, /another|third|lucky/);
    assert.ok(await signsIn("bob", "third time lucky"));
    const differing = [
      ["New password of bob: ", "one password\r"],
      ["Repeat the password: ", "other password\r"],
    ] as const;
    const different = await admin.type(differing, "user", "passwd", "bob");
    assert.equal(different.code, 1);
    assert.match(different.stdout, /The two passwords differ/);
    const interrupted = await admin.type([["New password of bob: ", "half\u0003"]], "user", "passwd", "bob");
    assert.equal(interrupted.code, 130);
    assert.ok(await signsIn("bob", "third time lucky"));
  });

  test("admin password works on the store directly, and names the user", async () => {
    const cli = await commandLine({ env: { MILLRACE_DATA_DIR: suite.server.dataDir } });
    await (await commandLine()).print("user", "add", "carl");
    const set = await cli.feed(`${password}\n`, "admin", "password", "--user", "carl");
    assert.deepEqual([set.code, set.stdout], [0, "Set the password of carl\n"], set.stderr);
    assert.ok(await signsIn("carl", password));
    const unknown = await cli.feed(`${password}\n`, "admin", "password", "--user", "no-one");
    assert.match(unknown.stderr, /^error: Could not set the password\n {2}why: There is no user no-one/);
    const weak = await cli.feed("short\n", "admin", "password");
    assert.match(weak.stderr, /^error: Could not set the password\n {2}why: password: expected 10/);
    assert.doesNotMatch(weak.stderr, /short/);
  });

  test("teams are created, shown and changed, and have members with roles", async () => {
    const admin = await commandLine();
    await person("dora");
    assert.equal(
      await admin.print("team", "add", "vision", "--admin", "dora", "--max-running", "3"),
      "Created team vision\n",
    );
    const dora = await commandLine({ token: await suite.server.token("--user", "dora"), team: "vision" });
    const [own] = await dora.json<Team[]>("team", "ls");
    assert.deepEqual([own?.name, own?.role, own?.max_running], ["vision", "admin", 3]);
    await admin.print(
      "team",
      "set",
      "--team",
      "vision",
      "--max-running",
      "0",
      "--max-queued",
      "9",
      "--max-tasks",
      "7",
      "--max-schedules",
      "5",
    );
    const team = await dora.json<Team>("team", "show");
    assert.deepEqual([team.max_running, team.max_queued, team.max_tasks, team.max_schedules], [null, 9, 7, 5]);
    assert.match(await dora.refused(1, "team", "set", "--max-queued", "99"), /why: Quotas are set by administrators/);

    await person("emil");
    assert.match(await dora.refused(1, "team", "add-member", "emil"), /share no team .*\n.*millrace team invite/);
    const added = await admin.print("team", "add-member", "emil", "--team", "vision");
    assert.equal(added, "Added emil to team vision as editor\n");
    assert.equal(await dora.print("team", "set-role", "emil", "viewer"), "emil is now viewer in team vision\n");
    const members = await dora.json<Member[]>("team", "members");
    assert.deepEqual(
      members.map(({ username, role }) => [username, role]),
      [
        ["dora", "admin"],
        ["emil", "viewer"],
      ],
    );
    assert.match(await dora.refused(64, "team", "set-role", "emil", "editr"), /Did you mean editor\?/);
    assert.match(await dora.refused(1, "team", "remove-member", "dora"), /why: dora is the only admin/);
    assert.equal(await dora.print("team", "remove-member", "emil"), "emil is no longer in the team vision.\n");
    await dora.print("team", "set", "--name", "sight");
    assert.match(await dora.refused(1, "team", "show"), /vision/);
    assert.equal((await dora.json<Team>("team", "show", "--team", "sight")).name, "sight");
  });

  test("a single team need not be named; with several the command asks for one", async () => {
    const create = await person("fred", "viewer");
    const fred = await commandLine({ token: create.env["DATACHAIN_STUDIO_TOKEN"] ?? "", team: "" });
    assert.equal((await fred.json<Team>("team", "show")).name, "main");
    const alone = await person("gina");
    const gina = await commandLine({ token: alone.env["DATACHAIN_STUDIO_TOKEN"] ?? "", team: "" });
    assert.match(
      await gina.refused(1, "team", "show"),
      /^error: There is no default team\n {2}why: You are not a member of any team/,
    );
    const { stderr } = await gina.run("team", "ls");
    assert.match(stderr, /You are not a member of any team/);
  });

  test("an invitation is a link on standard output, and can be listed and revoked", async () => {
    const admin = await commandLine();
    await admin.print("team", "add", "guests");
    const none = await admin.run("team", "invitations", "--team", "guests");
    assert.deepEqual([none.code, none.stdout], [0, ""]);
    assert.match(none.stderr, /No open invitations\. Create one: millrace team invite/);
    const url = (
      await admin.print("team", "invite", "--team", "guests", "--role", "viewer", "--expires-in", "1")
    ).trim();
    const code = new URL(url).searchParams.get("code") ?? "";
    await createClient({ url: suite.server.url }).call(routes.signUp, { body: { code, username: "hugo", password } });
    assert.match(await admin.print("team", "members", "--team", "guests"), /^hugo\tviewer\t/m);
    await admin.print("team", "invite", "--team", "guests", "--email", "new@example.com");
    const [open] = await admin.json<Invitation[]>("team", "invitations", "--team", "guests");
    assert.deepEqual([open?.role, open?.email], ["editor", "new@example.com"]);
    const id = String(open?.id);
    assert.equal(
      await admin.print("team", "revoke-invitation", id, "--team", "guests"),
      `The invitation ${id} is revoked.\n`,
    );
    assert.match(await admin.refused(1, "team", "revoke-invitation", id, "--team", "guests"), /no open invitation/);
  });

  test("a token is printed once, limited as requested, listed and revoked", async () => {
    const ivy = await person("ivy", "editor");
    const made = await ivy.run("token", "create", "ci", "--scopes", "JOB:read", "--expires-in", "7", "--team", "main");
    assert.match(made.stdout, /^isat_\S+\n$/);
    assert.match(made.stderr, /^Token \d+ 'ci' is not shown again; it expires 2/);
    const limited = await commandLine({ token: made.stdout.trim() });
    await limited.json("job", "ls");
    await limited.write("job.sh", "true\n");
    assert.match(await limited.refused(1, "job", "run", "job.sh"), /write access to the JOB scope/);
    const more = await limited.refused(1, "token", "create", "more", "--scopes", "JOB:write");
    assert.match(more, /why: Your token does not have these scopes: JOB:write/);
    const { id, access_token } = await ivy.json<NewToken>("token", "create", "second");
    assert.match(access_token, /^isat_/);
    const tokens = await ivy.json<Token[]>("token", "ls");
    assert.deepEqual(
      tokens.slice(0, 2).map(({ name, team_names }) => [name, team_names]),
      [
        ["second", null],
        ["ci", ["main"]],
      ],
    );
    assert.doesNotMatch(await ivy.print("token", "ls"), /isat_/);
    assert.equal(await ivy.print("token", "revoke", String(id)), `The token ${id} is revoked.\n`);
    assert.match(await ivy.refused(1, "token", "revoke", String(id)), /no valid token \d+/);
    assert.match(await ivy.refused(1, "token", "ls", "--all"), /administrators/);
    const admin = await commandLine();
    const theirs = await admin.json<Token[]>("token", "ls", "--user", "ivy");
    assert.ok(theirs.length > 0 && theirs.every(({ username }) => username === "ivy"));
    assert.ok((await admin.json<Token[]>("token", "ls", "--all")).length > theirs.length);
  });

  test("the audit is shown completely to administrators, and per team to its admins", async () => {
    const admin = await commandLine();
    await person("jack", "viewer");
    const entries = await admin.json<AuditEntry[]>("audit", "--action", "user.create", "--limit", "500");
    assert.ok(entries.some(({ target, username }) => target === "jack" && username === "admin"));
    const line = (await admin.print("audit", "--action", "member", "--user", "admin", "--limit", "500")).split("\n");
    assert.ok(line.some((text) => /\tadmin\tmember\.add\tjack\tviewer\tmain\t/.test(text)));
    await admin.print("team", "add", "quiet", "--admin", "jack");
    const jack = await commandLine({ token: await suite.server.token("--user", "jack"), team: "quiet" });
    assert.deepEqual(
      (await jack.json<AuditEntry[]>("audit")).map(({ action }) => action),
      ["team.create"],
    );
    const said = await jack.refused(1, "audit", "--team", "main");
    assert.match(said, /needs the role admin in the team main; your role is viewer/);
    assert.doesNotMatch(said, /scope/);
    const { code, stdout, stderr } = await jack.run("audit", "--action", "file");
    assert.deepEqual([code, stdout, stderr], [0, "", "No entries found\n"]);
  });
});
