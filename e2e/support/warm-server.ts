/** A server with waiting interpreters, and how many of them jobs have used. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, createClient, type Job, type JobInput } from "@millrace/contract";
import { runJob } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { withLibrary } from "@millrace/testing/programs/datachain-install.ts";

const settings = { ...withLibrary, MILLRACE_ISOLATION: "bwrap", MILLRACE_WARM_MEMORY: "256MiB" };

export interface WarmRun {
  readonly job: Job;
  readonly log: string;
  /** Whether an interpreter that had waited ran the script. */
  readonly warm: boolean;
}

export class WarmServer {
  readonly server: TestServer;
  readonly client: Client;
  readonly #token: string;

  static async start(env: Readonly<Record<string, string>> = {}): Promise<WarmServer> {
    const server = await TestServer.start({ env: { ...settings, ...env } });
    return new WarmServer(server, await server.client(), await server.token());
  }

  private constructor(server: TestServer, client: Client, token: string) {
    this.server = server;
    this.client = client;
    this.#token = token;
  }

  /** A client whose jobs are those of this team. */
  clientOf = (team: string) => createClient({ url: this.server.url, token: this.#token, team });

  async metric(name: string): Promise<number> {
    const response = await fetch(`${this.server.url}/metrics`, { headers: { Authorization: `token ${this.#token}` } });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    const line = text.split("\n").find((one) => one.startsWith(`${name} `));
    return Number(line?.split(" ").at(-1) ?? 0);
  }

  hits = () => this.metric('millrace_warm_starts_total{outcome="hit"}');
  misses = () => this.metric('millrace_warm_starts_total{outcome="miss"}');

  async run(input: JobInput, client = this.client): Promise<WarmRun> {
    const before = await this.hits();
    const run = await runJob(client, input);
    return { ...run, warm: (await this.hits()) > before };
  }

  /** Folders of the waiting interpreters that have imported the library. They are stopped then. */
  async ready(): Promise<WaitingProcess[]> {
    const folder = join(this.server.dataDir, "waiting");
    const all = await Promise.all((await readdir(folder)).map((key) => waitingIn(join(folder, key))));
    return all.filter((one) => one !== undefined);
  }

  /** Waits until an interpreter waits for a script of this name. */
  async waitReady(script = ""): Promise<WaitingProcess[]> {
    for (const deadline = Date.now() + 120_000; ; ) {
      const all = await this.ready();
      const ready = all.filter((one) => one.script === script);
      // The server measures an interpreter after it has stopped it, and then gives it to jobs.
      if (ready.length > 0 && (await this.metric("millrace_waiting_interpreters")) >= all.length) return ready;
      if (Date.now() > deadline) throw new Error(`no interpreter waits for ${script}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Runs a job until an interpreter waits for the next one like it, then runs it again. */
  async coldAndWarm(input: JobInput): Promise<{ cold: WarmRun; warm: WarmRun }> {
    const cold = await this.run(input);
    await this.waitReady(input.query_name ?? "");
    return { cold, warm: await this.run(input) };
  }

  /** Uploads a file for a job, and returns its id. */
  async upload(name: string, text: string): Promise<string> {
    const body = new FormData();
    body.append("file", new Blob([text]), name);
    const url = `${this.server.url}/api/datachain/jobs/files?team_name=main`;
    const response = await fetch(url, { method: "POST", headers: { Authorization: `token ${this.#token}` }, body });
    const { id } = (await response.json()) as { id: number };
    return String(id);
  }

  dispose = () => this.server.dispose();
}

export interface WaitingProcess {
  readonly folder: string;
  /** Process id of the shell that supervises the interpreter. */
  readonly shell: number;
  /** Process id of the interpreter. */
  readonly interpreter: number;
  /** File name of the script for which it waits. */
  readonly script: string;
}

async function waitingIn(folder: string): Promise<WaitingProcess | undefined> {
  try {
    const [shell] = (await readFile(join(folder, "supervisor"), "utf8")).split(" ");
    const info = JSON.parse(await readFile(join(folder, "sandbox"), "utf8")) as { "child-pid": number };
    const children = await readFile(`/proc/${info["child-pid"]}/task/${info["child-pid"]}/children`, "utf8");
    const interpreter = Number(children.trim());
    const stat = await readFile(`/proc/${interpreter}/stat`, "utf8");
    const isStopped = stat.slice(stat.lastIndexOf(")") + 2).startsWith("T");
    const script = (await readFile(`/proc/${interpreter}/cmdline`, "utf8")).split("\0")[1] ?? "";
    return isStopped ? { folder, shell: Number(shell), interpreter, script } : undefined;
  } catch {
    return undefined;
  }
}
