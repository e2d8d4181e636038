/** The job contract on a real Slurm cluster, through the unmodified client. */
import { dirname, join } from "node:path";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { SlurmCluster, whyNoSlurm } from "@millrace/testing/servers/slurm.ts";
import { clusterContract } from "./support/cluster-contract.ts";

clusterContract({
  kind: "slurm",
  title: "Slurm",
  skip: (await whyNoDatachain()) || (await whyNoSlurm()),
  async start() {
    const slurm = await SlurmCluster.start();
    const setPartition = (state: string) =>
      slurm.command("scontrol", "update", "PartitionName=usual", `State=${state}`);
    return {
      address: "127.0.0.1",
      options: { slurm_conf: slurm.configuration, python: "/usr/bin/python3" },
      environments: join(dirname(slurm.configuration), "environments"),
      where: { line: 'echo "node $SLURM_JOB_NODELIST"', output: /^node node\d+$/ },
      hold: () => setPartition("DOWN"),
      release: () => setPartition("UP"),
      listings: async () =>
        (await slurm.command("squeue", "-o", "%all")) + (await slurm.command("scontrol", "show", "job", "-dd")),
      left: async () => (await slurm.command("squeue", "--noheader")).trim(),
      stop: () => slurm.stop(),
    };
  },
});
