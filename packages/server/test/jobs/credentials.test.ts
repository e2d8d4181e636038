/** Credentials over HTTP: who may do what, what jobs get, and that no value is ever returned. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ApiError, type Client, type Credentials, createClient, routes } from "@millrace/contract";
import { createJob, python, readJob, runJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { startPostgres } from "@millrace/testing/servers/postgres.ts";
import { insertMembership } from "../../src/store/queries/people/memberships.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson, addTeam } from "../support/people.ts";

describe("credentials", () => {
  let server: InProcessServer;
  let admin: Client;
  let editor: Client;
  let viewer: Client;
  const now = new Date().toISOString();

  before(async () => {
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "2" });
    await addTeam(server, "other");
    admin = await server.client();
    editor = (await addPerson(server, "ed", { team: "main", role: "editor" })).client;
    viewer = (await addPerson(server, "vi", { team: "main", role: "viewer" })).client;
  });
  after(() => server.dispose());

  const refused = (code: string, message: RegExp) => (error: unknown) => {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.code, message.test(error.message)], [code, true], error.message);
    return true;
  };
  const setTeam = (client: Client, name: string, values: Record<string, string>) =>
    client.call(routes.setTeamCredentials, { body: { name, values } });
  const setOwn = (client: Client, name: string, values: Record<string, string>) =>
    client.call(routes.setOwnCredentials, { body: { name, values } });
  const list = async (client: Client): Promise<Credentials[]> => client.call(routes.listCredentials, { query: {} });

  it("are listed by name and variables, for editors, without values", async () => {
    const made = await setTeam(admin, "aws", { AWS_SECRET: "aws-value-1", AWS_ID: "aws-value-2" });
    assert.deepEqual(
      [made.name, made.owner, made.variables, made.default],
      ["aws", "team", ["AWS_ID", "AWS_SECRET"], false],
    );
    const response = await server.fetch("/api/datachain/credentials/?team_name=main", {
      token: await server.token({ user: "ed" }),
    });
    const text = await response.text();
    assert.deepEqual([response.status, text.includes("aws-value")], [200, false]);
    assert.deepEqual(
      (await list(editor)).map(({ name }) => name),
      ["aws"],
    );
    await assert.rejects(list(viewer), refused("forbidden", /needs the role editor/));
  });

  it("of a team can be changed only by its admins, with a token that has the ADMIN scope", async () => {
    await assert.rejects(setTeam(editor, "x", { A: "1" }), refused("forbidden", /needs the role admin/));
    const limited = await server.client({ scopes: ["JOB"] });
    await assert.rejects(setTeam(limited, "x", { A: "1" }), refused("forbidden", /ADMIN scope/));
    for (const route of [routes.deleteTeamCredentials, routes.setDefaultCredentials])
      await assert.rejects(editor.call(route, { body: { name: "aws" } }), refused("forbidden", /role admin/));
  });

  it("are given as a map, as dotenv lines, or as both, with the map taking precedence; setting them replaces all values", async () => {
    const both = { name: "both", dotenv: "# note\nA=1\nB='two words'\n", values: { A: "map", C: "3" } };
    assert.deepEqual((await admin.call(routes.setTeamCredentials, { body: both })).variables, ["A", "B", "C"]);
    const { log } = await runJob(admin, shell('echo "$A.$B.$C" | rev', { credentials_name: "both" }));
    assert.equal(log, "3.sdrow owt.pam\n");
    assert.deepEqual((await setTeam(admin, "both", { D: "4" })).variables, ["D"]);
  });

  it("with invalid names, no values or too many are refused, without repeating a value", async () => {
    const bad: [object, RegExp][] = [
      [{ values: {} }, /at least one variable/],
      [{ values: { "A-B": "hidden-value" } }, /values: expected variable names/],
      [{ values: { A: 12345678 } }, /^values\.A: expected string$/],
      [{ values: "hidden-value" }, /^values: expected object$/],
      [{ dotenv: "hidden-value" }, /dotenv: expected NAME=VALUE in line 1/],
      [{ dotenv: "hidden+value/of+base64-that-lost-its-name==" }, /dotenv: expected variable names/],
      [{ values: { A: "x".repeat(262_145) } }, /^values\.A: expected at most 131072 characters, got 262145$/],
      [
        { values: Object.fromEntries([...Array(101).keys()].map((i) => [`A${i}`, "1"])) },
        /at most 100 variables, got 101/,
      ],
    ];
    for (const [body, expected] of bad) {
      const response = await server.fetch("/api/datachain/credentials/team", {
        json: { team_name: "main", name: "bad", ...body },
      });
      const { message } = (await response.json()) as { message: string };
      assert.equal(response.status, 422);
      assert.match(message, expected);
      assert.doesNotMatch(message, /hidden|1234|xxx/);
    }
    for (const name of ["", "has space", "../x", "a".repeat(65)])
      await assert.rejects(setTeam(admin, name, { A: "1" }), refused("invalid", /^name: expected letters, digits/));
    const broken = await server.fetch("/api/datachain/credentials/team", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"name": "x", "values": {"A": hidden-value}}',
    });
    assert.deepEqual([broken.status, (await broken.text()).includes("hidden")], [400, false]);
  });

  it("override the server's variables and are overridden by the job's own environment", async () => {
    await setTeam(admin, "order", { A: "set", B: "set", LANG: "set", MILLRACE_JOB_ID: "set", MILLRACE_URL: "set" });
    const script = 'echo "$A $B $LANG"; [ "$MILLRACE_JOB_ID" != set ] && [ "$MILLRACE_URL" != set ] && echo ours';
    const { job, log } = await runJob(admin, shell(script, { credentials_name: "order", environment: "B=own" }));
    assert.equal(log, "set own set\nours\n");
    assert.deepEqual([job.credentials_name, job.environment], ["order", { B: "own" }]);
  });

  it("with an unknown name are refused with the list of existing names", async () => {
    await setOwn(editor, "mine", { A: "1" });
    await assert.rejects(
      createJob(editor, shell(":", { credentials_name: "nope" })),
      refused("invalid", /^credentials_name: expected .*\(mine, aws, both, order\), got "nope"/),
    );
    await assert.rejects(createJob(admin, shell(":", { credentials_name: "mine" })), refused("invalid", /got "mine"/));
  });

  it("may have variables that are not secret: listed with their values, not masked, but encrypted", async () => {
    const values = { REGION: "eu-central-1", SECRET: "secret-value-1" };
    const made = await admin.call(routes.setTeamCredentials, { body: { name: "plain", values, plain: ["REGION"] } });
    assert.deepEqual([made.variables, made.plain], [["REGION", "SECRET"], { REGION: "eu-central-1" }]);
    const listed = (await list(editor)).find(({ name }) => name === "plain");
    assert.deepEqual(listed, made);
    const script = 'echo "$REGION $SECRET"';
    const { log } = await runJob(editor, shell(script, { credentials_name: "plain" }));
    assert.equal(log, `eu-central-1 ${"*".repeat(14)}\n`);
    const row = await server.store.db
      .selectFrom("credentials")
      .selectAll()
      .where("name", "=", "plain")
      .executeTakeFirst();
    assert.doesNotMatch(JSON.stringify(row), /eu-central-1/);
    const replaced = await admin.call(routes.setTeamCredentials, { body: { name: "plain", values } });
    assert.deepEqual(replaced.plain, {}, "a replacement replaces that, too");
    assert.equal(
      (await runJob(editor, shell(script, { credentials_name: "plain" }))).log,
      `${"*".repeat(12)} ${"*".repeat(14)}\n`,
    );
  });

  it("can mark only short variables of their own as not secret", async () => {
    const set = (plain: string[], value = "1") =>
      admin.call(routes.setTeamCredentials, { body: { name: "marked", values: { A: value }, plain } });
    await assert.rejects(set(["B"]), refused("invalid", /^plain: expected names of variables in this set, got "B"/));
    await assert.rejects(set(["A"], "x".repeat(5000)), refused("invalid", /^plain: expected at most 4096 bytes/));
  });

  it("of several sets are combined, whether named in a list or with commas", async () => {
    await setTeam(admin, "left", { LEFT: "l" });
    await setOwn(editor, "right", { RIGHT: "r" });
    const script = 'echo "$LEFT$RIGHT"';
    const { job, log } = await runJob(editor, shell(script, { credentials_names: ["left", "right", "left"] }));
    assert.deepEqual([log, job.credentials_name, job.credentials_names], ["lr\n", "left", ["left", "right"]]);
    assert.equal((await runJob(editor, shell(script, { credentials_name: "right, left" }))).log, "lr\n");
    assert.equal((await runJob(editor, shell(script, { credentials_names: [] }))).log, "\n");
    await assert.rejects(
      createJob(editor, shell(":", { credentials_name: "left", credentials_names: ["right"] })),
      refused("invalid", /^credentials_names: expected only one of credentials_name and credentials_names, got both/),
    );
  });

  it("that share a variable are refused at creation, and fail the job at its start if the variable was added later", async () => {
    await setTeam(admin, "cloud", { REGION: "a", KEY: "1" });
    await setTeam(admin, "git", { TOKEN: "t" });
    const names = ["cloud", "git"];
    const letGo = await fill();
    const waiting = await createJob(admin, shell(":", { credentials_names: names }));
    await setTeam(admin, "git", { TOKEN: "t", REGION: "a" });
    const clash = /Both cloud and git have REGION: name only one of the two, or remove the variable from one\.$/;
    for (const wish of [{ credentials_names: names }, { credentials_name: names.join(",") }])
      await assert.rejects(createJob(admin, shell(":", wish)), refused("invalid", clash));
    await letGo();
    const ended = await waitForEnd(admin, waiting.id);
    assert.equal(ended.status, "FAILED");
    assert.match(ended.error_message ?? "", clash);
  });

  it("of a user apply to that user's jobs, and override the team's of the same name", async () => {
    await setTeam(admin, "same", { WHO: "team" });
    await setOwn(editor, "same", { WHO: "user" });
    const who = async (client: Client) =>
      (await runJob(client, shell('echo "$WHO"', { credentials_name: "same" }))).log.trim();
    assert.deepEqual([await who(editor), await who(admin)], ["user", "team"]);
    assert.deepEqual(
      (await list(editor)).filter(({ name }) => name === "same").map(({ owner }) => owner),
      ["team", "user"],
    );
    await editor.call(routes.deleteOwnCredentials, { body: { name: "same" } });
    assert.equal(await who(editor), "team");
    await assert.rejects(
      editor.call(routes.deleteOwnCredentials, { body: { name: "same" } }),
      refused("not_found", /^You have no credentials named same\. Existing ones: mine/),
    );
  });

  it("of a user cannot be managed with a token for only some of the user's teams", async () => {
    await server.store.write(async (db) => {
      const other = await db.selectFrom("teams").select("id").where("name", "=", "other").executeTakeFirstOrThrow();
      const ed = await db.selectFrom("users").select("id").where("username", "=", "ed").executeTakeFirstOrThrow();
      await insertMembership(db, other.id, ed.id, "editor");
    });
    const limited = await server.client({ user: "ed", team: "main" });
    await assert.rejects(setOwn(limited, "mine", { A: "1" }), refused("forbidden", /all your teams/));
    await setOwn(editor, "mine", { A: "1" });
  });

  it("that are the team's default apply to jobs that name none, unless they ask for none", async () => {
    await setTeam(admin, "usual", { USUAL: "yes" });
    await admin.call(routes.setDefaultCredentials, { body: { name: "usual" } });
    assert.deepEqual(
      (await list(admin)).filter((set) => set.default).map(({ name }) => name),
      ["usual"],
    );
    const run = async (rest: object) => {
      const { job, log } = await runJob(editor, shell('[ -n "$USUAL" ] && echo yes || echo no', rest));
      return [job.credentials_name, log.trim()];
    };
    assert.deepEqual(await run({}), ["usual", "yes"]);
    assert.deepEqual(await run({ credentials_name: "" }), [null, "no"]);
    assert.deepEqual(await run({ credentials_name: "aws" }), ["aws", "no"]);
    await admin.call(routes.setDefaultCredentials, { body: { name: null } });
    assert.deepEqual(await run({}), [null, "no"]);
    await admin.call(routes.setDefaultCredentials, { body: { name: "usual" } });
    await admin.call(routes.deleteTeamCredentials, { body: { name: "usual" } });
    assert.deepEqual(await run({}), [null, "no"], "a deleted set is nobody's default");
    await assert.rejects(
      admin.call(routes.setDefaultCredentials, { body: { name: "usual" } }),
      refused("not_found", /^The team has no credentials named usual/),
    );
  });

  /** Fills every slot until it is released. */
  const fill = async () => {
    const blocker = await createJob(admin, shell("sleep 30", { workers: 2 }));
    return async () => {
      await admin.call(routes.cancelJob, { params: { job_id: blocker.id }, body: {} });
      await waitForEnd(admin, blocker.id);
    };
  };

  it("are read when the job starts: new values are used, and a missing set fails the job by name", async () => {
    await setTeam(admin, "moving", { V: "a" });
    await setTeam(admin, "leaving", { V: "a" });
    const letGo = await fill();
    const moving = await createJob(admin, shell("echo $V", { credentials_name: "moving" }));
    const leaving = await createJob(admin, shell("echo $V", { credentials_name: "leaving" }));
    const behind = await createJob(admin, shell("echo $V"));
    await setTeam(admin, "moving", { V: "b" });
    await admin.call(routes.deleteTeamCredentials, { body: { name: "leaving" } });
    await letGo();
    await waitForEnd(admin, moving.id);
    const failed = await waitForEnd(admin, leaving.id);
    assert.deepEqual(
      [failed.status, /credentials leaving were deleted/.test(failed.error_message ?? "")],
      ["FAILED", true],
    );
    assert.equal((await waitForEnd(admin, behind.id)).status, "COMPLETE");
    const log = await server.fetch(`/api/datachain/jobs/${moving.id}/logs?team_name=main`);
    assert.equal(await log.text(), "b\n");
  });

  it("that cannot be decrypted fail the jobs that name them, and no other", async () => {
    await setTeam(admin, "broken", { V: "a" });
    const { secret } = await server.store.db
      .selectFrom("credentials")
      .select("secret")
      .where("name", "=", "order")
      .executeTakeFirstOrThrow();
    await server.store.write((db) =>
      db.updateTable("credentials").set({ secret }).where("name", "=", "broken").execute(),
    );
    const { job } = await runJob(admin, shell(":", { credentials_name: "broken" }));
    assert.match(job.error_message ?? "", /credentials broken cannot be decrypted/);
    assert.equal((await runJob(admin, shell(":"))).job.status, "COMPLETE");
  });

  it("of a task apply to the jobs that it creates", async () => {
    await setTeam(admin, "nightly", { V: "carried" });
    const task = await createJob(
      admin,
      shell("echo $V$OWN | rev", {
        credentials_name: "nightly",
        environment: "OWN=too",
        start_after: new Date(Date.now() + 300).toISOString(),
      }),
    );
    assert.equal(task.credentials_name, "nightly");
    for (const deadline = Date.now() + 120_000; Date.now() < deadline; ) {
      const [child] = (await admin.call(routes.listJobs, { query: { limit: 1 } })).filter(
        (j) => j.parent_job_id === task.id,
      );
      if (child) {
        const done = await waitForEnd(admin, child.id);
        assert.deepEqual(
          [done.status, done.credentials_name, done.environment],
          ["COMPLETE", "nightly", { OWN: "too" }],
        );
        const log = await server.fetch(`/api/datachain/jobs/${child.id}/logs?team_name=main`);
        assert.equal(await log.text(), "ootdeirrac\n");
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.fail("the task did not fire");
  });

  it("write an audit row at every change, without values", async () => {
    await setTeam(admin, "audited", { V1: "audit-value" });
    await setTeam(admin, "audited", { V2: "audit-value" });
    await admin.call(routes.setDefaultCredentials, { body: { name: "audited" } });
    await admin.call(routes.deleteTeamCredentials, { body: { name: "audited" } });
    await setOwn(editor, "audited", { V3: "audit-value" });
    const rows = await server.store.db
      .selectFrom("audit")
      .selectAll()
      .where("target", "like", "audited%")
      .orderBy("id")
      .execute();
    assert.deepEqual(
      rows.map(({ action, username, team_id, target, detail }) => [action, username, team_id, target, detail]),
      [
        ["credentials.create", "admin", 1, "audited", "V1"],
        ["credentials.replace", "admin", 1, "audited", "V2"],
        ["credentials.default", "admin", 1, "audited", ""],
        ["credentials.delete", "admin", 1, "audited", ""],
        ["credentials.create", "ed", null, "audited (own)", "V3"],
      ],
    );
  });

  it("of one owner are at most 100", async () => {
    const rows = [...Array(100).keys()].map((i) => ({
      team_id: 2,
      user_id: null,
      name: `n${i}`,
      variables: "[]",
      secret: "",
      created_at: now,
      updated_at: now,
    }));
    await server.store.write((db) => db.insertInto("credentials").values(rows).execute());
    const other = createClient({ url: server.url, token: await server.token(), team: "other" });
    await assert.rejects(setTeam(other, "more", { A: "1" }), refused("wrong_state", /100 sets/));
    await setTeam(other, "n1", { A: "1" });
  });

  describe("the environment of a job", () => {
    it("is stored encrypted, or as empty if there is none", async () => {
      const { job } = await runJob(admin, shell(":", { environment: "A=in-the-clear-1" }));
      const { job: none } = await runJob(admin, shell(":", { environment: "# only a comment\n\n" }));
      const stored = (id: string) =>
        server.store.db.selectFrom("jobs").select("environment").where("id", "=", id).executeTakeFirstOrThrow();
      assert.match((await stored(job.id)).environment, /^enc1\./);
      assert.equal((await stored(none.id)).environment, "");
      assert.deepEqual(job.environment, { A: "in-the-clear-1" });
    });

    it("is not repeated when it is refused", async () => {
      for (const [environment, expected] of [
        [12345678, /^environment: expected string$/],
        [
          "hidden".repeat(50_000),
          /^environment: expected at most 262144 characters, got 300000\. Attach long values as files\.$/,
        ],
        ["A=1\nhidden", /^environment: expected NAME=VALUE in line 2$/],
      ] as const) {
        const json = { team_name: "main", query: ":", query_type: "SHELL", environment };
        const { message } = (await (await server.fetch("/api/datachain/jobs/", { json })).json()) as {
          message: string;
        };
        assert.match(message, expected);
      }
    });

    it("shows its values to editors and admins, and only its names to viewers, everywhere", async () => {
      const { job } = await runJob(editor, shell(":", { environment: "A=visible-to-editors\nB=2" }));
      assert.deepEqual((await readJob(editor, job.id)).environment, { A: "visible-to-editors", B: "2" });
      assert.deepEqual((await readJob(admin, job.id)).environment, { A: "visible-to-editors", B: "2" });
      assert.deepEqual((await readJob(viewer, job.id)).environment, { A: "***", B: "***" });
      const listed = await viewer.call(routes.listJobs, { query: { limit: 100 } });
      assert.ok(!JSON.stringify(listed).includes("visible-to-editors"));
    });

    it("with a secret is masked in the failure reason, the traceback and the metrics", async () => {
      const environment = "API_TOKEN=tok-5-en\nNUMBER_KEY=12345678";
      const script = `import json, os
t = os.environ["API_TOKEN"]
n = os.environ["NUMBER_KEY"]
open(os.environ["MILLRACE_METRICS_FILE"], "w").write(json.dumps({t: [t, {"n": int(n), "m": 1.5, "x": None}], "k": "a" + t}))
raise ValueError("no " + t)
`;
      const { job, log } = await runJob(admin, python(script, { environment }));
      assert.equal(job.error_message, "ValueError: no ********");
      assert.match(job.error_stack ?? "", /ValueError: no \*{8}/);
      assert.deepEqual(job.metrics, { "********": ["********", { n: "********", m: 1.5, x: null }], k: "a********" });
      assert.ok(!log.includes("tok-5-en"));
    });
  });
});

it("credentials of one owner are at most 100, even if requests come at the same moment on PostgreSQL", async (t) => {
  const postgres = await startPostgres();
  t.after(() => postgres.stop());
  const server = await startInProcess({ MILLRACE_DATABASE_URL: await postgres.createDatabase() });
  t.after(() => server.dispose());
  const client = await server.client();
  const set = (i: number) => client.call(routes.setOwnCredentials, { body: { name: `n${i}`, values: { A: "1" } } });
  const outcomes = await Promise.allSettled([...Array(140).keys()].map(set));
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 100);
  assert.equal((await client.call(routes.listCredentials, { query: {} })).length, 100);
});
