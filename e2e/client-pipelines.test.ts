/** `datachain pipeline` with the real client: create, status, list, pause, resume, remove-job. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Pipeline, routes } from "@millrace/contract";
import { shell } from "@millrace/testing/millrace/jobs.ts";
import { type Lineage, openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { until } from "@millrace/testing/until.ts";
import { ClientSuite } from "./support/client-suite.ts";
import type { Datachain } from "./support/datachain.ts";

const skip = await whyNoDatachain();

describe("datachain pipeline", { skip }, () => {
  const suite = ClientSuite.use({ MILLRACE_MAX_WORKERS: "2" });
  let client: Datachain;
  let lineage: Lineage;
  let count = 0;
  before(async () => {
    client = await suite.client();
    lineage = await openLineage(suite.server, suite.api);
  });
  after(() => lineage.close());

  async function chain(first = "true"): Promise<string> {
    const prefix = `p${++count}`;
    const script = (name: string, query: string) => shell(query, { query_name: `${name}.sh` });
    const a = await lineage.make(`${prefix}_a`, script("a", first));
    const b = await lineage.make(`${prefix}_b`, script("b", "true"), [a]);
    await lineage.make(`${prefix}_c`, script("c", "true"), [b]);
    return `${prefix}_c`;
  }
  const says = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await client.run("pipeline", ...args);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const read = (name: string): Promise<Pipeline> => suite.api.call(routes.getPipeline, { query: { name } });
  async function create(...datasets: string[]): Promise<string> {
    const said = await says("create", ...datasets);
    return /created under name: (\S+) from:/.exec(said)?.[1] ?? assert.fail(said);
  }

  test("create creates one paused pipeline of all datasets, by short or full name, with or without a version", async () => {
    const [one, two] = [await chain(), await chain()];
    const said = await says("create", one, `@admin.default.${two}@1.0.0`);
    assert.match(said, new RegExp(`from: @admin\\.default\\.${one} in paused state for review`));
    const name = /created under name: (\S+) from:/.exec(said)?.[1] ?? "";
    const { status, total, completed } = await read(name);
    assert.deepEqual([status, completed, total], ["PAUSED", 0, 6]);
  });

  test("status shows the state, with a PENDING row for each run", async () => {
    const name = await create(await chain());
    const said = await says("status", name);
    assert.match(said, /PAUSED/);
    assert.match(said, /0\/3/);
    for (const { created_job_id } of (await read(name)).job_runs) {
      const row = said.split("\n").find((line) => line.includes(created_job_id ?? "?"));
      assert.match(row ?? "", /PENDING/);
    }
  });

  test("resume runs it in order; pause lets running jobs finish and starts nothing", async () => {
    const gate = suite.gate(`gate-${++count}`);
    const name = await create(await chain(gate.wait));
    await says("resume", name);
    await until("the first runs", async () => (await read(name)).job_runs[0]?.status === "RUNNING");
    await says("pause", name);
    await gate.open();
    await until("the first is done", async () => (await read(name)).completed === 1);
    assert.deepEqual(
      (await read(name)).job_runs.map(({ status }) => status),
      ["COMPLETE", "PENDING", "PENDING"],
    );
    await says("resume", name);
    await until("it is complete", async () => (await read(name)).status === "COMPLETED");
    assert.match(await says("status", name), /COMPLETED[\s\S]*3\/3/);
  });

  test("remove-job accepts the id that status shows, and repairs the graph", async () => {
    const name = await create(await chain());
    const [a, b, c] = (await read(name)).job_runs;
    assert.match(await says("remove-job", name, b?.created_job_id ?? ""), /removed from pipeline/);
    const { total, job_runs } = await read(name);
    assert.deepEqual([total, job_runs[1]?.job_id, job_runs[1]?.parent_job_ids], [2, c?.job_id, [a?.job_id]]);
    await says("resume", name);
    await until("it is complete", async () => (await read(name)).status === "COMPLETED");
  });

  test("list shows name, status, target and progress, by status and by text", async () => {
    const dataset = await chain();
    const name = await create(dataset);
    const row = (said: string) => said.split("\n").find((line) => line.includes(name)) ?? "";
    assert.match(row(await says("list")), new RegExp(`PAUSED .*@admin\\.default\\.${dataset} .*0/3`));
    assert.notEqual(row(await says("list", "--status", "paused", "--search", dataset, "--limit", "5")), "");
    assert.equal(await says("list", "--status", "FAILED", "--search", dataset), "No pipelines found\n");
  });

  test("errors are shown as text", async () => {
    const name = await create(await chain());
    const refused = async (...args: string[]) => {
      const { code, stderr } = await client.run("pipeline", ...args);
      assert.equal(code, 1, args.join(" "));
      return stderr;
    };
    assert.match(await refused("create", "nowhere"), /There is no dataset @admin\.default\.nowhere/);
    assert.match(await refused("status", "no-such"), /There is no pipeline no-such/);
    assert.match(await refused("pause", name), /is PAUSED; pause is allowed only while it is RUNNING/);
    assert.match(await refused("remove-job", name, "unknown"), /has no run of a job unknown/);
    assert.match(await refused("list", "--status", "SLEEPY"), /status: expected one of PENDING, RUNNING/);
  });
});
