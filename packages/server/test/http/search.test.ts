/** Searching jobs: text, tags, times, clusters, parents; alone and combined. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, type Job, routes } from "@millrace/contract";
import { createJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

describe("searching jobs", () => {
  let server: InProcessServer;
  let client: Client;
  let load: Job;
  let train: Job;
  before(async () => {
    server = await startInProcess();
    client = await server.client();
    load = await createJob(client, shell("echo 100%", { query_name: "Load", tags: ["nightly", "eu/west", "nightly"] }));
    // Times are bounds on ids, which have a resolution of a millisecond.
    await new Promise((resolve) => setTimeout(resolve, 5));
    train = await createJob(client, shell("echo model", { query_name: "train", tags: ["nightly"] }));
  });
  after(() => server.dispose());

  const list = async (query: string) => {
    const response = await server.fetch(`/api/datachain/jobs/?${query}`);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return (JSON.parse(text) as Job[]).map(({ name }) => name);
  };
  const refusal = async (query: string) => {
    const response = await server.fetch(`/api/datachain/jobs/?${query}`);
    assert.equal(response.status, 422, query);
    return ((await response.json()) as { message: string }).message;
  };

  it("a job shows its tags, each once; a job without any shows none", async () => {
    assert.deepEqual(load.tags, ["nightly", "eu/west"]);
    assert.deepEqual((await createJob(client, shell(":", { query_name: "bare", tags: null }))).tags, []);
  });

  it("a job that was created before there were tags shows none", async () => {
    const job = await createJob(client, shell(":", { query_name: "old", params: { tags: ["not these"] } }));
    const { tags: _, ...spec } = JSON.parse(await specOf(job.id)) as Job;
    await server.store.write((db) =>
      db
        .updateTable("jobs")
        .set({ spec: JSON.stringify(spec) })
        .where("id", "=", job.id)
        .execute(),
    );
    const [shown] = await client.call(routes.listJobs, { query: { job_id: job.id } });
    assert.deepEqual([shown?.tags, shown?.params], [[], { tags: ["not these"] }]);
  });

  it("text is found in names and queries, in any letter case and without wildcards", async () => {
    assert.deepEqual(await list("search=LOAD"), ["Load"]);
    assert.deepEqual(await list("search=100%25"), ["Load"]);
    assert.deepEqual(await list("search=_rain"), []);
    assert.deepEqual(await list("search=Echo"), ["train", "Load"]);
  });

  it("several tags mean all of them, and combine with the rest", async () => {
    assert.deepEqual(await list("tag=nightly"), ["train", "Load"]);
    assert.deepEqual(await list("tag=nightly&tag=eu/west"), ["Load"]);
    assert.deepEqual(await list("tag=nightly&search=model&created_by=admin&cluster=local"), ["train"]);
    assert.deepEqual(await list("tag=nightly&limit=1"), ["train"]);
    assert.deepEqual(await list(`tag=nightly&cursor=${train.id.toUpperCase()}`), ["Load"]);
    assert.deepEqual(await list("tag=nightly&created_by=nobody"), []);
  });

  it("times bound the list: from created_after on, up to and without created_before", async () => {
    assert.deepEqual(await list(`created_before=${encodeURIComponent(train.created_at)}`), ["Load"]);
    assert.equal((await list(`created_after=${train.created_at}`)).at(-1), "train");
    assert.deepEqual(await list("created_after=2001-01-01&created_before=2001-01-02"), []);
    assert.deepEqual(await list(`created_after=2001-01-01&created_before=${train.created_at}&tag=nightly`), ["Load"]);
  });

  it("jobs of a task are found by the task, and inherit its tags", async () => {
    const start_after = new Date().toISOString();
    const task = await createJob(client, shell(":", { query_name: "tick", start_after, tags: ["weekly"] }));
    for (let tries = 0; (await list(`parent_job_id=${task.id}`)).length === 0 && tries < 500; tries++)
      await new Promise((resolve) => setTimeout(resolve, 20));
    const [child] = await client.call(routes.listJobs, { query: { parent_job_id: task.id } });
    assert.deepEqual([child?.parent_job_id, child?.tags], [task.id, ["weekly"]]);
    assert.deepEqual(await list("tag=weekly"), ["tick", "tick"]);
  });

  it("a full page has a cursor, the last one has none", async () => {
    const next = async (query: string) =>
      (await server.fetch(`/api/datachain/jobs/?${query}`)).headers.get("x-next-cursor");
    assert.equal(await next("tag=nightly&limit=1"), train.id);
    assert.equal(await next("tag=nightly&limit=10"), null);
    assert.equal(await next("limit=1000"), null);
  });

  it("an invalid filter is refused by its name", async () => {
    assert.match(await refusal("tag=no%20spaces"), /^tag\.0: expected 1 to 64 characters: letters/);
    assert.match(await refusal("created_after=yesterday"), /^created_after: expected a time such as/);
    assert.match(await refusal("cluster=moon"), /^cluster: expected one of local \(1\), got "moon"/);
    assert.match(await refusal("parent_job_id=1"), /^parent_job_id: expected a UUID/);
    assert.match(await refusal("cursor=1"), /^cursor: expected a UUID/);
    for (const tags of [["no spaces"], [""], ["x".repeat(65)], Array(21).fill("a"), ["ü"], "text", [1]]) {
      const body = { query: ":", query_type: "SHELL", tags };
      assert.equal((await server.fetch("/api/datachain/jobs/", { json: body })).status, 422, JSON.stringify(tags));
    }
  });

  it("a search finds nothing of another team", async () => {
    const other = await server.store.write((db) =>
      db.insertInto("teams").values({ name: "other", created_at: "" }).returning("id").executeTakeFirstOrThrow(),
    );
    await server.store.write((db) =>
      db.insertInto("memberships").values({ team_id: other.id, user_id: 1, role: "admin" }).execute(),
    );
    for (const query of ["search=echo", "tag=nightly", `parent_job_id=${load.id}`, "created_after=2001-01-01"])
      assert.deepEqual(await list(`team_name=other&${query}`), [], query);
    await server.store.write((db) => db.deleteFrom("memberships").where("team_id", "=", other.id).execute());
  });

  const specOf = async (id: string) =>
    (await server.store.db.selectFrom("jobs").select("spec").where("id", "=", id).executeTakeFirstOrThrow()).spec;
});
