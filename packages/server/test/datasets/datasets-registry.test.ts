/** The registry as the client and people see it: lists, info, changes, removal, versions of jobs. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, describe, it } from "node:test";
import { type Client, createClient, type Dataset, routes } from "@millrace/contract";
import { createJob, python, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { putVersion } from "../support/datasets.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson, refused } from "../support/people.ts";

describe("the registry of datasets", () => {
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess();
    client = await server.client();
  });
  after(() => server.dispose());
  beforeEach(async () => {
    await server.store.write(async (db) => {
      for (const table of ["dataset_dependencies", "dataset_version_jobs", "dataset_versions", "datasets"] as const)
        await db.deleteFrom(table).execute();
    });
  });

  const put = (name: string, wishes: Parameters<typeof putVersion>[2] = {}) => putVersion(server.store, name, wishes);
  const list = (query: object = {}) => client.call(routes.listDatasets, { query });
  const shown = async (query: object = {}) =>
    (await list(query)).flatMap(({ name, project, versions }) =>
      versions.map(({ version }) => `${project.namespace.name}.${project.name}.${name}@${version}`),
    );
  const info = (name: string, rest: object = {}) => client.call(routes.getDataset, { query: { name, ...rest } });
  const edit = (name: string, changes: object) => client.call(routes.editDataset, { body: { name, ...changes } });
  const remove = (name: string, rest: object = {}) => client.call(routes.removeDataset, { body: { name, ...rest } });
  const audited = async () =>
    (await client.call(routes.listAudit, { query: { action: "dataset" } })).map(({ action, target, detail }) =>
      [action, target, detail].join(" "),
    );

  it("suggests a dataset of the same name elsewhere in the team if a short name is not found", async () => {
    await put("final", { namespace: "@alice" });
    await put("final", { namespace: "prod", project: "zoo" });
    await put("gone", { namespace: "@alice", status: 8, removed_at: "2030-01-02T00:00:00.000Z" });
    const hint =
      /no dataset @admin\.default\.final in the team main\. .* there is @alice\.default\.final, prod\.zoo\.final\. .*full name/;
    await refused(info("final"), "not_found", hint);
    await refused(info("gone"), "not_found", /no dataset @admin\.default\.gone in the team main\.$/);
    await assert.rejects(info("gone"), { hint: "list_datasets" }, "what a client turns into a command or a link");
    const trigger = client.call(routes.triggerPipeline, { body: { datasets: ["final"] } });
    await refused(trigger, "not_found", /no dataset @admin\.default\.final .*@alice\.default\.final/);
  });

  it("makes the same suggestion in the reason of a job that did not find its dataset", async () => {
    await put("final", { namespace: "@alice" });
    const said = "Dataset final not found in namespace @admin and project default";
    const job = await createJob(client, python(`raise KeyError("${said}")`));
    const { error_message } = await waitForEnd(client, job.id);
    assert.match(error_message ?? "", /not found in namespace @admin .*\n.* there is @alice\.default\.final\./);
  });

  describe("lists", () => {
    it("show every dataset by name, with its versions in the order of their numbers", async () => {
      for (const version of ["1.0.10", "1.0.9", "2.0.0"]) await put("cats", { version });
      await put("ants", { namespace: "prod", project: "zoo" });
      assert.deepEqual(await shown(), [
        "@admin.default.cats@1.0.9",
        "@admin.default.cats@1.0.10",
        "@admin.default.cats@2.0.0",
        "prod.zoo.ants@1.0.0",
      ]);
    });

    it("omit storage listings, remains of sessions, and removed versions unless requested", async () => {
      await put("lst__s3_x3a_x2f_x2fbucket", { namespace: "system", project: "listing" });
      await put("session_abc");
      await put("gone", { status: 8, removed_at: "2030-01-02T00:00:00.000Z" });
      await put("cats");
      assert.deepEqual(await shown(), ["@admin.default.cats@1.0.0"]);
      assert.deepEqual(await shown({ include_removed: true }), [
        "@admin.default.cats@1.0.0",
        "@admin.default.gone@1.0.0",
      ]);
    });

    it("can be filtered by a prefix of the short or the full name", async () => {
      for (const name of ["cats", "cars", "dogs"]) await put(name);
      assert.deepEqual(await shown({ prefix: "ca" }), ["@admin.default.cars@1.0.0", "@admin.default.cats@1.0.0"]);
      assert.deepEqual(await shown({ prefix: "@admin.default.d" }), ["@admin.default.dogs@1.0.0"]);
      assert.deepEqual(await shown({ prefix: "%" }), []);
    });

    it("can be searched for a part of the full name", async () => {
      for (const name of ["cats", "cars", "dogs"]) await put(name);
      assert.deepEqual(await shown({ search: "ULT.DO" }), ["@admin.default.dogs@1.0.0"]);
      assert.deepEqual(await shown({ search: "ats", prefix: "ca" }), ["@admin.default.cats@1.0.0"]);
      assert.deepEqual(await shown({ search: "%" }), []);
    });

    it("show nothing of other teams", async () => {
      await put("cats");
      await client.call(routes.createTeam, { body: { name: `other-${randomUUID().slice(0, 8)}` } });
      const other = (await client.call(routes.listTeams, {})).find(({ name }) => name.startsWith("other-"));
      const theirs = createClient({ url: server.url, token: await server.token(), team: other?.name });
      assert.deepEqual(await theirs.call(routes.listDatasets, { query: {} }), []);
      await refused(
        theirs.call(routes.getDataset, { query: { name: "cats" } }),
        "not_found",
        /There is no dataset @admin\.default\.cats/,
      );
    });
  });

  describe("info", () => {
    it("has every key that the client needs, and no null where the client does not accept it", async () => {
      await put("cats", { preview: null });
      const dataset = (await info("cats")) as Dataset & Record<string, unknown>;
      const [version] = dataset.versions;
      assert.equal(dataset._versions_loaded, true);
      assert.equal(version?._preview_loaded, true);
      assert.equal(version?.preview, null);
      assert.deepEqual([version?.query_script, version?.error_message, version?.status], ["", "", 4]);
      assert.deepEqual(Object.keys(dataset.schema), ["sys__id", "sys__rand", "value"]);
      assert.ok(!("_versions" in dataset));
    });

    it("passes numbers through with all digits, even those that a double cannot hold", async () => {
      const preview = '[{"sys__rand":9223372036854775807,"i":-9223372036854775808,"f":0.1000000000000000055}]';
      await put("cats", { preview });
      const text = await (await server.fetch("/api/datachain/datasets/info?team_name=main&name=cats")).text();
      assert.ok(text.includes(`"preview":${preview}`), text);
    });

    it("of many large versions is bounded: older ones omit large fields, a named one never does", async () => {
      const text = "x".repeat(200_000);
      const large = { preview: JSON.stringify([{ text }]), query_script: text, schema: JSON.stringify({ text }) };
      for (let patch = 0; patch < 60; patch++) await put("cats", { version: `1.0.${patch}`, ...large });
      const { versions } = await info("cats");
      assert.deepEqual(
        versions.map(({ _preview_loaded }) => _preview_loaded),
        versions.map((_, index) => index >= 40),
      );
      const [first, last] = [versions[0], versions[59]];
      assert.deepEqual([first?.preview, first?.query_script, first?.schema], [null, "", {}]);
      assert.deepEqual([last?.preview, last?.query_script, last?.schema], [[{ text }], text, { text }]);
      const [named] = (await info("cats@1.0.0")).versions;
      assert.deepEqual([named?._preview_loaded, named?.preview, named?.schema], [true, [{ text }], { text }]);
    });

    it("is valid JSON even if the library wrote NaN and Infinity", async () => {
      await put("cats", { preview: '[{"f":NaN,"g":-Infinity,"s":"NaN \\"Infinity\\""}]' });
      const { versions } = await info("cats");
      assert.deepEqual(versions[0]?.preview, [{ f: null, g: null, s: 'NaN "Infinity"' }]);
    });

    it("omits texts that are not JSON, so that a script cannot inject into answers", async () => {
      await put("cats", {
        preview: '[]},{"version":"9.9.9"',
        schema: "]",
        feature_schema: "[1]",
        dataset: { uuid: randomUUID(), description: null, attrs: "x" },
      });
      const { versions, attrs } = await info("cats");
      assert.deepEqual([attrs, versions.length, versions[0]?.preview, versions[0]?.schema], [[], 1, null, {}]);
    });

    it("finds a dataset however it is named", async () => {
      await put("cats");
      const ways = [
        { name: "cats" },
        { name: "default.cats" },
        { name: "@admin.default.cats" },
        { name: "@admin.default.cats@v1.0.0" },
        { name: "ds://@admin.default.cats" },
        { name: "cats", namespace: "@admin", project: "default" },
        { name: "cats", namespace: "local", project: "local" },
      ];
      for (const way of ways) assert.equal((await info(way.name, way)).name, "cats", JSON.stringify(way));
    });

    it("of an unknown or removed version is a 404 that names it", async () => {
      await refused(info("cats"), "not_found", /There is no dataset @admin\.default\.cats in the team main/);
      await put("cats", { status: 8, removed_at: "2030-01-02T00:00:00.000Z" });
      await refused(info("cats"), "not_found", /All versions of .* were removed/);
      assert.equal((await info("cats", { include_removed: true })).versions[0]?.status, 8);
    });

    it("of an invalid name is a 422", async () => {
      for (const name of ["a.b.c.d", "a@b", "a..b", "", "a b"]) await refused(info(name), "invalid");
    });
  });

  describe("editing", () => {
    it("changes the given fields only", async () => {
      await put("cats", { dataset: { uuid: randomUUID(), description: "old", attrs: '["a"]' } });
      const first = await edit("cats", { new_name: null, description: "new", attrs: null });
      assert.deepEqual([first.name, first.description, first.attrs], ["cats", "new", ["a"]]);
      const second = await edit("cats", { new_name: "felines", attrs: ["b", "k=v"] });
      assert.deepEqual([second.name, second.description, second.attrs], ["felines", "new", ["b", "k=v"]]);
      assert.equal((await edit("felines", { description: "" })).description, "");
      assert.deepEqual((await audited()).slice(0, 2), [
        "dataset.edit @admin.default.felines description",
        "dataset.edit @admin.default.cats name, attrs: felines",
      ]);
    });

    it("keeps uuids, so that clients recognise a downloaded version", async () => {
      const uuid = await put("cats");
      assert.equal((await edit("cats", { new_name: "felines" })).versions[0]?.uuid, uuid);
    });

    it("to a name that is in use is a 409, to an invalid name a 422, and nothing changes", async () => {
      await put("cats");
      await put("dogs");
      await refused(edit("cats", { new_name: "dogs" }), "wrong_state", /@admin\.default\.dogs already exists/);
      for (const new_name of ["a.b", "a@b", "lst__x", "session_x", "a b", "a/b"])
        await refused(edit("cats", { new_name }), "invalid", /new_name/);
      await refused(edit("birds", { description: "x" }), "not_found");
      assert.deepEqual(await shown(), ["@admin.default.cats@1.0.0", "@admin.default.dogs@1.0.0"]);
    });
  });

  describe("removal", () => {
    it("keeps the version's row with status 8, and its number is not reused", async () => {
      await put("cats");
      await put("cats", { version: "1.0.1" });
      const body = { name: "cats", namespace: "local", project: "local", version: "1.0.0", force: null };
      const { message } = await client.call(routes.removeDataset, { body });
      assert.equal(message, "Version 1.0.0 is removed.");
      assert.deepEqual(await shown(), ["@admin.default.cats@1.0.1"]);
      const [gone] = (await info("cats", { include_removed: true })).versions;
      assert.equal(gone?.status, 8);
      assert.ok(gone?.removed_at);
      assert.equal((await audited())[0], "dataset.remove @admin.default.cats 1.0.0");
    });

    it("of all versions needs force, otherwise it is a 400", async () => {
      for (const version of ["1.0.0", "1.0.1"]) await put("cats", { version });
      await refused(remove("cats", { version: null, force: false }), "bad_request", /version/);
      assert.equal((await remove("cats", { force: true })).message, "2 versions are removed.");
      assert.deepEqual(await shown(), []);
      await refused(remove("cats", { force: true }), "not_found", /All versions of .* were removed/);
    });

    it("of an unknown or already removed version is a 404 that says so", async () => {
      await put("cats");
      await refused(remove("dogs", { version: "1.0.0" }), "not_found", /There is no dataset @admin\.default\.dogs/);
      await refused(remove("cats@2.0.0"), "not_found", /Newest versions: 1\.0\.0/);
      await remove("cats@v1.0.0");
      await refused(remove("cats@1.0.0"), "not_found", /it was removed at 20/);
      await refused(remove("cats", { version: "one" }), "invalid", /version: expected three numbers/);
    });
  });

  describe("exports", () => {
    const ask = (name: string) => client.call(routes.exportDataset, { query: { name } });

    it("of rows that are stored elsewhere, or that cannot be counted, are refused with the reason", async () => {
      await put("elsewhere");
      await put("uncounted", { rows_table: "ds_uncounted", num_objects: null });
      await refused(ask("elsewhere"), "wrong_state", /an external producer registered it/);
      await refused(
        ask("uncounted"),
        "wrong_state",
        /@admin\.default\.uncounted@1\.0\.0 cannot be exported: .*how many rows this version has/,
      );
    });
  });

  describe("of a job", () => {
    it("names the versions that it created and reused in full, and no internal or removed ones", async () => {
      const { id } = await createJob(client, shell(":"));
      await waitForEnd(client, id);
      await put("made", { madeBy: id });
      await put("reused", { reusedBy: id });
      await put("session_x", { madeBy: id });
      await put("gone", { madeBy: id, status: 8 });
      await put("other");
      const { dataset_versions } = await client.call(routes.datasetJobVersions, { query: { job_id: id } });
      assert.deepEqual(dataset_versions, [
        { dataset_name: "@admin.default.made", version: "1.0.0" },
        { dataset_name: "@admin.default.reused", version: "1.0.0" },
      ]);
    });
  });

  describe("for a viewer", () => {
    it("can be read and not changed", async () => {
      await put("cats");
      const viewer = (await addPerson(server, "vera", { team: "main", role: "viewer" })).client;
      assert.equal((await viewer.call(routes.listDatasets, { query: {} })).length, 1);
      await refused(
        viewer.call(routes.editDataset, { body: { name: "@admin.default.cats", description: "x" } }),
        "forbidden",
      );
      await refused(viewer.call(routes.removeDataset, { body: { name: "@admin.default.cats@1.0.0" } }), "forbidden");
      await refused(viewer.call(routes.registerVersion, { body: { name: "mine" } }), "forbidden");
    });
  });
});
