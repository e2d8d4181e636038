/** No-op jobs on a cluster through the server, beside the same process that the cluster's own tools start. */
import { type Client, type JobInput, type RouteInput, routes } from "@millrace/contract";
import { python, runJob } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { runMany } from "./jobs.ts";
import { inTurns, timed } from "./measure.ts";

/** A real cluster, and what to measure on it. */
export interface MeasuredCluster {
  /** How to add the cluster to the server. */
  readonly added: Omit<RouteInput<typeof routes.createCluster>["body"], "name" | "teams">;
  /** Number of jobs in each round. */
  readonly jobs: number;
  readonly rounds: number;
  /** Lets nodes reach the server, if they cannot do so by themselves. Returns the URL for them. */
  connect?(port: number): string;
  /** Runs as many jobs without Millrace, until all have succeeded. */
  runBare(): Promise<void>;
  /** Waits until nothing is left of the jobs of either side. */
  untilIdle(): Promise<void>;
}

/** Returns the jobs per second through the server, and without it. */
export async function jobRates(cluster: MeasuredCluster): Promise<readonly [number, number]> {
  const server = await TestServer.prepare({ env: { MILLRACE_LOG_LEVEL: "warn", MILLRACE_ISOLATION: "none" } });
  const url = cluster.connect?.(server.port);
  await server.start(url === undefined ? {} : { MILLRACE_PUBLIC_URL: url });
  try {
    const client = await server.client();
    const { engine } = cluster.added;
    await client.call(routes.createCluster, { body: { ...cluster.added, name: engine, teams: ["main"] } });
    const job = python("pass", { compute_cluster_name: engine });
    await runJob(client, job);
    await cluster.untilIdle();
    return await inTurns(
      cluster.rounds,
      () => rate(cluster, () => runOurs(client, cluster.jobs, job)),
      () => rate(cluster, cluster.runBare),
    );
  } finally {
    await server.dispose();
  }
}

/** Each side begins with an idle cluster. Clearing up after the jobs counts for neither. */
async function rate({ jobs, untilIdle }: MeasuredCluster, run: () => Promise<void>): Promise<number> {
  const spent = await timed(run);
  await untilIdle();
  return (jobs / spent) * 1000;
}

async function runOurs(client: Client, jobs: number, job: JobInput): Promise<void> {
  await runMany(client, jobs, job);
  const seen = await client.call(routes.listJobs, { query: { limit: jobs } });
  if (seen.some(({ status }) => status !== "COMPLETE")) throw new Error("a job on the cluster did not succeed");
}
