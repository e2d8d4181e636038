/** Runs the engine conformance suite on a real Ray cluster of three nodes. Each of its jobs takes Ray some seconds. */
import { readdirSync, readFileSync } from "node:fs";
import { RayCluster, whyNoRay } from "@millrace/testing/servers/ray.ts";
import { engineConformance } from "../engine/engine-conformance.ts";
import { RayEngines } from "../engine/ray/ray-engines.ts";
import { markedProcesses } from "../engine/remote/marked-processes.ts";

const isRunner = (pid: string) => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("runner.py");
  } catch {
    return false;
  }
};

engineConformance(
  "Ray",
  async () => {
    const cluster = await RayCluster.start({ token: "conformance-".repeat(4), nodes: 2, cpusPerNode: 4 });
    const engines = await RayEngines.beside(cluster, 1000);
    return {
      open: async ({ claimDelay } = {}) =>
        engines.open(claimDelay === undefined ? {} : { python: await engines.slowPython(claimDelay) }),
      processes: (key) => markedProcesses(key, "MILLRACE_ATTEMPT").pids,
      leavesNothing: true,
      async killSupervisor(key) {
        for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
          const environment = isRunner(pid) ? readFileSync(`/proc/${pid}/environ`, "utf8") : "";
          if (environment.includes(`MILLRACE_RUNNER_KEY=${key}\0`)) process.kill(Number(pid), "SIGKILL");
        }
      },
      async stop() {
        await engines.stop();
        await cluster.stop();
      },
    };
  },
  await whyNoRay(),
);
