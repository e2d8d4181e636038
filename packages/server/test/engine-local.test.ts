import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { AttemptFolder } from "../src/engines/local/attempt-folder.ts";
import { LocalEngine } from "../src/engines/local/local-engine.ts";
import { isAlive, Processes, readBootId } from "../src/engines/local/processes.ts";
import { engineConformance } from "./engine-conformance.ts";

it("a supervisor whose folder was removed ends", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-engine-"));
  const jobEnvironment = { PATH: process.env["PATH"] ?? "" };
  const engine = await LocalEngine.open({ dataDir, bootId: "b", claimDelay: "", jobEnvironment, onChange: () => {} });
  const folder = new AttemptFolder(join(dataDir, "jobs"), "gone.1");
  const spec = {
    teamId: 1,
    name: null,
    queryType: "SHELL",
    environment: {},
    params: {},
    files: [],
    reset: false,
  } as const;
  const rest = { pythonVersion: null, requirements: null, repository: null };
  await engine.submit({ ...spec, ...rest, key: "gone.1", jobId: "gone", query: "sleep 0.3" });
  while (folder.claim() === "none") await sleep(5);
  const supervisor = folder.supervisor();
  await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  for (const deadline = Date.now() + 10_000; supervisor && isAlive(supervisor); await sleep(20)) {
    assert.ok(Date.now() < deadline, "it is still there");
  }
  await engine.close();
});

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
