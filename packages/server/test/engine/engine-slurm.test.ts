/** Runs the engine conformance suite on a real Slurm cluster of four nodes. */
import { join } from "node:path";
import { SlurmCluster, whyNoSlurm } from "@millrace/testing/servers/slurm.ts";
import { RunnerEngine } from "../../src/engines/runners/runner-engine.ts";
import { SlurmPlacer } from "../../src/engines/slurm/slurm-placer.ts";
import { startInProcess } from "../support/in-process.ts";
import { engineConformance } from "./engine-conformance.ts";
import { markedProcesses } from "./remote/marked-processes.ts";
import { slowPython, slurmOptions } from "./slurm/slurm-options.ts";

engineConformance(
  "slurm",
  async () => {
    const cluster = await SlurmCluster.start();
    const server = await startInProcess();
    const jobsDir = join(server.dataDir, "jobs");
    return {
      open: ({ claimDelay = "0" } = {}) =>
        RunnerEngine.open({
          isolation: "none",
          jobsDir,
          runners: server.runners,
          placer: new SlurmPlacer(slurmOptions(cluster, { python: slowPython(cluster, claimDelay) })),
          url: () => server.url,
          silenceMs: 200,
        }),
      processes: (key) => markedProcesses(key, "MILLRACE_ATTEMPT").pids,
      isSlow: true,
      leavesNothing: true,
      killSupervisor: async (key) => {
        for (const pid of markedProcesses(key, "MILLRACE_RUNNER_KEY").pids) process.kill(pid, "SIGKILL");
      },
      async stop() {
        await server.dispose();
        await cluster.stop();
      },
    };
  },
  await whyNoSlurm(),
);
