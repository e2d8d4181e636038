/** Versions that external producers register, and the lineage between versions. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { type Client, createClient, type Lineage, routes } from "@millrace/contract";
import { createJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { putDependencies, versionIdOf } from "../../src/store/queries/datasets/dataset-versions.ts";
import { putVersion } from "../support/datasets.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { runningJob } from "../support/job-tokens.ts";
import { addPerson, refused } from "../support/people.ts";

describe("registering a version", () => {
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess();
    client = await server.client();
  });
  after(() => server.dispose());

  const register = (name: string, rest: object = {}, by = client) =>
    by.call(routes.registerVersion, { body: { name, ...rest } });
  const versionOf = async (name: string) => (await client.call(routes.getDataset, { query: { name } })).versions.at(-1);

  it("assigns the first number, then the next, and accepts a requested one", async () => {
    const first = await register("counted");
    assert.deepEqual([first.dataset_name, first.version], ["@admin.default.counted", "1.0.0"]);
    assert.equal((await register("counted")).version, "1.0.1");
    assert.equal((await register("counted", { version: "v2.1.0" })).version, "2.1.0");
    assert.equal((await register("counted@3.0.0")).version, "3.0.0");
    assert.equal((await register("counted")).version, "3.0.1");
  });

  it("never reuses a number, neither of an existing nor of a removed version", async () => {
    await register("taken");
    await refused(register("taken", { version: "1.0.0" }), "wrong_state", /already exists/);
    await client.call(routes.removeDataset, { body: { name: "taken@1.0.0" } });
    await refused(register("taken", { version: "1.0.0" }), "wrong_state", /was removed, and its number stays taken/);
    assert.equal((await register("taken")).version, "1.0.1");
  });

  it("concurrently gives every caller a different number", async () => {
    const given = await Promise.all(Array.from({ length: 10 }, () => register("race")));
    assert.equal(new Set(given.map(({ version }) => version)).size, 10);
  });

  it("again with the same uuid returns the existing version; for another dataset it is a 409", async () => {
    const uuid = randomUUID();
    const first = await register("repeated", { uuid });
    assert.deepEqual(await register("repeated", { uuid: uuid.toUpperCase() }), first);
    await refused(register("elsewhere", { uuid }), "wrong_state", /uuid/);
  });

  it("stores schema, counts, description and first rows with all digits of numbers", async () => {
    const preview = '[{"id":9007199254740993,"score":0.1000000000000000055}]';
    const body = `{"team_name":"main","name":"kept","schema":{"id":{"type":"Int64"}},"num_objects":7,"size":99,
      "description":"what it is","attrs":["a"],"query_script":"script","preview":${preview}}`;
    const headers = { "content-type": "application/json" };
    const response = await server.fetch("/api/datachain/datasets/versions", { method: "POST", body, headers });
    assert.equal(response.status, 200, await response.clone().text());
    const text = await (await server.fetch("/api/datachain/datasets/info?team_name=main&name=kept")).text();
    assert.ok(text.includes(`"preview":${preview}`), text);
    const dataset = await client.call(routes.getDataset, { query: { name: "kept" } });
    assert.deepEqual([dataset.description, dataset.attrs], ["what it is", ["a"]]);
    const [version] = dataset.versions;
    assert.deepEqual([version?.num_objects, version?.size, version?.query_script], [7, 99, "script"]);
    assert.deepEqual(version?.schema, { id: { type: "Int64" } });
    await register("kept");
    assert.equal((await client.call(routes.getDataset, { query: { name: "kept" } })).description, "what it is");
  });

  it("with names or URIs that a database could not store is a 422", async () => {
    const wide = "\u6f22".repeat(990);
    await refused(register("wide", { dependencies: [`s3://${wide}`] }), "invalid", /at most 1000 bytes/);
    await refused(register("wide", { dependencies: ["s3://\ud800"] }), "invalid", /unpaired surrogates/);
    for (const name of ["half\ud800", "\udc00.half", "a.\ud800.b"])
      await refused(register(name), "invalid", /unpaired surrogates/);
    await refused(register(wide), "invalid", /name/);
    const kept = `s3://${wide.slice(0, 331)}`;
    await register("wide", { dependencies: [kept] });
    const { nodes } = await client.call(routes.getLineage, { query: { dataset: "wide" } });
    assert.ok(nodes.some((node) => JSON.stringify(node).includes(kept)));
    await refused(
      client.call(routes.editDataset, { body: { name: "wide", new_name: "\ud800" } }),
      "invalid",
      /unpaired surrogates/,
    );
  });

  it("with a schema or first rows that are too large for lists is a 422 that names the limit", async () => {
    const text = "x".repeat(262_144);
    await refused(register("large", { preview: [{ text }] }), "invalid", /preview: expected at most 262144 bytes/);
    await refused(register("large", { schema: { text } }), "invalid", /schema: expected at most 262144 bytes/);
  });

  it("with a job's own token works for that job only", async () => {
    const { job, token, end } = await runningJob(client);
    const own = createClient({ url: server.url, token, team: "main" });
    await register("by-job", {}, own);
    assert.equal((await versionOf("by-job"))?.job_id, job.id);
    assert.equal((await versionOf("by-job"))?.query_script, job.query);
    const made = await client.call(routes.datasetJobVersions, { query: { job_id: job.id } });
    assert.deepEqual(made.dataset_versions, [{ dataset_name: "@admin.default.by-job", version: "1.0.0" }]);
    await refused(register("by-job", { job_id: randomUUID() }, own), "forbidden", /own job/);
    await end();
    await refused(register("by-job", {}, own), "unauthorized");
  });

  it("for a job is allowed for its creator and for team admins, because pipelines run the job again as its creator", async () => {
    const [maker, stranger] = [
      await addPerson(server, "maker", { team: "main" }),
      await addPerson(server, "stranger", { team: "main" }),
    ];
    const { id: job_id } = await createJob(maker.client, shell("true"));
    await refused(register("claimed", { job_id }, stranger.client), "forbidden", /belongs to maker\. Only its owner/);
    await register("claimed", { job_id }, maker.client);
    await register("claimed", { job_id }, client);
    assert.equal((await versionOf("claimed"))?.job_id, job_id);
  });

  it("for an unknown job or with unknown dependencies is a 404 and registers nothing", async () => {
    await refused(register("orphan", { job_id: randomUUID() }), "not_found", /There is no job/);
    await refused(register("orphan", { dependencies: ["nothing"] }), "not_found", /@admin\.default\.nothing/);
    await register("known");
    await refused(register("orphan", { dependencies: ["known@9.0.0"] }), "not_found", /Newest versions: 1\.0\.0/);
    await refused(register("orphan", { dependencies: ["a b"] }), "invalid", /dependencies/);
    await refused(client.call(routes.getDataset, { query: { name: "orphan" } }), "not_found");
  });

  it("under a name that the library writes or reserves is refused", async () => {
    await putVersion(server.store, "by-library", { rows_table: "ds_@admin_default_by-library_1_0_0" });
    await refused(register("by-library"), "wrong_state", /created by jobs on this server/);
    for (const name of ["system.listing.x", "local.local.x", "lst__x", "session_x", "a.b.c.d"])
      await refused(register(name), "invalid");
  });
});

describe("lineage", () => {
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess();
    client = await server.client();
    // bucket -> raw -> clean -> left, right -> final; both sides of the diamond share a parent.
    const bucket = "s3://bucket/raw";
    await register("raw", { dependencies: [bucket] });
    await register("clean", { dependencies: ["raw", bucket] });
    for (const name of ["left", "right"]) await register(name, { dependencies: ["clean"] });
    await register("final", { dependencies: ["left", "ds://@admin.default.right@v1.0.0"] });
  });
  after(() => server.dispose());

  const register = (name: string, rest: object) => client.call(routes.registerVersion, { body: { name, ...rest } });
  const lineage = (query: object) => client.call(routes.getLineage, { query });

  /** Edges as `from > to`, with short names. */
  const edgesOf = ({ nodes, edges }: Lineage) => {
    const names = new Map(nodes.map(({ id, name }) => [id, name.replace("@admin.default.", "")]));
    return edges.map(({ from, to }) => `${names.get(from)} > ${names.get(to)}`).sort();
  };

  it("upstream contains everything that a version was created from", async () => {
    const found = await lineage({ dataset: "final", direction: "upstream" });
    assert.deepEqual(edgesOf(found), [
      "clean > left",
      "clean > right",
      "left > final",
      "raw > clean",
      "right > final",
      "s3://bucket/raw > clean",
      "s3://bucket/raw > raw",
    ]);
    assert.equal(found.truncated, false);
    assert.equal(found.nodes.filter(({ kind }) => kind === "storage").length, 1);
  });

  it("downstream contains everything that was created from a version", async () => {
    const found = await lineage({ dataset: "clean", direction: "downstream" });
    assert.deepEqual(edgesOf(found), ["clean > left", "clean > right", "left > final", "right > final"]);
  });

  it("goes both ways by default, to the requested depth, and reports when there is more", async () => {
    const near = await lineage({ dataset: "clean", depth: 1 });
    assert.deepEqual(edgesOf(near), ["clean > left", "clean > right", "raw > clean", "s3://bucket/raw > clean"]);
    assert.equal(near.truncated, true);
    assert.equal((await lineage({ dataset: "clean", depth: 2 })).truncated, false);
  });

  it("names the jobs that created the versions", async () => {
    const { job, token, end } = await runningJob(client);
    const own = createClient({ url: server.url, token, team: "main" });
    await own.call(routes.registerVersion, { body: { name: "of-job", dependencies: ["final"] } });
    await end();
    const found = await lineage({ dataset: "of-job", depth: 1 });
    const node = found.nodes.find(({ kind }) => kind === "job");
    assert.deepEqual([node?.id, node?.name], [job.id, "job.sh"]);
    assert.ok(found.edges.some(({ from, to, kind }) => from === job.id && to === found.root && kind === "made"));
  });

  it("of a removed version is still available by its uuid", async () => {
    const { uuid } = await register("short-lived", { dependencies: ["raw"] });
    await client.call(routes.removeDataset, { body: { name: "short-lived@1.0.0" } });
    const found = await lineage({ uuid, direction: "upstream" });
    assert.equal(found.nodes.find(({ id }) => id === uuid)?.removed, true);
    assert.ok(edgesOf(found).includes("raw > short-lived"));
  });

  it("is a 422 for an invalid request and a 404 for an unknown version", async () => {
    await refused(lineage({}), "invalid", /dataset/);
    await refused(
      lineage({ dataset: "raw", uuid: randomUUID() }),
      "invalid",
      /either `dataset` or `uuid`, got both or neither/,
    );
    await refused(lineage({ dataset: "raw", depth: 0 }), "invalid", /depth/);
    await refused(lineage({ dataset: "raw", direction: "sideways" }), "invalid", /direction/);
    await refused(lineage({ dataset: "nothing" }), "not_found");
    await refused(lineage({ uuid: randomUUID() }), "not_found");
  });

  it("shows nothing of a job of another team, whatever the team's warehouse says", async () => {
    await client.call(routes.createTeam, { body: { name: "theirs" } });
    const body = { query: ":", query_type: "SHELL", query_name: "their secret", team_name: "theirs" } as const;
    const { id } = await client.call(routes.createJob, { body });
    await putVersion(server.store, "forged", { madeBy: id });
    const { nodes } = await lineage({ dataset: "forged" });
    assert.ok(!JSON.stringify(nodes).includes("their secret"), JSON.stringify(nodes));
  });

  it("with a cycle still ends", async () => {
    const [one, two] = [randomUUID(), randomUUID()];
    await putVersion(server.store, "one", { uuid: one });
    await putVersion(server.store, "two", { uuid: two, needs: [{ uuid: one }] });
    await server.store.write(async (db) => {
      const [first = 0, second = 0] = [await versionIdOf(db, 1, one), await versionIdOf(db, 1, two)];
      await putDependencies(db, { teamId: 1, versionId: first }, [{ needs_version_id: second }]);
    });
    assert.deepEqual(edgesOf(await lineage({ dataset: "one", direction: "upstream" })), ["one > two", "two > one"]);
  });

  it("of a large graph is truncated and says so", async () => {
    await server.store.write(async (db) => {
      const { id } = await db.selectFrom("dataset_versions").select("id").executeTakeFirstOrThrow();
      for (let start = 0; start < 6000; start += 500)
        await db
          .insertInto("dataset_dependencies")
          .values(
            Array.from({ length: 500 }, (_, index) => ({
              version_id: id,
              needs_version_id: null,
              needs_uri: `s3://many/${start + index}`,
            })),
          )
          .execute();
    });
    const found = await lineage({ dataset: "raw", direction: "upstream" });
    assert.equal(found.truncated, true);
    assert.equal(found.edges.length, 5000);
  });

  it("with long URIs is truncated too: an answer is bounded in bytes", async () => {
    const long = (part: number) =>
      Array.from({ length: 1000 }, (_, index) => `s3://${part}-${index}-`.padEnd(990, "x"));
    for (let part = 0; part < 3; part++) await register(`long-${part}`, { dependencies: long(part) });
    await register("long", { dependencies: ["long-0", "long-1", "long-2"] });
    const response = await server.fetch("/api/datachain/datasets/lineage?team_name=main&dataset=long");
    const text = await response.text();
    assert.ok(text.length < 4_000_000, `${text.length} bytes`);
    const found = JSON.parse(text) as Lineage;
    assert.equal(found.truncated, true);
    assert.ok(found.edges.length > 1000);
  });
});
