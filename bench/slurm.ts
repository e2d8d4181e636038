/** No-op jobs on a real Slurm cluster of four nodes, compared with `sbatch` of the same Python process. */
import { type Client, type JobInput, routes } from "@millrace/contract";
import { python, runJob } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { SlurmCluster, whyNoSlurm } from "@millrace/testing/servers/slurm.ts";
import { inFlight } from "./bare.ts";
import { runMany } from "./jobs.ts";
import { compare, inTurns, type Measurement, timed } from "./measure.ts";

const jobs = 60;
/** As many as Slurm may have, so that its queue is never empty: the nodes have 16 CPUs. */
const workers = 64;

interface Side {
  readonly client: Client;
  readonly cluster: SlurmCluster;
  readonly job: JobInput;
}

export async function measureSlurm(): Promise<Measurement[]> {
  if (await whyNoSlurm()) return [];
  const cluster = await SlurmCluster.start();
  const server = await TestServer.start({ env: { MILLRACE_LOG_LEVEL: "warn", MILLRACE_ISOLATION: "none" } });
  try {
    const client = await server.client();
    const slurm = { slurm_conf: cluster.configuration, python: "/usr/bin/python3" };
    await client.call(routes.createCluster, {
      body: { name: "slurm", engine: "slurm", max_workers: workers, teams: ["main"], slurm },
    });
    const job = python("pass", { compute_cluster_name: "slurm" });
    await runJob(client, job);
    const [ours, other] = await inTurns(
      3,
      () => rate({ client, cluster, job }),
      () => bareRate(cluster),
    );
    const sides = { ours, other, unit: "jobs/s", otherIs: "sbatch of python3 -c pass" };
    return [compare("no-op PYTHON jobs on four Slurm nodes", ">= 0.5", sides)];
  } finally {
    await server.dispose();
    await cluster.stop();
  }
}

/** Runs the jobs through the server. All must have succeeded, and nothing of them may be left for the other side. */
async function rate({ client, cluster, job }: Side): Promise<number> {
  const spent = await timed(() => runMany(client, jobs, job));
  const seen = await client.call(routes.listJobs, { query: { limit: jobs } });
  if (seen.some(({ status }) => status !== "COMPLETE")) throw new Error("a job on Slurm did not succeed");
  await untilIdle(cluster);
  return (jobs / spent) * 1000;
}

async function bareRate(cluster: SlurmCluster): Promise<number> {
  const words = ["--output=/dev/null", "--no-requeue", "--wrap", "exec /usr/bin/python3 -c pass"];
  const spent = await timed(async () => {
    await inFlight(jobs, 8, () => cluster.command("sbatch", ...words));
    await untilIdle(cluster);
  });
  return (jobs / spent) * 1000;
}

/** Waits until the queue is empty. Polls as rarely as `runMany`. */
async function untilIdle(cluster: SlurmCluster): Promise<void> {
  while ((await cluster.command("squeue", "--noheader")) !== "")
    await new Promise((resolve) => setTimeout(resolve, 50));
}
