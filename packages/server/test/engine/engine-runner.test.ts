/** Runs the engine conformance suite on runners that are placed as processes beside a server. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { RunnerEngine } from "../../src/engines/runners/runner-engine.ts";
import { startInProcess } from "../support/in-process.ts";
import { engineConformance } from "./engine-conformance.ts";
import { markedProcesses } from "./remote/marked-processes.ts";
import { ProcessPlacer } from "./runners/process-placer.ts";

engineConformance("runner", async () => {
  const server = await startInProcess();
  const folder = ProcessPlacer.folder();
  const jobsDir = join(server.dataDir, "jobs");
  return {
    open: ({ claimDelay = "0" } = {}) =>
      RunnerEngine.open({
        isolation: "none",
        jobsDir,
        runners: server.runners,
        placer: new ProcessPlacer(folder, Number(claimDelay)),
        url: () => server.url,
        silenceMs: 200,
      }),
    processes: (key) => markedProcesses(key, "MILLRACE_ATTEMPT").pids,
    leavesNothing: true,
    killSupervisor: async (key) => {
      for (const pid of new ProcessPlacer(folder).runners(key)) process.kill(pid, "SIGKILL");
    },
    async stop() {
      await server.dispose();
      rmSync(folder, { recursive: true });
    },
  };
});
