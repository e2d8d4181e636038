/** Pipelines over HTTP: lineage becomes a graph of drafts, and the graph runs. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Client, isUnfinished, type Pipeline, type PipelineStatus, routes } from "@millrace/contract";
import { type InProcessServer, startInProcess } from "./support/in-process.ts";
import { type Made, makeDataset } from "./support/lineage.ts";

let server: InProcessServer;
let client: Client;
before(async () => {
  server = await startInProcess({ MILLRACE_MAX_WORKERS: "2" });
  client = await server.client();
});
after(() => server.dispose());

const trigger = async (datasets: string[], review = false): Promise<Pipeline> =>
  (await client.call(routes.triggerPipeline, { body: { datasets, review } })).pipeline;

const status = (name: string): Promise<Pipeline> => client.call(routes.getPipeline, { query: { name } });

async function waitFor(name: string, wanted: (pipeline: Pipeline) => boolean): Promise<Pipeline> {
  for (const deadline = Date.now() + 30_000; Date.now() < deadline; ) {
    const pipeline = await status(name);
    if (wanted(pipeline)) return pipeline;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${name}: ${JSON.stringify(await status(name))}`);
}
const waitForEnd = (name: string) => waitFor(name, (pipeline) => !isUnfinished(pipeline.status));

test("a chain runs in order, and is complete", async () => {
  const log = join(server.dataDir, "chain.txt");
  const first = await makeDataset({ store: server.store, client }, "first", `echo first >> ${log}`);
  const second = await makeDataset({ store: server.store, client }, "second", `echo second >> ${log}`, {
    needs: [first, { uri: "s3://x/" }],
  });
  const third = await makeDataset({ store: server.store, client }, "third", `echo third >> ${log}`, {
    needs: [second],
  });
  const pipeline = await trigger(["third"]);
  assert.equal(pipeline.status, "RUNNING");
  assert.equal(pipeline.triggered_from, "@admin.default.third@1.0.0");
  assert.deepEqual(
    pipeline.job_runs.map(({ job_id }) => job_id),
    [first, second, third].map(({ jobId }) => jobId),
  );
  const done = await waitForEnd(pipeline.name);
  assert.equal(done.status, "COMPLETED");
  assert.equal(done.completed, 3);
  assert.equal(await readFile(log, "utf8"), "first\nsecond\nthird\n");
});
