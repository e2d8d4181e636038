/** No-op jobs on a real Slurm cluster of four nodes, compared with `sbatch` of the same Python process. */
import { SlurmCluster, whyNoSlurm } from "@millrace/testing/servers/slurm.ts";
import { inFlight } from "./bare.ts";
import { jobRates } from "./cluster-jobs.ts";
import { compare, type Measurement } from "./measure.ts";

const jobs = 60;
/** As many as Slurm may have, so that its queue is never empty: the nodes have 16 CPUs. */
const workers = 64;

export async function measureSlurm(): Promise<Measurement[]> {
  if (await whyNoSlurm()) return [];
  const cluster = await SlurmCluster.start();
  try {
    const slurm = { slurm_conf: cluster.configuration, python: "/usr/bin/python3" };
    const [ours, other] = await jobRates({
      ...{ jobs, rounds: 3, added: { engine: "slurm", max_workers: workers, slurm } },
      runBare: () => runBare(cluster),
      untilIdle: () => untilIdle(cluster),
    });
    const sides = { ours, other, unit: "jobs/s", otherIs: "sbatch of python3 -c pass" };
    return [compare("no-op PYTHON jobs on four Slurm nodes", ">= 0.5", sides)];
  } finally {
    await cluster.stop();
  }
}

async function runBare(cluster: SlurmCluster): Promise<void> {
  const words = ["--output=/dev/null", "--no-requeue", "--wrap", "exec /usr/bin/python3 -c pass"];
  await inFlight(jobs, 8, () => cluster.command("sbatch", ...words));
  await untilIdle(cluster);
}

/** Waits until the queue is empty. Polls as rarely as `runMany`. */
async function untilIdle(cluster: SlurmCluster): Promise<void> {
  while ((await cluster.command("squeue", "--noheader")) !== "")
    await new Promise((resolve) => setTimeout(resolve, 50));
}
