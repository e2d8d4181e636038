/** Settings of a pipeline override the values of each original job. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Client, type Pipeline, routes, type UpdatePipelineSettingsInput } from "@millrace/contract";
import { readJob, readLog } from "@millrace/testing/millrace/jobs.ts";
import { makeDataset } from "@millrace/testing/millrace/lineage.ts";
import { readEnvironment, writeEnvironment } from "../../src/domain/secrets/environment-text.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson, refused } from "../support/people.ts";
import { statesOf, trigger, waitForPipeline, waitForPipelineEnd } from "../support/pipelines.ts";

describe("settings of a pipeline", () => {
  let server: InProcessServer;
  let client: Client;
  let world: { store: InProcessServer["store"]; client: Client };
  before(async () => {
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "2" });
    client = await server.client();
    world = { store: server.store, client };
  });
  after(() => server.dispose());

  const set = async (
    pipeline_name: string,
    settings: UpdatePipelineSettingsInput,
    caller = client,
  ): Promise<Pipeline> =>
    (await caller.call(routes.updatePipelineSettings, { body: { pipeline_name, ...settings } })).pipeline;
  const draft = (pipeline: Pipeline, index = 0) => readJob(client, pipeline.job_runs[index]?.created_job_id ?? "");

  it("apply to every run that has not started, and are removed by an empty string or list", async () => {
    const original = { requirements: "six", environment: "OWN=1\nBOTH=mine", priority: 4 };
    const first = await makeDataset(world, "first", "true", { input: original });
    await makeDataset(world, "second", "true", { needs: [first] });
    const { name } = await trigger(client, ["second"], true);
    const file = await client.upload(routes.uploadFile, new Blob(["x"]), "input.txt");
    await client.call(routes.setTeamCredentials, { body: { name: "cloud", values: { KEY: "1" } } });
    const all: UpdatePipelineSettingsInput = {
      python_version: "3.11",
      requirements: "attrs",
      repository: "https://example.com/x.git",
      workers: 2,
      priority: 1,
      environment: "ADDED=a b\nBOTH=theirs",
      files: [file.id],
      credentials_names: ["cloud"],
    };
    const changed = await set(name, all);
    const { environment: _, ...shown } = { ...all, files: [String(file.id)] };
    assert.deepEqual(Object.fromEntries(Object.keys(shown).map((key) => [key, changed[key as keyof Pipeline]])), shown);
    assert.deepEqual(changed.environment_variables, { ADDED: "a b", BOTH: "theirs" });
    for (const index of [0, 1]) {
      const { python_version, requirements, repository, workers, priority, files, credentials_name } = await draft(
        changed,
        index,
      );
      assert.deepEqual(
        { python_version, requirements, repository, workers, priority, files },
        {
          python_version: "3.11",
          requirements: "attrs",
          repository: all.repository,
          workers: 2,
          priority: 1,
          files: shown.files,
        },
      );
      assert.equal(credentials_name, "cloud");
    }
    assert.deepEqual((await draft(changed)).environment, { OWN: "1", BOTH: "theirs", ADDED: "a b" });
    const same = await set(name, { requirements: null, environment: null, workers: null });
    assert.deepEqual([same.requirements, same.workers], ["attrs", 2]);
    const taken = await set(name, {
      python_version: "",
      requirements: "",
      repository: "",
      environment: "",
      files: [],
      credentials_names: [],
    });
    const { python_version, requirements, repository, files, credentials_names, environment_variables } = taken;
    assert.deepEqual(
      { python_version, requirements, repository, files, credentials_names, environment_variables },
      {
        python_version: null,
        requirements: null,
        repository: null,
        files: null,
        credentials_names: null,
        environment_variables: {},
      },
    );
    const back = await draft(taken);
    assert.deepEqual([back.requirements, back.environment, back.priority], ["six", { OWN: "1", BOTH: "mine" }, 1]);
  });

  it("reach runs that wait for slots, not those that have started, and apply to reruns", async () => {
    const gate = join(server.dataDir, "gate");
    const wait = `while [ ! -e ${gate} ]; do sleep 0.02; done`;
    const names = ["wide", "narrow"];
    await makeDataset(world, "wide", wait, { input: { workers: 2 } });
    await makeDataset(world, "narrow", 'echo "said: $SAY"; [ "$SAY" = again ]', { input: { priority: 5 } });
    const { name } = await trigger(client, names);
    const begun = await waitForPipeline(client, name, (one) => statesOf(one)["wide"] === "RUNNING");
    const narrow = begun.job_runs.find((run) => run.name === "narrow.sh")?.created_job_id ?? "";
    await set(name, { environment: "SAY=first", priority: 0 });
    const rows = await server.store.db.selectFrom("queue").select(["job_id", "priority"]).execute();
    assert.deepEqual(rows, [{ job_id: narrow, priority: 0 }]);
    await writeFile(gate, "");
    const failed = await waitForPipelineEnd(client, name);
    assert.equal(await readLog(client, narrow), "said: first\n");
    assert.equal(failed.status, "FAILED");
    await set(name, { environment: "SAY=again" });
    await client.call(routes.rerunPipeline, { body: { name } });
    assert.equal((await waitForPipelineEnd(client, name)).status, "COMPLETED");
    const wide = (await waitForPipelineEnd(client, name)).job_runs.find((run) => run.name === "wide.sh");
    assert.deepEqual((await readJob(client, wide?.created_job_id ?? "")).environment, {}, "it had begun");
  });

  it("give a run the variables of several credentials, and refuse sets that share a variable", async () => {
    await makeDataset(world, "secretive", 'echo "$A $B" | rev');
    for (const [name, values] of Object.entries({ one: { A: "a1" }, two: { B: "b2" }, both: { B: "b3" } }))
      await client.call(routes.setTeamCredentials, { body: { name, values } });
    const { name } = await trigger(client, ["secretive"], true);
    await assert.rejects(
      set(name, { credentials_names: ["one", "two", "both"] }),
      /credentials_names: expected credential sets that have no variable in common\. Both two and both have B/,
    );
    const changed = await set(name, { credentials_names: ["one", "two"] });
    assert.deepEqual((await draft(changed)).credentials_names, ["one", "two"]);
    await client.call(routes.resumePipeline, { body: { name } });
    const done = await waitForPipelineEnd(client, name);
    assert.equal(await readLog(client, done.job_runs[0]?.created_job_id ?? ""), "2b 1a\n");
  });

  it("are validated like jobs, and change nothing if one is invalid", async () => {
    await makeDataset(world, "checked", "true");
    const { name } = await trigger(client, ["checked"], true);
    const wrong: [UpdatePipelineSettingsInput, RegExp][] = [
      [{ python_version: "three" }, /python_version: expected a version such as/],
      [
        { requirements: "# six\f-r /tmp/list.txt" },
        /requirements: expected text without control characters, got U\+000C in line 1/,
      ],
      [{ repository: "nonsense" }, /repository: expected a git URL/],
      [{ repository: "file:///etc" }, /MILLRACE_JOB_PATHS/],
      [{ workers: 3 }, /workers: expected at most 2/],
      [{ workers: -1 }, /workers/],
      [{ priority: 6 }, /priority/],
      [{ environment: "no equals sign" }, /environment: expected NAME=VALUE in line 1/],
      [{ files: ["99999"] }, /files: expected ids of files of this team, but these do not exist: 99999/],
      [{ credentials_names: ["none"] }, /credentials_names: expected the name of credentials of this team/],
      [{ credentials_names: [""] }, /credentials_names: expected a list of names/],
    ];
    for (const [settings, message] of wrong)
      await refused(set(name, { requirements: "six", ...settings }), "invalid", message);
    assert.equal((await set(name, {})).requirements, null);
    await refused(set("no-such", {}), "not_found");
    await refused(client.call(routes.updatePipelineSettings, { body: { requirements: "" } }), "invalid", /got neither/);
  });

  it("are refused once the pipeline is complete", async () => {
    await makeDataset(world, "over", "true");
    const { name } = await trigger(client, ["over"]);
    await waitForPipelineEnd(client, name);
    await refused(set(name, { priority: 1 }), "wrong_state", /COMPLETED; settings is allowed only while/);
  });

  describe("of jobs that others created", () => {
    const bringing: UpdatePipelineSettingsInput[] = [
      { requirements: "evil" },
      { repository: "https://x.example/y" },
      { environment: "PYTHONPATH=." },
      { files: [] },
      { credentials_names: [] },
    ];

    it("cannot add another person's code to them: a run has its creator's rights", async () => {
      const owner = await addPerson(server, "olive", { team: "main" });
      await makeDataset({ ...world, client: owner.client }, "harmless", "true", { namespace: "shared" });
      await makeDataset(world, "mine", "true", { namespace: "shared" });
      const { name, job_runs } = await trigger(client, ["shared.default.mine", "shared.default.harmless"], true);
      for (const settings of bringing)
        await refused(set(name, settings), "forbidden", /harmless\.sh belongs to olive and runs with olive's rights/);
      await refused(set(name, { requirements: "evil" }, owner.client), "forbidden", /mine\.sh belongs to admin/);
      const changed = await set(name, { workers: 1, priority: 0, python_version: "3.12" });
      assert.deepEqual([changed.priority, changed.requirements], [0, null]);
      const theirs = job_runs.find((run) => run.name === "harmless.sh")?.job_id ?? "";
      await client.call(routes.removeJobFromPipeline, { body: { name, job_id: theirs } });
      assert.equal((await set(name, { requirements: "six" })).requirements, "six");
    });

    it("cannot add it to what a schedule fires", async () => {
      await makeDataset(world, "fired", "true", { namespace: "shared" });
      const { name } = await trigger(client, ["shared.default.fired"], true);
      const body = { schedule_name: "nightly", pipeline_name: name, cron_expression: "0 3 * * *" };
      const { schedule } = await client.call(routes.createSchedule, { body });
      const { client: mallory } = await addPerson(server, "mallory", { team: "main" });
      const template = schedule.pipeline.name;
      for (const settings of bringing)
        await refused(set(template, settings, mallory), "forbidden", /fired\.sh belongs to admin/);
      assert.equal((await set(template, { requirements: "six" })).requirements, "six");
    });
  });

  it("show viewers the names of variables, not their values", async () => {
    await makeDataset(world, "shown", "true");
    const { name } = await trigger(client, ["shown"], true);
    await set(name, { environment: "SECRET=hidden" });
    const { client: viewer } = await addPerson(server, "vera", { team: "main", role: "viewer" });
    const { environment_variables } = await viewer.call(routes.getPipeline, { query: { name } });
    assert.deepEqual(environment_variables, { SECRET: "***" });
    const { rows } = { rows: await server.store.db.selectFrom("pipelines").select("environment").execute() };
    assert.ok(rows.every(({ environment }) => !environment.includes("hidden")));
  });
});

it("variables are serialised so that they are parsed back unchanged", () => {
  for (const value of [
    "",
    "plain",
    "a b",
    "it's",
    'say "x"',
    "`tick`",
    "two\nlines",
    "a # b",
    "\\n",
    `'"`,
    "x=y",
    " padded ",
  ])
    assert.deepEqual(readEnvironment(writeEnvironment({ A: value, B: "next" })), { A: value, B: "next" }, value);
});
