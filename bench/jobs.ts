/** Jobs: throughput per second, and latency of one. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, type JobInput, routes } from "@millrace/contract";
import { createJob, python, runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { inFlight, runSupervised } from "./bare.ts";
import { compare, inTurns, type Measurement, median, timed } from "./measure.ts";

export const slots = availableParallelism();
/** Like the baseline: without a sandbox, and without kernel limits, which make a process slower. */
const bareSettings = {
  MILLRACE_LOG_LEVEL: "warn",
  MILLRACE_ISOLATION: "none",
  MILLRACE_JOB_MEMORY: "0",
  MILLRACE_JOB_PROCESSES: "0",
};
const interpreter = () =>
  execFileSync("python3", ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" }).trim();

export async function measureThroughput(): Promise<Measurement[]> {
  const root = await mkdtemp(join(tmpdir(), "millrace-bench-"));
  const server = await TestServer.start({ env: bareSettings });
  try {
    const client = await server.client();
    const real = interpreter();
    await runJob(client, python("print(1)"));
    const rate = (count: number, input: JobInput) => async () =>
      (count / (await timed(() => runMany(client, count, input)))) * 1000;
    const bare = (count: number, script: string, command: string[]) => async () =>
      (count / (await timed(() => inFlight(count, slots, () => runSupervised(root, script, command))))) * 1000;
    const [shellOurs, shellBare] = await inTurns(5, rate(400, shell(":")), bare(400, ":", ["/bin/sh"]));
    const [pythonOurs, pythonBare] = await inTurns(5, rate(150, python("print(1)")), bare(150, "print(1)", [real]));
    return [
      compare(`no-op SHELL jobs from 8 clients, ${slots} slots, no limits`, ">= 0.5", {
        ours: shellOurs,
        other: shellBare,
        unit: "jobs/s",
        otherIs: "bare spawn loop",
      }),
      compare("PYTHON print(1) jobs from 8 clients, no limits", ">= 0.8", {
        ours: pythonOurs,
        other: pythonBare,
        unit: "jobs/s",
        otherIs: "bare interpreter",
      }),
    ];
  } finally {
    await server.dispose();
    await rm(root, { recursive: true, force: true });
  }
}

/** Submitted over HTTP by eight clients, each acknowledged when durable; counted when all are COMPLETE. */
export async function runMany(client: Client, count: number, input: JobInput): Promise<void> {
  await inFlight(count, 8, () => createJob(client, input));
  for (;;) {
    // ACTIVE does not include jobs that wait for their cluster.
    const active = await client.call(routes.listJobs, { query: { status: ["ACTIVE", "PROVISIONING"], limit: 1 } });
    if (active.length === 0) return;
    // Polls rarely, because polling uses the cores that are measured.
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export async function measureLatency(): Promise<Measurement[]> {
  const root = await mkdtemp(join(tmpdir(), "millrace-bench-"));
  const server = await TestServer.start({ env: bareSettings });
  try {
    const client = await server.client();
    await runJob(client, shell(":"));
    const ours: number[] = [];
    const bare: number[] = [];
    for (let i = 0; i < 50; i++) {
      ours.push(await timed(() => oneJob(client)));
      bare.push(await timed(() => runSupervised(root, ":", ["/bin/sh"])));
    }
    const sides = { ours: median(ours), other: median(bare), unit: "ms", otherIs: "bare process" };
    return [compare("one no-op SHELL job, request to COMPLETE and log read, median of 50", "<= 8", sides)];
  } finally {
    await server.dispose();
    await rm(root, { recursive: true, force: true });
  }
}

export async function oneJob(client: Client): Promise<void> {
  const { id } = await createJob(client, shell(":"));
  for (;;) {
    const [job] = await client.call(routes.listJobs, { query: { job_id: id } });
    if (job?.status === "COMPLETE") break;
  }
  await (await client.request(routes.getJobLogs, { params: { job_id: id }, query: {} })).arrayBuffer();
}
