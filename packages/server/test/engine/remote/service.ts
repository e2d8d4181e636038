/**
 * A FAKE: the remote half of an engine that exists only in the tests. A real cluster (Kubernetes, Slurm, Ray) is not
 * available in every test run, and the interface between Millrace and an engine must not assume one machine. So this is
 * a separate process with its own folder, reached over HTTP. It shares no code and no file with the local engine,
 * survives every kill of the Millrace server, and can itself be killed and restarted. Only the machine is fake: jobs
 * are processes beside it, without isolation or limits.
 *
 * Arguments: its folder, its port. It prints `ready` when it listens.
 */
import { execFileSync, spawn } from "node:child_process";
import {
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Attempt, Observation } from "../../../src/engines/engine.ts";
import { identityOf, markedProcesses, markVariable } from "./marked-processes.ts";
import type { Call, RemoteJob } from "./protocol.ts";

const [root = "", port = ""] = process.argv.slice(2);
const runner = join(import.meta.dirname, "runner.py");
const pythonVersion = execFileSync("python3", ["--version"], { encoding: "utf8" }).trim().replace("Python ", "");

/** A permanent refusal; the message is for the job's owner. */
class Refused extends Error {}

const at = (key: string, name: string) => join(root, key, name);
const has = (key: string, name: string) => existsSync(at(key, name));
const textOf = (key: string, name: string) => (has(key, name) ? readFileSync(at(key, name), "utf8") : "");
const handleOf = (key: string) => `fake-run-of-${key}`;

/** Writes a file atomically: it appears complete or not at all. */
function write(key: string, name: string, text: string): void {
  mkdirSync(join(root, key), { recursive: true });
  writeFileSync(at(key, `${name}.draft`), text);
  renameSync(at(key, `${name}.draft`), at(key, name));
}

function submit(job: RemoteJob): string {
  // Conditions (`>=3.9`) are not looked at: the Python of this machine meets those of the tests.
  if (job.pythonVersion !== null && /^\d/.test(job.pythonVersion) && !pythonVersion.startsWith(job.pythonVersion))
    throw new Refused(`Python ${job.pythonVersion} is not installed. Installed versions: ${pythonVersion}.`);
  if (job.needs.length > 0) throw new Refused(`The fake engine runs plain scripts: it has no ${job.needs.join(", ")}.`);
  if (!has(job.key, "bundle.json") && !has(job.key, "claim")) {
    write(
      job.key,
      "bundle.json",
      JSON.stringify({ ...job, environment: { ...job.environment, [markVariable]: job.key } }),
    );
    queue(job.key, job.delay);
  }
  return handleOf(job.key);
}

const queue = (key: string, seconds: number) => void setTimeout(() => begin(key), seconds * 1000);

/** Synchronous, so nothing else runs in this process between checking the claim and creating it. */
function begin(key: string): void {
  if (has(key, "claim")) return;
  write(key, "claim", "runs");
  if (has(key, "cancel")) {
    write(key, "exit", JSON.stringify({ code: 143, finishedAt: Date.now() }));
    return;
  }
  const { PATH = "" } = process.env;
  const child = spawn("python3", ["-I", runner, join(root, key)], { env: { PATH }, detached: true, stdio: "ignore" });
  write(key, "runner", identityOf(child.pid ?? 0) ?? "gone");
  child.unref();
}

function withdraw(key: string): boolean {
  if (!has(key, "claim")) write(key, "claim", "withdrawn");
  return textOf(key, "claim") === "withdrawn";
}

async function observe({ key, handle }: Attempt): Promise<Observation> {
  if (handle !== null && handle !== handleOf(key)) throw new Error(`${handle} is no handle of ${key}`);
  if (!has(key, "claim"))
    return has(key, "bundle.json") ? { state: "WAITING", reason: "Others are before it." } : { state: "ABSENT" };
  if (textOf(key, "claim") === "withdrawn") return { state: "ABSENT" };
  const known = textOf(key, "runner");
  // Checks the process before the exit record: a process that ends in between has written it.
  const isAlive = known !== "" && identityOf(Number.parseInt(known, 10)) === known;
  const steps = [step(key)];
  if (!has(key, "exit") && isAlive) return { state: "RUNNING", steps, querying: true };
  await endAll(key);
  if (!has(key, "exit")) return { state: "LOST", steps, why: "its runner is gone" };
  const { code, finishedAt } = JSON.parse(textOf(key, "exit")) as { code: number; finishedAt: number };
  const exit = { code, phase: "query", finishedAt };
  return { state: "EXITED", steps, exit, metrics: metricsOf(key), overLimit: textOf(key, "limit") || null };
}

const step = (key: string) => ({
  name: "query",
  label: "Run the query",
  started_at: statSync(at(key, "claim")).mtime.toISOString(),
  finished_at: null,
});

function metricsOf(key: string): string | null {
  const path = at(key, "work/metrics.json");
  if (!lstatSync(path, { throwIfNoEntry: false })?.isFile()) return null;
  try {
    return JSON.stringify(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return null;
  }
}

/** Reports an end only when no process of the job is left. */
async function endAll(key: string): Promise<void> {
  for (;;) {
    const { pids, isUnclear } = markedProcesses(key);
    for (const pid of pids) signal(pid, "SIGKILL");
    if (pids.length === 0 && !isUnclear) return;
    await sleep(5);
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has exited by itself.
  }
}

function cancel(key: string, force: boolean): void {
  write(key, "cancel", "");
  const { pids } = markedProcesses(key);
  if (force) for (const pid of pids) signal(pid, "SIGKILL");
  // Signals only the processes that exist at the first request, none later.
  if (force || has(key, "asked") || pids.length === 0) return;
  write(key, "asked", "");
  for (const pid of pids) signal(pid, "SIGTERM");
}

function end(key: string, why: string): void {
  if (has(key, "exit")) return;
  if (!has(key, "limit")) write(key, "limit", why);
  cancel(key, true);
}

function cleanup(key: string): void {
  for (const name of ["work", "bundle.json"]) rmSync(at(key, name), { recursive: true, force: true });
}

function readLog(key: string, offset: number, length: number): { size: number; content: string } {
  if (!has(key, "log")) return { size: 0, content: "" };
  const file = openSync(at(key, "log"), "r");
  try {
    const bytes = Buffer.alloc(length);
    const count = length === 0 ? 0 : readSync(file, bytes, 0, length, offset);
    return { size: fstatSync(file).size, content: bytes.subarray(0, count).toString("base64") };
  } finally {
    closeSync(file);
  }
}

async function answer(call: Call): Promise<unknown> {
  switch (call.name) {
    case "submit":
      return submit(call.job);
    case "observe":
      return Promise.all(call.attempts.map(async (attempt) => [attempt.key, await observe(attempt)]));
    case "withdraw":
      return withdraw(call.key);
    case "cancel":
      return cancel(call.key, call.force);
    case "end":
      return end(call.key, call.why);
    case "find":
      return readdirSync(root);
    case "cleanup":
      return cleanup(call.key);
    case "read-log":
      return readLog(call.key, call.offset, call.length);
  }
}

mkdirSync(root, { recursive: true });
for (const key of readdirSync(root)) if (has(key, "bundle.json")) queue(key, 0);
createServer(async (request, response) => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  try {
    const said = await answer(JSON.parse(Buffer.concat(parts).toString()) as Call);
    response.end(JSON.stringify(said ?? null));
  } catch (error) {
    response.writeHead(error instanceof Refused ? 422 : 500).end((error as Error).message);
  }
}).listen(Number(port), "127.0.0.1", () => process.stdout.write("ready\n"));
