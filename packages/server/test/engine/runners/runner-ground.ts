/** What the tests of the runner share: a server, an engine with the fake placer, and calls that a runner would make. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Route } from "@millrace/contract";
import type { Engine, JobSpec, Observation } from "../../../src/engines/engine.ts";
import { RunnerEngine, type RunnerEngineOptions } from "../../../src/engines/runners/runner-engine.ts";
import { observeOne } from "../../support/attempts.ts";
import { type InProcessServer, startInProcess } from "../../support/in-process.ts";
import { jobSpec } from "../../support/job-spec.ts";
import { until } from "../../support/until.ts";
import { ProcessPlacer } from "./process-placer.ts";

export interface RunnerGround {
  readonly server: InProcessServer;
  readonly engine: RunnerEngine;
  readonly placer: ProcessPlacer;
  /** A folder for the test's own files. */
  readonly folder: string;
  /** A new attempt of a shell script. */
  spec(query: string, rest?: Partial<JobSpec>): JobSpec;
  /** Opens another engine on the same server. */
  open(options: Partial<RunnerEngineOptions>): Promise<RunnerEngine>;
  log(key: string): Promise<Buffer>;
  /** Sends what a runner would send. */
  call(route: Route, key: string, secret: string, body: unknown, query?: Record<string, string>): Promise<Response>;
  stop(): Promise<void>;
}

/** Names differ between processes: tests that run at the same time look for processes by the key of an attempt. */
let counter = 0;

export async function runnerGround(
  options: Partial<RunnerEngineOptions> = {},
  settings: Record<string, string> = {},
): Promise<RunnerGround> {
  const server = await startInProcess(settings);
  const folder = mkdtempSync(join(tmpdir(), "millrace-ground-"));
  const placed = ProcessPlacer.folder();
  const placer = new ProcessPlacer(placed);
  const { runners, url } = server;
  const usual = { isolation: "none" as const, jobsDir: join(server.dataDir, "jobs"), runners, placer, url: () => url };
  const open = (other: Partial<RunnerEngineOptions>) =>
    RunnerEngine.open({ ...usual, silenceMs: 200, ...options, ...other });
  return {
    ...{ server, placer, folder, open },
    engine: await open({}),
    spec: (query, rest = {}) =>
      jobSpec({ jobId: `ground-${process.pid}-${++counter}`, name: "job.sh", query, ...rest }),
    async log(key) {
      const source = await (await open({})).openLog(key);
      const bytes = await source.read(0, await source.size());
      await source.close();
      return bytes;
    },
    call(route, key, secret, body, query = {}) {
      const bytes = Buffer.isBuffer(body);
      const type = bytes ? "application/octet-stream" : "application/json";
      return fetch(`${url}${route.path}?${new URLSearchParams({ key, ...query })}`, {
        method: route.method,
        headers: { authorization: `Bearer ${secret}`, ...(body === undefined ? {} : { "content-type": type }) },
        ...(body === undefined ? {} : { body: bytes ? new Uint8Array(body) : JSON.stringify(body) }),
      });
    },
    async stop() {
      await server.dispose();
      for (const path of [folder, placed]) rmSync(path, { recursive: true, force: true });
    },
  };
}

export async function untilState<S extends Observation["state"]>(engine: Engine, key: string, state: S) {
  let seen: Observation | undefined;
  await until(async () => {
    seen = await observeOne(engine, key);
    if (seen.state === "LOST" && state !== "LOST") throw new Error(`${key} is lost: ${seen.why}`);
    return seen.state === state;
  }, 300);
  return seen as Observation & { state: S };
}
