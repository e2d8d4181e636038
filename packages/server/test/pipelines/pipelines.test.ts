/** Pipelines over HTTP: lineage becomes a graph of drafts, and the graph runs. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Client, type Pipeline, routes } from "@millrace/contract";
import { readJob, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { type Made, makeDataset } from "@millrace/testing/millrace/lineage.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { refused } from "../support/people.ts";
import { statesOf, trigger, waitForPipeline, waitForPipelineEnd } from "../support/pipelines.ts";

describe("a pipeline", () => {
  let server: InProcessServer;
  let client: Client;
  let count = 0;
  before(async () => {
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "4", MILLRACE_CANCEL_GRACE: "1" });
    client = await server.client();
  });
  after(() => server.dispose());

  /** Datasets of one test: their jobs write their names into one file, and wait or fail if a file says so. */
  function world() {
    const prefix = `w${++count}`;
    const path = (name: string) => join(server.dataDir, `${prefix}-${name}`);
    const log = path("log");
    const full = (name: string) => `${prefix}_${name}`;
    return {
      full,
      lines: async () => (await readFile(log, "utf8")).trim().split("\n"),
      /** Its job ends when the gate is opened. */
      gated: (name: string) => `echo ${name} >> ${log}; while [ ! -e ${path(name)} ]; do sleep 0.02; done`,
      open: (name: string) => writeFile(path(name), ""),
      /** Its job fails unless the file exists. */
      fragile: (name: string) => `[ -e ${path(name)} ] && echo ${name} >> ${log}`,
      make: (name: string, needs: Made[] = [], query = `echo ${name} >> ${log}`, version = "1.0.0") =>
        makeDataset({ store: server.store, client }, full(name), query, {
          needs,
          version,
          input: { query_name: `${name}.sh` },
        }),
    };
  }
  const act = async (
    route:
      | typeof routes.pausePipeline
      | typeof routes.resumePipeline
      | typeof routes.cancelPipeline
      | typeof routes.rerunPipeline,
    name: string,
  ): Promise<Pipeline> => (await client.call(route, { body: { name } })).pipeline;
  const end = (name: string) => waitForPipelineEnd(client, name);
  const draftOf = (pipeline: Pipeline, name: string) =>
    pipeline.job_runs.find((run) => run.name === `${name}.sh`)?.created_job_id ?? assert.fail(`no run ${name}`);

  describe("is created from lineage", () => {
    it("with one run for each upstream job, in order, each a draft that repeats its original", async () => {
      const { make, full } = world();
      const a = await make("a");
      const b = await make("b", [a]);
      const c = await make("c", [b]);
      const pipeline = await trigger(client, [full("c")], true);
      assert.match(pipeline.name, /^[a-z]+-[a-z]+$/);
      assert.deepEqual(
        [pipeline.status, pipeline.completed, pipeline.total, pipeline.triggered_from],
        ["PAUSED", 0, 3, `@admin.default.${full("c")}`],
        "triggered_from has no version",
      );
      assert.deepEqual(pipeline.datasets, [`@admin.default.${full("c")}@1.0.0`], "datasets have theirs");
      assert.deepEqual(
        pipeline.job_runs.map(({ job_id, parent_job_ids, status }) => [job_id, parent_job_ids, status]),
        [
          [a.jobId, [], "PENDING"],
          [b.jobId, [a.jobId], "PENDING"],
          [c.jobId, [b.jobId], "PENDING"],
        ],
      );
      const original = await readJob(client, c.jobId ?? "");
      const draft = await readJob(client, draftOf(pipeline, "c"));
      assert.deepEqual(
        [draft.query, draft.name, draft.created_by, draft.pipeline_id],
        [original.query, original.name, original.created_by, pipeline.pipeline_id],
      );
      assert.deepEqual([draft.run_group_id, draft.rerun_from_job_id, draft.parent_job_id], [draft.id, null, null]);
    });

    it("with shared inputs of two targets once, and names both", async () => {
      const { make, full, lines } = world();
      const shared = await make("shared");
      await make("left", [shared]);
      await make("right", [shared]);
      const pipeline = await trigger(client, [full("left"), full("right"), full("left")]);
      assert.equal(pipeline.total, 3);
      assert.deepEqual(
        pipeline.datasets,
        ["left", "right"].map((name) => `@admin.default.${full(name)}@1.0.0`),
      );
      assert.equal((await end(pipeline.name)).status, "COMPLETED");
      const [first, ...others] = await lines();
      assert.deepEqual([first, others.sort()], ["shared", ["left", "right"]]);
    });

    it("for the named version, otherwise for the latest that was not removed", async () => {
      const { make, full } = world();
      const old = await make("base");
      const fresh = await make("other");
      const first = await make("final", [old]);
      const second = await make("final", [fresh], "true", "1.10.0");
      await make("final", [], "true", "1.9.0");
      const removed = await make("final", [], "true", "2.0.0");
      await server.store.write((db) =>
        db.updateTable("dataset_versions").set({ status: 8 }).where("uuid", "=", removed.uuid).execute(),
      );
      const jobs = async (name: string) => (await trigger(client, [name], true)).job_runs.map(({ job_id }) => job_id);
      assert.deepEqual(await jobs(`${full("final")}@1.0.0`), [old.jobId, first.jobId]);
      assert.deepEqual(await jobs(`@admin.default.${full("final")}@v1.0.0`), [old.jobId, first.jobId]);
      assert.deepEqual(await jobs(`default.${full("final")}`), [fresh.jobId, second.jobId]);
    });

    it("and runs at once unless it is for review", async () => {
      const { make, full } = world();
      await make("now");
      const body = { datasets: [full("now")] };
      const { ok, pipeline } = await client.call(routes.triggerPipeline, { body });
      assert.deepEqual([ok, pipeline.status], [true, "RUNNING"]);
      assert.equal((await end(pipeline.name)).status, "COMPLETED");
    });
  });

  describe("runs", () => {
    it("a diamond: both sides after the top, the bottom after both", async () => {
      const { make, full, lines } = world();
      const top = await make("top");
      const sides = [await make("left", [top]), await make("right", [top])];
      await make("bottom", sides);
      const { name } = await trigger(client, [full("bottom")]);
      const done = await end(name);
      assert.deepEqual([done.status, done.completed, done.total], ["COMPLETED", 4, 4]);
      const [first, second, third, last] = await lines();
      assert.deepEqual([first, [second, third].sort(), last], ["top", ["left", "right"], "bottom"]);
    });

    it("a fan-out in parallel, as far as there are slots", async () => {
      const { make, full, gated, open } = world();
      const top = await make("top");
      const names = ["one", "two", "three"];
      for (const name of names) await make(name, [top], gated(name));
      const { name } = await trigger(client, names.map(full));
      await waitForPipeline(client, name, (pipeline) => names.every((one) => statesOf(pipeline)[one] === "RUNNING"));
      for (const one of names) await open(one);
      assert.equal((await end(name)).status, "COMPLETED");
    });
  });

  describe("with a run that fails", () => {
    it("fails and names the run; started runs finish, and nothing else starts", async () => {
      const { make, full, fragile, gated, open } = world();
      const top = await make("top");
      const slow = await make("slow", [], gated("slow"));
      const middle = await make("middle", [top], fragile("middle"));
      await make("bottom", [middle, slow]);
      const { name } = await trigger(client, [full("bottom")]);
      const failed = await end(name);
      assert.equal(failed.status, "FAILED");
      assert.match(failed.error_message ?? "", /^middle\.sh \(job [0-9a-f-]+\) failed: .*exit code 1/);
      assert.deepEqual(statesOf(failed), {
        top: "COMPLETE",
        middle: "FAILED",
        bottom: "CANCELED",
        slow: statesOf(failed)["slow"],
      });
      await open("slow");
      const over = await waitForPipeline(client, name, (pipeline) => statesOf(pipeline)["slow"] === "COMPLETE");
      assert.equal(over.status, "FAILED");
    });

    it("can be rerun: complete runs stay, the others get new jobs", async () => {
      const { make, full, fragile, open, lines } = world();
      const top = await make("top");
      const middle = await make("middle", [top], fragile("middle"));
      await make("bottom", [middle]);
      const { name } = await trigger(client, [full("bottom")]);
      const failed = await end(name);
      await open("middle");
      const again = await act(routes.rerunPipeline, name);
      assert.deepEqual([again.status, again.error_message, again.finished_at], ["RUNNING", null, null]);
      assert.equal(draftOf(again, "top"), draftOf(failed, "top"));
      assert.notEqual(draftOf(again, "middle"), draftOf(failed, "middle"));
      assert.equal((await end(name)).status, "COMPLETED");
      assert.deepEqual(await lines(), ["top", "middle", "bottom"]);
    });

    it("can have one run retried alone, and is complete when the last of them is", async () => {
      const { make, full, fragile, open } = world();
      const middle = await make("middle", [], fragile("middle"));
      await make("bottom", [middle]);
      const { name } = await trigger(client, [full("bottom")]);
      const failed = await end(name);
      const retry = (job_id: string) => client.call(routes.retryPipelineJob, { body: { name, job_id } });
      await refused(retry(draftOf(failed, "bottom")), "wrong_state", /needs the result of middle\.sh, which is FAILED/);
      await open("middle");
      await retry(draftOf(failed, "middle"));
      const half = await end(name);
      assert.deepEqual([half.status, statesOf(half)], ["FAILED", { middle: "COMPLETE", bottom: "CANCELED" }]);
      assert.match(
        half.error_message ?? "",
        /1 of 2 runs are not complete\. The first of them, bottom\.sh, is CANCELED/,
      );
      await refused(retry(draftOf(half, "middle")), "wrong_state", /COMPLETE; only a run that is FAILED or CANCELED/);
      await retry(middleless(half));
      assert.equal((await end(name)).status, "COMPLETED");
    });
    const middleless = (pipeline: Pipeline) => pipeline.job_runs[1]?.job_id ?? "";

    it("fails in the same way if a person cancelled the run", async () => {
      const { make, full, gated } = world();
      const slow = await make("slow", [], gated("slow"));
      await make("after", [slow]);
      const pipeline = await trigger(client, [full("after")]);
      const id = draftOf(pipeline, "slow");
      await waitForStatus(client, id, ["RUNNING"]);
      await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
      const failed = await end(pipeline.name);
      assert.deepEqual([failed.status, statesOf(failed)], ["FAILED", { slow: "CANCELED", after: "CANCELED" }]);
      assert.match(failed.error_message ?? "", /slow\.sh \(job .*\) was canceled/);
    });
  });

  describe("that is paused", () => {
    it("lets running jobs finish and starts nothing; resumed, it continues", async () => {
      const { make, full, gated, open, lines } = world();
      const first = await make("first", [], gated("first"));
      const second = await make("second", [first]);
      await make("third", [second]);
      const { name } = await trigger(client, [full("third")]);
      await waitForPipeline(client, name, (pipeline) => statesOf(pipeline)["first"] === "RUNNING");
      assert.equal((await act(routes.pausePipeline, name)).status, "PAUSED");
      await open("first");
      const paused = await waitForPipeline(client, name, (pipeline) => pipeline.completed === 1);
      assert.deepEqual(
        [paused.status, statesOf(paused)],
        ["PAUSED", { first: "COMPLETE", second: "PENDING", third: "PENDING" }],
      );
      assert.equal((await act(routes.resumePipeline, name)).status, "RUNNING");
      assert.equal((await end(name)).status, "COMPLETED");
      assert.deepEqual(await lines(), ["first", "second", "third"]);
    });

    it("takes waiting jobs out of the queue", async () => {
      const { make, full, gated, open } = world();
      const names = ["a", "b", "c", "d", "e", "f"];
      for (const name of names) await make(name, [], gated(name));
      const { name } = await trigger(client, names.map(full));
      const running = (pipeline: Pipeline) => Object.values(statesOf(pipeline)).filter((state) => state === "RUNNING");
      await waitForPipeline(client, name, (pipeline) => running(pipeline).length === 4);
      const paused = await act(routes.pausePipeline, name);
      assert.deepEqual(
        Object.values(statesOf(paused)).filter((state) => state !== "RUNNING"),
        ["PENDING", "PENDING"],
      );
      for (const one of names) await open(one);
      const rest = await waitForPipeline(client, name, (pipeline) => pipeline.completed === 4);
      assert.equal(Object.values(statesOf(rest)).filter((state) => state === "PENDING").length, 2);
      await act(routes.resumePipeline, name);
      assert.equal((await end(name)).completed, 6);
    });

    it("is complete when its last run ends", async () => {
      const { make, full, gated, open } = world();
      await make("last", [], gated("last"));
      const { name } = await trigger(client, [full("last")]);
      await waitForPipeline(client, name, (pipeline) => statesOf(pipeline)["last"] === "RUNNING");
      await act(routes.pausePipeline, name);
      await open("last");
      assert.equal((await end(name)).status, "COMPLETED");
    });
  });

  describe("has a run removed", () => {
    const remove = async (name: string, job_id: string): Promise<Pipeline> =>
      (await client.call(routes.removeJobFromPipeline, { body: { name, job_id } })).pipeline;

    it("from its middle: its children wait for its parents", async () => {
      const { make, full, lines } = world();
      const top = await make("top");
      const other = await make("other");
      const middle = await make("middle", [top, other]);
      await make("bottom", [middle, top]);
      const pipeline = await trigger(client, [full("bottom")], true);
      const id = draftOf(pipeline, "middle");
      const repaired = await remove(pipeline.name, id);
      assert.equal(repaired.total, 3);
      const bottom = repaired.job_runs.find(({ name }) => name === "bottom.sh");
      assert.deepEqual(bottom?.parent_job_ids.sort(), [top.jobId, other.jobId].sort());
      assert.equal((await readJob(client, id)).status, "CANCELED");
      await act(routes.resumePipeline, pipeline.name);
      assert.equal((await end(pipeline.name)).status, "COMPLETED");
      const ran = await lines();
      assert.deepEqual([ran.slice(0, 2).sort(), ran[2]], [["other", "top"], "bottom"]);
    });

    it("after some parents are complete: its children wait for the other parents only", async () => {
      const { make, full, gated, open } = world();
      const done = await make("done");
      const slow = await make("slow", [], gated("slow"));
      const middle = await make("middle", [done, slow]);
      await make("bottom", [middle]);
      const { name } = await trigger(client, [full("bottom")]);
      await waitForPipeline(
        client,
        name,
        (pipeline) => pipeline.completed === 1 && statesOf(pipeline)["slow"] === "RUNNING",
      );
      await act(routes.pausePipeline, name);
      await remove(name, middle.jobId ?? "");
      await open("slow");
      await waitForPipeline(client, name, (pipeline) => pipeline.completed === 2);
      await act(routes.resumePipeline, name);
      assert.deepEqual(statesOf(await end(name)), { done: "COMPLETE", slow: "COMPLETE", bottom: "COMPLETE" });
    });

    it("by the id of its draft or of its original, until none is left and it is complete", async () => {
      const { make, full } = world();
      const a = await make("a");
      await make("b", [a]);
      const pipeline = await trigger(client, [full("b")], true);
      const { name } = pipeline;
      assert.equal((await remove(name, String(a.jobId).toUpperCase())).total, 1);
      const empty = await remove(name, draftOf(pipeline, "b"));
      assert.deepEqual([empty.status, empty.total, empty.completed], ["COMPLETED", 0, 0]);
    });

    it("only while it is paused, and only a PENDING one", async () => {
      const { make, full, gated, open } = world();
      const slow = await make("slow", [], gated("slow"));
      await make("after", [slow]);
      const pipeline = await trigger(client, [full("after")]);
      const { name } = pipeline;
      await refused(
        remove(name, draftOf(pipeline, "after")),
        "wrong_state",
        /is RUNNING; remove-job is allowed only while it is PAUSED/,
      );
      await waitForPipeline(client, name, (one) => statesOf(one)["slow"] === "RUNNING");
      await act(routes.pausePipeline, name);
      await refused(remove(name, draftOf(pipeline, "slow")), "wrong_state", /is RUNNING; only a run that is PENDING/);
      await refused(remove(name, "nothing"), "not_found", /has no run of a job nothing/);
      await open("slow");
      await act(routes.cancelPipeline, name);
    });
  });

  describe("that is cancelled", () => {
    it("ends running jobs, starts nothing, and can be rerun", async () => {
      const { make, full, gated, open } = world();
      const slow = await make("slow", [], gated("slow"));
      await make("after", [slow]);
      const { name } = await trigger(client, [full("after")]);
      await waitForPipeline(client, name, (pipeline) => statesOf(pipeline)["slow"] === "RUNNING");
      const canceled = await act(routes.cancelPipeline, name);
      assert.deepEqual([canceled.status, statesOf(canceled)["after"]], ["CANCELED", "CANCELED"]);
      const over = await waitForPipeline(client, name, (pipeline) => statesOf(pipeline)["slow"] === "CANCELED");
      assert.deepEqual([over.status, over.error_message], ["CANCELED", null]);
      await open("slow");
      await act(routes.rerunPipeline, name);
      assert.equal((await end(name)).status, "COMPLETED");
    });

    it("cannot be rerun until its running jobs have ended", async () => {
      const { make, full } = world();
      await make("stubborn", [], "trap '' TERM; sleep 60");
      const { name } = await trigger(client, [full("stubborn")]);
      await waitForPipeline(client, name, (pipeline) => statesOf(pipeline)["stubborn"] === "RUNNING");
      await act(routes.cancelPipeline, name);
      await refused(act(routes.rerunPipeline, name), "wrong_state", /is still being canceled/);
      await waitForPipeline(client, name, (pipeline) => statesOf(pipeline)["stubborn"] === "CANCELED");
    });

    it("cannot have another run retried either: the end of the running job would fail it", async () => {
      const { make, full } = world();
      await make("stubborn", [], "trap '' TERM; sleep 60");
      const input = { query_name: "wide.sh", workers: 4 };
      await makeDataset({ store: server.store, client }, full("wide"), "true", { input });
      const pipeline = await trigger(client, [full("stubborn"), full("wide")]);
      const { name } = pipeline;
      await waitForPipeline(client, name, (one) => statesOf(one)["stubborn"] === "RUNNING");
      const canceled = await act(routes.cancelPipeline, name);
      assert.deepEqual(statesOf(canceled), { stubborn: "CANCELING", wide: "CANCELED" });
      const retry = () => client.call(routes.retryPipelineJob, { body: { name, job_id: draftOf(pipeline, "wide") } });
      await refused(retry(), "wrong_state", /stubborn\.sh .* is still being canceled/);
      await waitForPipeline(client, name, (one) => statesOf(one)["stubborn"] === "CANCELED");
      await retry();
      await waitForPipeline(client, name, (one) => statesOf(one)["wide"] === "COMPLETE");
    });
  });

  describe("refuses an action in a state that does not allow it, naming both", () => {
    it("for each action", async () => {
      const { make, full } = world();
      await make("a");
      const { name } = await trigger(client, [full("a")], true);
      await refused(
        act(routes.pausePipeline, name),
        "wrong_state",
        new RegExp(`${name} is PAUSED; pause is allowed only while it is RUNNING`),
      );
      await refused(
        act(routes.rerunPipeline, name),
        "wrong_state",
        /PAUSED; rerun is allowed only while it is FAILED or CANCELED/,
      );
      await act(routes.cancelPipeline, name);
      await refused(act(routes.resumePipeline, name), "wrong_state", /CANCELED; resume/);
      await refused(act(routes.cancelPipeline, name), "wrong_state", /CANCELED; cancel/);
    });

    it("and a draft cannot be cancelled as a job", async () => {
      const { make, full } = world();
      await make("a");
      const pipeline = await trigger(client, [full("a")], true);
      const cancel = client.call(routes.cancelJob, { params: { job_id: draftOf(pipeline, "a") }, body: {} });
      await refused(cancel, "wrong_state", /is PENDING.*remove it from its paused pipeline/);
    });
  });

  describe("is found", () => {
    it("by name or id; neither, or two that do not match, is a 422", async () => {
      const { make, full } = world();
      await make("a");
      const { name, pipeline_id } = await trigger(client, [full("a")], true);
      const read = (query: { name?: string; pipeline_id?: string }) => client.call(routes.getPipeline, { query });
      assert.equal((await read({ name })).pipeline_id, pipeline_id);
      assert.equal((await read({ pipeline_id: pipeline_id.toUpperCase() })).name, name);
      assert.equal((await read({ name, pipeline_id })).name, name);
      await refused(read({}), "invalid", /one of the two, got neither/);
      await refused(read({ name: "other", pipeline_id }), "invalid", /the same pipeline/);
      await refused(read({ name: "no-such" }), "not_found", /no pipeline no-such in the team main/);
      await refused(client.call(routes.pausePipeline, { body: { name: null } }), "invalid", /got neither/);
    });

    it("in the list: newest first, by status in any form, by text in its name or datasets", async () => {
      const { make, full } = world();
      await make("alpha");
      await make("Beta");
      const first = await trigger(client, [full("alpha")], true);
      const second = await trigger(client, [full("Beta")], true);
      await act(routes.cancelPipeline, second.name);
      const names = async (query: string, body?: string) => await listed(query, body);
      assert.deepEqual((await names("limit=2")).slice(0, 2), [second.name, first.name]);
      assert.deepEqual(await names(`search=${full("beta").toUpperCase()}`), [second.name]);
      assert.ok((await names(`search=${first.name}`)).includes(first.name));
      for (const status of ["status=paused", "status=PAUSED,failed", "status=PAUSED&status=FAILED"])
        assert.deepEqual(await names(`search=${full("")}&${status}`), [first.name], status);
      for (const body of ['["PAUSED"]', '["paused", "FAILED"]', "[]", ""])
        assert.ok((await names(`search=${full("")}`, body)).includes(first.name), body);
      assert.deepEqual(await names(`search=${full("")}`, '["CANCELED"]'), [second.name]);
      const bad = await get("status=nonsense");
      assert.deepEqual([bad.status, bad.body.includes("expected one of PENDING, RUNNING")], [422, true]);
      for (const body of ['{"status": 1}', "[1]", "[[]]", '"PAUSED', `${"[".repeat(500)}`])
        assert.ok([400, 422].includes((await get("", body)).status), body);
    });

    const listed = async (query: string, body?: string) =>
      (JSON.parse((await get(query, body)).body) as Pipeline[]).map(({ name }) => name);
    const get = (query: string, body?: string) => getWithBody(server, `/api/datachain/pipeline/list?${query}`, body);
  });

  it("writes an audit row for every change", async () => {
    const { make, full } = world();
    await make("a");
    const { name } = await trigger(client, [full("a")], true);
    await act(routes.resumePipeline, name);
    await end(name);
    const entries = await client.call(routes.listAudit, { query: { action: "pipeline", limit: 2 } });
    assert.deepEqual(
      entries.map(({ action, target, username }) => [action, target, username]),
      [
        ["pipeline.resume", name, "admin"],
        ["pipeline.trigger", name, "admin"],
      ],
    );
  });
});

/** Sends a GET with a body, which fetch does not support. */
async function getWithBody(server: InProcessServer, path: string, body = "") {
  const { request } = await import("node:http");
  const token = await server.token();
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const length = body === "" ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const asking = request(server.url + path, { headers: { ...headers, ...length } }, async (response) => {
      let text = "";
      for await (const chunk of response) text += chunk;
      resolve({ status: response.statusCode ?? 0, body: text });
    });
    asking.on("error", reject);
    asking.end(body);
  });
}
