/**
 * No-op jobs at the default settings, with limits on, at `none` and at the strongest isolation: throughput, latency and
 * processor time.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "@millrace/contract";
import { shell } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { inFlight, runSupervised } from "./bare.ts";
import { oneJob, runMany, slots } from "./jobs.ts";
import { cpuSeconds } from "./logs.ts";
import { compare, inTurns, limit, type Measurement, median, timed } from "./measure.ts";
import { openSandbox } from "./sandbox.ts";

const jobs = 200;
const rounds = 5;
const defaults = { MILLRACE_LOG_LEVEL: "warn" };

export async function measureDefaults(): Promise<Measurement[]> {
  const root = await mkdtemp(join(tmpdir(), "millrace-bench-"));
  const sandbox = await openSandbox();
  try {
    const bare = () => runSupervised(root, ":", ["/bin/sh"]);
    const sandboxed = () => sandbox.shell(":");
    return [
      ...(await measureLevel("none", { run: bare, is: "bare process", rate: ">= 0.5", time: "<= 8" })),
      ...(await measureLevel(sandbox.level, { run: sandboxed, is: "same sandbox", rate: ">= 0.9", time: "<= 4" })),
      await compareSandbox(sandboxed),
    ];
  } finally {
    await sandbox.close();
    await rm(root, { recursive: true, force: true });
  }
}

/** The same work without a server, and how close to it a server should come. */
interface Baseline {
  readonly run: () => Promise<void>;
  readonly is: string;
  readonly rate: string;
  readonly time: string;
}

async function measureLevel(level: string, bare: Baseline): Promise<Measurement[]> {
  const server = await TestServer.start({ env: { ...defaults, MILLRACE_ISOLATION: level } });
  try {
    const client = await server.client();
    await runMany(client, jobs, shell(":"));
    const costs: number[] = [];
    const [ours, other] = await inTurns(
      rounds,
      () => rateOf(client, server, costs),
      () => bareRate(bare.run),
    );
    const [one, alone] = await inTurns(
      50,
      () => timed(() => oneJob(client)),
      () => timed(bare.run),
    );
    return [
      compare(`no-op SHELL jobs at ${level}, limits on`, bare.rate, { ours, other, unit: "jobs/s", otherIs: bare.is }),
      compare(`one no-op SHELL job at ${level}`, bare.time, { ours: one, other: alone, unit: "ms", otherIs: bare.is }),
      limit(`processor time of the server per no-op job at ${level}`, median(costs), 2500, "us"),
    ];
  } finally {
    await server.dispose();
  }
}

/** Jobs per second; adds the processor time of the server for one job to `costs`, in microseconds. */
async function rateOf(client: Client, server: TestServer, costs: number[]): Promise<number> {
  const before = await cpuSeconds(server);
  const time = await timed(() => runMany(client, jobs, shell(":")));
  costs.push((((await cpuSeconds(server)) - before) / jobs) * 1e6);
  return (jobs / time) * 1000;
}

const bareRate = async (run: () => Promise<void>) => (jobs / (await timed(() => inFlight(jobs, slots, run)))) * 1000;

/** Our sandbox beside the smallest that bubblewrap can make: the price of the isolation itself. */
async function compareSandbox(sandboxed: () => Promise<void>): Promise<Measurement> {
  const words = ["--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--dev", "/dev", "/bin/sh", "-c", ":"];
  const minimal = async () => void (await once(spawn("bwrap", words, { stdio: "ignore" }), "exit"));
  const [ours, other] = await inTurns(
    rounds,
    () => bareRate(sandboxed),
    () => bareRate(minimal),
  );
  return compare("our sandbox without a server", ">= 0.7", { ours, other, unit: "/s", otherIs: "minimal bubblewrap" });
}
