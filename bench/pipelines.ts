/** Pipelines: the cost of a run, whether many cost more each, and whether a large registry makes triggering slower. */
import { randomUUID } from "node:crypto";
import { type Client, type JobInput, type Pipeline, routes } from "@millrace/contract";
import { python, runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { type Made, openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import type { Db } from "../packages/server/src/store/drivers/store.ts";
import { openStore } from "../packages/server/src/store/opening/open-store.ts";
import { compare, inTurns, type Measurement, median, timed } from "./measure.ts";
import { openSandbox } from "./sandbox.ts";

const quiet = { MILLRACE_LOG_LEVEL: "warn" };

export async function measurePipelines(): Promise<Measurement[]> {
  return [await measurePythons(), await measureChains(), await measureTrigger()];
}

/** Creates a chain of this many jobs, each of which needs the previous one's dataset. Returns the last dataset. */
export async function makeChain(server: TestServer, client: Client, count: number, input: JobInput): Promise<string> {
  const lineage = await openLineage(server, client);
  const prefix = `chain_${randomUUID().slice(0, 8)}`;
  let last: Made | undefined;
  for (let index = 0; index < count; index++)
    last = await lineage.make(`${prefix}_${index}`, input, last ? [last] : []);
  await lineage.close();
  return `${prefix}_${count - 1}`;
}

/** Runs the pipeline of the datasets to its end; polls rarely and for little, because the cores are what is measured. */
export async function rebuild(client: Client, ...datasets: string[]): Promise<Pipeline> {
  const { name } = (await client.call(routes.triggerPipeline, { body: { datasets } })).pipeline;
  for (;;) {
    const active = await client.call(routes.listJobs, { query: { status: ["ACTIVE"], limit: 1 } });
    if (active.length === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const pipeline = await client.call(routes.getPipeline, { query: { name } });
  if (pipeline.status !== "COMPLETED") throw new Error(`the pipeline is ${pipeline.status}`);
  return pipeline;
}

async function measurePythons(): Promise<Measurement> {
  const count = 40;
  const server = await TestServer.start({ env: quiet });
  const sandbox = await openSandbox();
  try {
    const client = await server.client();
    await runJob(client, python("print(1)"));
    const dataset = await makeChain(server, client, count, python("print(1)"));
    const [ours, other] = await inTurns(
      5,
      () => timed(() => rebuild(client, dataset)),
      () =>
        timed(async () => {
          for (let index = 0; index < count; index++) await sandbox.python("print(1)");
        }),
    );
    const sides = { ours: ours / count, other: other / count, unit: "ms/job", otherIs: "bare loop, same sandbox" };
    return compare(`${count} PYTHON jobs one after another as a pipeline, at ${sandbox.level}`, "<= 1.5", sides);
  } finally {
    await sandbox.close();
    await server.dispose();
  }
}

/** From the first start to the last end, by the runs' own times. */
function perJob({ job_runs }: Pipeline): number {
  const begin = Date.parse(job_runs[0]?.started_at ?? "");
  return (Date.parse(job_runs.at(-1)?.finished_at ?? "") - begin) / job_runs.length;
}

async function measureChains(): Promise<Measurement> {
  const server = await TestServer.start({ env: { ...quiet, MILLRACE_ISOLATION: "none" } });
  try {
    const client = await server.client();
    const long = await makeChain(server, client, 1000, shell(":"));
    const short = await makeChain(server, client, 10, shell(":"));
    await rebuild(client, short);
    const shorts = async () => {
      const times: number[] = [];
      for (let round = 0; round < 20; round++) times.push(perJob(await rebuild(client, short)));
      return median(times);
    };
    const [ours, other] = await inTurns(3, async () => perJob(await rebuild(client, long)), shorts);
    const sides = { ours, other, unit: "ms/job", otherIs: "in a chain of 10" };
    return compare("a chain of 1,000 no-op jobs as a pipeline", "<= 1.3", sides);
  } finally {
    await server.dispose();
  }
}

const closure = 50;

/** The same chain of datasets in a registry with this many unrelated versions. */
async function largeRegistry(count: number): Promise<{ server: TestServer; trigger: () => Promise<number> }> {
  const server = await TestServer.start({ env: quiet });
  const client = await server.client();
  const dataset = await makeChain(server, client, closure, shell(":"));
  const store = await openStore(storeIn(server.dataDir));
  const { id: jobId } = await store.db.selectFrom("jobs").select("id").executeTakeFirstOrThrow();
  await store.write((db) => insertOthers(db, count - closure, jobId));
  await store.close();
  const body = { datasets: [dataset], review: true };
  const trigger = () => timed(() => client.call(routes.triggerPipeline, { body }));
  return { server, trigger };
}

/** Inserts versions of a hundred datasets in bulk, each created from two earlier ones. */
async function insertOthers(db: Db, count: number, jobId: string): Promise<void> {
  const at = "2030-01-01T00:00:00.000Z";
  const first = await db.selectFrom("datasets").select(["project_id"]).executeTakeFirstOrThrow();
  const { top = 0 } = await db
    .selectFrom("dataset_versions")
    .select((eb) => eb.fn.max("id").as("top"))
    .executeTakeFirstOrThrow();
  for (let number = 0; number < 100; number++) {
    const row = { team_id: 1, project_id: first.project_id, uuid: randomUUID(), name: `other_${number}` };
    const { id } = await db
      .insertInto("datasets")
      .values({ ...row, description: null, attrs: "[]", created_at: at })
      .returning("id")
      .executeTakeFirstOrThrow();
    const of = Array.from({ length: Math.ceil(count / 100) }, (_, patch) => patch);
    for (let from = 0; from < of.length; from += 500) {
      const versions = of.slice(from, from + 500).map((patch) => versionRow(id, patch, jobId, at));
      await db.insertInto("dataset_versions").values(versions).execute();
    }
  }
  const all = await db.selectFrom("dataset_versions").select("id").where("id", ">", top).orderBy("id").execute();
  const needs = all.flatMap(({ id }, index) =>
    [all[index - 1], all[Math.floor(index / 2)]]
      .filter((need) => need !== undefined && need.id !== id)
      .map((need) => ({ version_id: id, needs_version_id: need?.id ?? null, needs_uri: null })),
  );
  for (let from = 0; from < needs.length; from += 1000)
    await db
      .insertInto("dataset_dependencies")
      .values(needs.slice(from, from + 1000))
      .onConflict((c) => c.doNothing())
      .execute();
}

const versionRow = (dataset_id: number, patch: number, job_id: string, at: string) => ({
  dataset_id,
  team_id: 1,
  uuid: randomUUID(),
  version: `1.0.${patch}`,
  major: 1,
  minor: 0,
  patch,
  status: 4,
  feature_schema: "{}",
  schema: "{}",
  sources: "",
  query_script: "",
  script_output: "",
  error_message: "",
  error_stack: "",
  job_id,
  created_at: at,
});

async function measureTrigger(): Promise<Measurement> {
  const small = await largeRegistry(1000);
  const large = await largeRegistry(100_000);
  try {
    for (const { trigger } of [small, large]) await trigger();
    const [ours, other] = await inTurns(20, large.trigger, small.trigger);
    const sides = { ours, other, unit: "ms", otherIs: "among 1,000" };
    return compare(`trigger of ${closure} jobs among 100,000 dataset versions`, "<= 3", sides);
  } finally {
    await small.server.dispose();
    await large.server.dispose();
  }
}
