/** No-op jobs on a real Ray cluster of three nodes, compared with the same Python process over Ray's Jobs API. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { RayCluster, rayPython, whyNoRay } from "@millrace/testing/servers/ray.ts";
import { RayClient } from "../packages/server/src/engines/ray/ray-client.ts";
import { inFlight } from "./bare.ts";
import { jobRates } from "./cluster-jobs.ts";
import { compare, type Measurement } from "./measure.ts";

const jobs = 12;
const cpusPerNode = 4;
const nodes = 3;
const token = "bench-token-".repeat(4);

export async function measureRay(): Promise<Measurement[]> {
  if (await whyNoRay()) return [];
  const folder = await mkdtemp(join(tmpdir(), "millrace-ray-jobs-"));
  const cluster = await RayCluster.start({ token, cpusPerNode, nodes: nodes - 1 });
  const client = new RayClient(cluster.address, token);
  try {
    const ray = { address: cluster.address, python: rayPython(), folder };
    const [ours, other] = await jobRates({
      ...{ jobs, rounds: 3, added: { engine: "ray", max_workers: nodes * cpusPerNode, ray, secrets: { token } } },
      runBare: () => runBare(client),
      untilIdle: () => untilEnded(client),
    });
    const sides = { ours, other, unit: "jobs/s", otherIs: "python3 -c pass over the Jobs API" };
    return [compare("no-op PYTHON jobs on three Ray nodes", ">= 0.8", sides)];
  } finally {
    await client.close();
    await cluster.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function runBare(client: RayClient): Promise<void> {
  const ids = new Set<string>();
  await inFlight(jobs, 8, async () => {
    const submission_id = `bare-${randomUUID()}`;
    ids.add(submission_id);
    const entrypoint = `exec '${rayPython()}' -c pass`;
    await client.submit({ submission_id, entrypoint, entrypoint_num_cpus: 1, metadata: {}, runtime_env: {} });
  });
  await untilEnded(client);
  const ended = (await client.jobs()).filter(({ submission_id }) => ids.has(submission_id ?? ""));
  if (ended.length !== jobs || ended.some(({ status }) => status !== "SUCCEEDED")) throw new Error("a bare job failed");
}

/** Waits until no job waits or runs. Polls as rarely as `runMany`. */
async function untilEnded(client: RayClient): Promise<void> {
  const isOpen = async () => (await client.jobs()).some(({ status }) => status === "PENDING" || status === "RUNNING");
  while (await isOpen()) await pause(50);
}
