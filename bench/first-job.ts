/** Duration of the first job with the dataset library on a new machine, compared with the same steps by hand. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { createJob, python, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { compare, type Measurement, timed } from "./measure.ts";

const run = promisify(execFile);
/** Both sides use the server's default release. */
const library = "datachain==0.62.0";
const more = "humanize==4.12.3";
const script = "import datachain as dc\ndc.read_values(n=[1, 2, 3]).save('numbers')\n";
const patience = 1800;
/** Milliseconds that somebody needs at least to sign in at a new server and to type a command. */
const signInMs = 10_000;

export async function measureFirstJob(): Promise<Measurement[]> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-first-"));
  const atOnce = await onNewServer((server) => timed(() => inJob(server, "")));
  return onNewServer((server) => compareFirstJobs(server, folder, atOnce));
}

/** Both sides start without uv and without a package cache. Tests have uv on the path; a new machine does not. */
async function onNewServer<T>(work: (server: TestServer) => Promise<T>): Promise<T> {
  const server = await TestServer.start({ env: { MILLRACE_UV: "auto", MILLRACE_LOG_LEVEL: "warn" } });
  return work(server).finally(() => server.dispose());
}

/** `atOnce` is how long the first job takes if the request comes as soon as the server is ready. */
async function compareFirstJobs(server: TestServer, folder: string, atOnce: number): Promise<Measurement[]> {
  try {
    await writeFile(join(folder, "script.py"), script);
    await sleep(signInMs);
    const ours = await timed(() => inJob(server, ""));
    const other = await timed(() => byHand(folder, "first", [library]));
    const oursMore = await timed(() => inJob(server, more));
    const otherMore = await timed(() => byHand(folder, "more", [library, more]));
    const seconds = (sides: { ours: number; other: number }) => ({
      ours: sides.ours / 1000,
      other: sides.other / 1000,
      unit: "s",
      otherIs: "venv, pip install and python by hand",
    });
    return [
      compare("first job with the dataset library, on an empty data folder", "<= 0.15", seconds({ ours, other })),
      compare("the same, requested as soon as the server is ready", "<= 0.2", seconds({ ours: atOnce, other })),
      compare("the next, with one requirement more", "<= 0.15", seconds({ ours: oursMore, other: otherMore })),
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function inJob(server: TestServer, requirements: string): Promise<void> {
  const client = await server.client();
  const { id } = await createJob(client, python(script, { requirements }));
  const { status, error_message } = await waitForEnd(client, id, patience);
  if (status !== "COMPLETE") throw new Error(error_message ?? status);
}

/** The steps by hand with Python alone; the second time pip has its cache of the first. */
async function byHand(folder: string, name: string, requirements: readonly string[]): Promise<void> {
  const venv = join(folder, name);
  const env = {
    PATH: process.env["PATH"],
    HOME: folder,
    PIP_CACHE_DIR: join(folder, "pip"),
    DATACHAIN_NO_ANALYTICS: "1",
  };
  const options = { cwd: folder, env, maxBuffer: 64 * 1024 ** 2 };
  await run("python3", ["-m", "venv", venv], options);
  await run(join(venv, "bin/pip"), ["install", "--quiet", "--disable-pip-version-check", ...requirements], options);
  await run(join(venv, "bin/python"), ["script.py"], options);
}
