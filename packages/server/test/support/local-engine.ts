/** Local engines on a fresh folder, at an isolation level. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { IsolationLevel } from "../../src/engines/engine.ts";
import { AttemptFolder } from "../../src/engines/local/attempt/attempt-folder.ts";
import { LocalEngine, type LocalEngineOptions } from "../../src/engines/local/local-engine.ts";
import { readBootId } from "../../src/engines/local/processes/processes.ts";
import type { WarehousePlaces } from "../../src/engines/warehouse-view.ts";
import { DataFolder } from "../../src/machine/data-folder.ts";
import type { EngineFixture } from "../engine/engine-conformance.ts";
import { markedProcesses } from "../engine/remote/marked-processes.ts";

const noLimits = { seconds: 0, memory: 0, processes: 0, openFiles: 0, log: 0, disk: 0 };

/** For jobs that use no datasets. */
const noWarehouses: WarehousePlaces = {
  use() {
    throw new Error("no job here uses datasets");
  },
  remember() {},
};

export interface LocalFixture extends EngineFixture {
  readonly bootId: string;
  readonly dataDir: string;
  open(options?: Partial<LocalEngineOptions>): Promise<LocalEngine>;
  folder(key: string): AttemptFolder;
}

export async function localFixture(isolation: IsolationLevel): Promise<LocalFixture> {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-engine-"));
  const bootId = await readBootId();
  const folder = (key: string) => new AttemptFolder(join(dataDir, "jobs"), key);
  return {
    dataDir,
    bootId,
    leavesNothing: isolation === "bwrap",
    folder,
    open: (options = {}) =>
      LocalEngine.open({
        folders: new DataFolder(dataDir).engine,
        bootId,
        isolation,
        uv: "never",
        users: { first: 61000, last: 61999 },
        jobPaths: [],
        hidden: [],
        limits: noLimits,
        claimDelay: "",
        warmMemory: 0,
        onWarmStart: () => {},
        jobEnvironment: { PATH: process.env["PATH"] ?? "" },
        warehouses: noWarehouses,
        onChange: () => {},
        onEnvironmentRemoved: () => {},
        ...options,
      }),
    // Finds processes by the mark: the jobs of this suite do not hide it.
    processes: (key) => markedProcesses(key, "MILLRACE_ATTEMPT").pids,
    async killSupervisor(key) {
      const supervisor = folder(key).supervisor();
      if (supervisor) process.kill(supervisor.pid, "SIGKILL");
    },
    stop: () => rm(dataDir, { recursive: true, force: true }),
  };
}

/** Returns false if engines at this level can be opened here, otherwise why not. */
export async function whyNot(isolation: IsolationLevel): Promise<false | string> {
  const fixture = await localFixture(isolation);
  try {
    const engine = await fixture.open();
    await engine.close();
    return false;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await fixture.stop();
  }
}
