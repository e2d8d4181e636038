/** The compared clients: how each is installed and started. */
import { execFile } from "node:child_process";
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { programIn, type Virtualenv, whyNoVirtualenv } from "@millrace/testing/programs/virtualenv.ts";
import { repository } from "@millrace/testing/repository.ts";
import type { ClientReport, ClientTask } from "../storage-clients/task.ts";

const run = promisify(execFile);
const programs = join(import.meta.dirname, "../storage-clients");
const node = ["--conditions=millrace-source", "--disable-warning=ExperimentalWarning"];

/** Timeout in milliseconds, so that a client that hangs does not block the others. */
const longest = 3 * 60_000;

type Command = readonly [string, ...string[]];

export interface Client {
  readonly name: string;
  /** The program and its first arguments, before the task; rejects if it is not available. */
  find(): Promise<Command>;
}

/** `prepare` installs what the program needs, and returns arguments to start it with. */
const onNode = (name: string, prepare: () => Promise<string[]> = async () => []): Client => ({
  name,
  async find() {
    const words = await prepare();
    return [process.execPath, ...node, join(programs, `${name}.ts`), ...words];
  },
});

const onPython = (name: string, version: string, script: string): Client => ({
  name,
  async find() {
    const virtualenv: Virtualenv = { name: `${name}-${version}`, requirement: `${name}==${version}` };
    const why = await whyNoVirtualenv(virtualenv);
    if (why) throw new Error(why);
    return [programIn(virtualenv, "python"), join(programs, script)];
  },
});

/** Below .cache, because only this measurement needs it; later releases need a newer C library than Debian's. */
async function installOpendal(): Promise<string[]> {
  const folder = join(repository, ".cache/opendal-npm-0.49.2");
  if (await exists(join(folder, "node_modules/opendal"))) return [folder];
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), "{}");
  await run("npm", ["install", "--no-audit", "--no-fund", "opendal@0.49.2"], { cwd: folder });
  return [folder];
}

async function findRclone(): Promise<string[]> {
  await run("rclone", ["version"]);
  return [];
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

export const ours = onNode("ours");
export const awsSdk = onNode("aws-sdk");
export const googleSdk = onNode("google-sdk");
export const azureSdk = onNode("azure-sdk");
export const opendal = onNode("opendal", installOpendal);
export const rclone = onNode("rclone", findRclone);
export const s3fs = onPython("s3fs", "2026.9.0", "fsspec_client.py");
export const gcsfs = onPython("gcsfs", "2026.10.1", "fsspec_client.py");
export const adlfs = onPython("adlfs", "2026.8.0", "fsspec_client.py");
export const obstore = onPython("obstore", "0.12.1", "obstore_client.py");

/** Once for the whole run, so that a missing client is reported once. */
const found = new Map<Client, Promise<Command | undefined>>();

function commandOf(client: Client): Promise<Command | undefined> {
  const command =
    found.get(client) ??
    client.find().catch((error: Error) => {
      process.stderr.write(`${client.name} cannot be had, and is left out: ${error.message.split("\n")[0]}\n`);
      return undefined;
    });
  found.set(client, command);
  return command;
}

/** Returns undefined, with a message, if the client is not available or does not support the task. */
export async function runClient(client: Client, task: ClientTask): Promise<ClientReport | undefined> {
  const command = await commandOf(client);
  if (!command) return undefined;
  const [program, ...words] = command;
  try {
    const { stdout } = await run(program, [...words, JSON.stringify(task)], {
      timeout: longest,
      killSignal: "SIGKILL",
    });
    return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as ClientReport;
  } catch (error) {
    process.stderr.write(`${client.name} cannot ${task.kind}: ${reasonOf(error as FailedRun)}\n`);
    return undefined;
  }
}

interface FailedRun extends Error {
  readonly killed?: boolean;
  readonly stderr?: string;
}

function reasonOf({ killed, stderr, message }: FailedRun): string {
  if (killed) return `it has not ended after ${longest / 60_000} minutes`;
  return (stderr?.trim().split("\n").at(-1) || message).slice(-300);
}
