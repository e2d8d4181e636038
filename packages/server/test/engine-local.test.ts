import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AttemptFolder } from "../src/engines/local/attempt-folder.ts";
import { LocalEngine } from "../src/engines/local/local-engine.ts";
import { Processes, readBootId } from "../src/engines/local/processes.ts";
import { engineConformance } from "./engine-conformance.ts";

engineConformance("local", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-engine-"));
  const bootId = await readBootId();
  const jobEnvironment = { PATH: process.env["PATH"] ?? "" };
  return {
    bootId,
    open: ({ claimDelay = "" } = {}) =>
      LocalEngine.open({ dataDir, bootId, claimDelay, jobEnvironment, onChange: () => {} }),
    processes: (key) => new Processes().of([key]).pids,
    async killSupervisor(key) {
      const supervisor = new AttemptFolder(join(dataDir, "jobs"), key).supervisor();
      if (supervisor) process.kill(supervisor.pid, "SIGKILL");
    },
    stop: () => rm(dataDir, { recursive: true, force: true }),
  };
});
