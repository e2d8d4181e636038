/** Which job rebuilds a dataset: one, the newest, unless a version is named. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, routes } from "@millrace/contract";
import { type Made, makeDataset, recordMade } from "@millrace/testing/millrace/lineage.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { refused } from "../support/people.ts";
import { trigger } from "../support/pipelines.ts";

describe("a pipeline rebuilds each upstream dataset once", () => {
  let server: InProcessServer;
  let client: Client;
  let count = 0;
  before(async () => {
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "1" });
    client = await server.client();
  });
  after(() => server.dispose());

  /** Datasets of one test. */
  function world() {
    const prefix = `p${++count}`;
    const full = (name: string) => `${prefix}_${name}`;
    const make = (name: string, needs: Made[] = [], version = "1.0.0", query = `echo ${version}`) =>
      makeDataset({ store: server.store, client }, full(name), query, {
        needs,
        version,
        input: { query_name: `make_${name}.sh` },
      });
    /** Records the next version, created by a pipeline run that repeats the creator of this version. */
    const repeat = async ({ name, version, jobId }: Made, next: string) => {
      const { job_runs } = await trigger(client, [`${name}@${version}`], true);
      const run = job_runs.find(({ job_id }) => job_id === jobId);
      return recordMade(server.store, run?.created_job_id ?? assert.fail("no run"), name, { version: next });
    };
    const runs = async (...names: string[]) => {
      const { job_runs } = await trigger(client, names, true);
      return job_runs.map(({ job_id, parent_job_ids }) => [job_id, ...parent_job_ids]);
    };
    return { full, make, repeat, runs };
  }

  it("with the newest job that created it, if lineage contains several versions", async () => {
    const { make, full, runs } = world();
    const old = await make("numbers");
    const left = await make("left", [old]);
    const middle = await make("numbers", [], "1.0.1");
    const right = await make("right", [middle]);
    const newest = await make("numbers", [], "1.0.2");
    assert.deepEqual(await runs(full("left"), full("right")), [
      [newest.jobId],
      [left.jobId, newest.jobId],
      [right.jobId, newest.jobId],
    ]);
  });

  it("from the inputs of the newest job, not of the older one", async () => {
    const { make, full, runs } = world();
    const before = await make("before");
    const old = await make("numbers", [before]);
    const final = await make("final", [old]);
    const since = await make("since");
    const newest = await make("numbers", [since], "1.0.1");
    assert.deepEqual(await runs(full("final")), [
      [since.jobId],
      [newest.jobId, since.jobId],
      [final.jobId, newest.jobId],
    ]);
  });

  it("if a job appends to its own dataset, not once per existing version", async () => {
    const { make, full, runs } = world();
    let state = await make("state");
    for (const version of ["1.0.1", "1.0.2"]) state = await make("state", [state], version);
    assert.deepEqual(await runs(full("state")), [[state.jobId]]);
  });

  it("with the newest script: a job that a pipeline or a task repeated counts as old as its original", async () => {
    const { make, repeat, full, runs } = world();
    const old = await make("numbers");
    const final = await make("final", [old]);
    await make("numbers", [], "1.0.1", "echo changed");
    const newest = await make("numbers", [], "1.0.2", "echo changed once more");
    const night = await repeat(old, "1.0.3");
    await repeat(night, "1.0.4");
    assert.deepEqual(await runs(full("final")), [[newest.jobId], [final.jobId, newest.jobId]]);
    assert.deepEqual(await runs(full("numbers")), [[newest.jobId]], "also where it is named itself");
    const again = await repeat(newest, "1.0.5");
    assert.deepEqual(await runs(full("numbers")), [[again.jobId]], "a repeat of the newest is the newest");
  });

  it("with a version that was not removed and that a job created", async () => {
    const { make, full, runs } = world();
    const old = await make("numbers");
    const final = await make("final", [old]);
    const kept = await make("numbers", [], "1.0.1");
    const gone = await make("numbers", [], "1.0.2");
    await server.store.write((db) =>
      db.updateTable("dataset_versions").set({ status: 8, removed_at: "x" }).where("uuid", "=", gone.uuid).execute(),
    );
    await recordMade(server.store, null, full("numbers"), { version: "1.0.3" });
    assert.deepEqual(await runs(full("final")), [[kept.jobId], [final.jobId, kept.jobId]]);
  });

  it("with the version that is named, and with its own inputs", async () => {
    const { make, full, runs } = world();
    const old = await make("numbers");
    const left = await make("left", [old]);
    const middle = await make("numbers", [], "1.0.1");
    const right = await make("right", [middle]);
    await make("numbers", [], "1.0.2");
    assert.deepEqual(await runs(`${full("left")}@1.0.0`), [[old.jobId], [left.jobId, old.jobId]]);
    assert.deepEqual(
      await runs(`${full("left")}@1.0.0`, `${full("right")}@1.0.0`),
      [[old.jobId], [middle.jobId], [left.jobId, old.jobId], [right.jobId, middle.jobId]],
      "each as it was",
    );
    assert.deepEqual(
      await runs(full("left"), full("right"), `${full("numbers")}@1.0.1`),
      [[middle.jobId], [left.jobId, middle.jobId], [right.jobId, middle.jobId]],
      "a version that is named is the one that all others get",
    );
  });

  it("or is refused, with the remedy, if the newest jobs need each other", async () => {
    const { make, full, runs } = world();
    const first = await make("numbers");
    const sums = await make("sums", [first]);
    const second = await make("numbers", [sums], "1.0.1");
    await refused(
      client.call(routes.triggerPipeline, { body: { datasets: [full("numbers")] } }),
      "invalid",
      /need each other's datasets.*Name a version \(NAME@1\.2\.3\)/,
    );
    assert.deepEqual(await runs(`${full("numbers")}@1.0.1`), [
      [first.jobId],
      [sums.jobId, first.jobId],
      [second.jobId, sums.jobId],
    ]);
  });
});
