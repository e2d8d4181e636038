/** One server for a suite of tests with the real client, and any number of signed-in clients. */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { type Client, createClient, routes } from "@millrace/contract";
import { waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { Datachain, type Settings } from "./datachain.ts";

export interface Gate {
  /** Path of a file that exists once the gate is open. */
  readonly path: string;
  /** A line of shell that waits for the gate. */
  readonly wait: string;
  open(): Promise<void>;
}

/** Settings of the server. */
export type Env = Readonly<Record<string, string>>;

export class ClientSuite {
  server!: TestServer;
  /** The API itself, to prepare or check something without the client. */
  api!: Client;
  token!: string;
  /** A folder that jobs may use: see MILLRACE_JOB_PATHS. */
  shared!: string;
  readonly #clients: Datachain[] = [];

  /**
   * Call this inside a suite: it starts the server before the tests and removes everything after them. A function
   * prepares what the server needs, and returns its settings.
   */
  static use(env: Env | (() => Promise<Env>) = {}): ClientSuite {
    const suite = new ClientSuite();
    before(async () => suite.#start(typeof env === "function" ? await env() : env));
    after(() => suite.#stop());
    return suite;
  }

  /** Signed in as the administrator of the team main unless the settings say otherwise. */
  async client(settings: Partial<Settings> = {}): Promise<Datachain> {
    const client = await Datachain.create({ url: this.server.url, token: this.token, team: "main", ...settings });
    this.#clients.push(client);
    return client;
  }

  /** A client that is not signed in. */
  async stranger(): Promise<Datachain> {
    const client = await Datachain.create({ url: this.server.url });
    this.#clients.push(client);
    return client;
  }

  /** A gate at which jobs wait until the test opens it. */
  gate(name: string): Gate {
    const path = join(this.shared, name);
    return { path, wait: `while [ ! -e ${path} ]; do sleep 0.05; done`, open: () => writeFile(path, "") };
  }

  async #start(env: Env): Promise<void> {
    this.shared = await mkdtemp(join(tmpdir(), "millrace-shared-"));
    await chmod(this.shared, 0o755);
    this.server = await TestServer.start({ env: { MILLRACE_JOB_PATHS: `${this.shared}:ro`, ...env } });
    this.token = await this.server.token();
    this.api = createClient({ url: this.server.url, token: this.token, team: "main" });
  }

  async #stop(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.dispose()));
    await this.#endJobs().catch(() => {});
    await this.server.dispose();
    await rm(this.shared, { recursive: true, force: true });
  }

  /** Jobs outlive their server; those of a test must not outlive the test. */
  async #endJobs(): Promise<void> {
    const active = await this.api.call(routes.listJobs, { query: { status: ["ACTIVE"], limit: 100 } });
    for (const { id } of active) await this.api.call(routes.cancelJob, { params: { job_id: id }, body: {} });
    for (const { id } of active) await waitForEnd(this.api, id);
  }
}
