/** No-op jobs on a real Slurm cluster of four nodes, compared with `sbatch` of the same Python process. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Client } from "@millrace/contract";
import { python, runJob } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { SlurmCluster, whyNoSlurm } from "@millrace/testing/servers/slurm.ts";
import { inFlight } from "./bare.ts";
import { runMany } from "./jobs.ts";
import { compare, inTurns, type Measurement, timed } from "./measure.ts";

const jobs = 60;
/** As many as Slurm may have, so that its queue is never empty: the nodes have 16 CPUs. */
const workers = 64;
const words = [process.execPath, "--conditions=millrace-source", "--disable-warning=ExperimentalWarning"];

export async function measureSlurm(): Promise<Measurement[]> {
  if (await whyNoSlurm()) return [];
  const cluster = await SlurmCluster.start();
  const server = await TestServer.start({
    serve: [...words, join(import.meta.dirname, "slurm-server.ts")],
    env: { SLURM_CONF: cluster.configuration, SLURM_WORKERS: String(workers), MILLRACE_ISOLATION: "none" },
  });
  try {
    const client = await server.client();
    const job = python("pass", { compute_cluster_name: "slurm" });
    await runJob(client, job);
    const [ours, other] = await inTurns(
      3,
      () => rate(client, job),
      () => bareRate(cluster),
    );
    const sides = { ours, other, unit: "jobs/s", otherIs: "sbatch of python3 -c pass" };
    return [compare("no-op PYTHON jobs on four Slurm nodes", ">= 0.5", sides)];
  } finally {
    await server.dispose();
    await cluster.stop();
  }
}

const rate = async (client: Client, job: Parameters<typeof runMany>[2]) =>
  (jobs / (await timed(() => runMany(client, jobs, job)))) * 1000;

/** Submits the jobs and waits until the queue is empty. Polls as rarely as the other side. */
async function bareRate(cluster: SlurmCluster): Promise<number> {
  const env = { PATH: "/usr/bin:/bin", SLURM_CONF: cluster.configuration };
  const run = (program: string, ...rest: readonly string[]) => promisify(execFile)(program, rest, { env, cwd: "/" });
  const submit = () => run("sbatch", "--output=/dev/null", "--no-requeue", "--wrap", "exec /usr/bin/python3 -c pass");
  const spent = await timed(async () => {
    await inFlight(jobs, 8, submit);
    while ((await run("squeue", "--noheader")).stdout !== "") await new Promise((resolve) => setTimeout(resolve, 50));
  });
  return (jobs / spent) * 1000;
}
