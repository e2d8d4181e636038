/** The service of the fake remote engine as a process that tests start, kill and restart. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "@millrace/testing/millrace/server.ts";
import { closedAtEnd } from "@millrace/testing/servers/left-open.ts";
import { markedProcesses } from "./marked-processes.ts";

export class RemoteService {
  readonly folder: string;
  readonly url: string;
  readonly #port: number;
  #child: ChildProcess | undefined;

  static async start(): Promise<RemoteService> {
    const service = new RemoteService(await mkdtemp(join(tmpdir(), "millrace-remote-")), await freePort());
    await service.begin();
    return service;
  }

  private constructor(folder: string, port: number) {
    this.folder = folder;
    this.#port = port;
    this.url = `http://127.0.0.1:${port}`;
    closedAtEnd(() => this.kill());
  }

  async begin(): Promise<void> {
    const script = join(import.meta.dirname, "service.ts");
    const options = ["--conditions=millrace-source", "--disable-warning=ExperimentalWarning"];
    const words = [...options, script, join(this.folder, "runs"), String(this.#port)];
    // The service gets none of the tests' own variables.
    const env = { PATH: process.env["PATH"] };
    this.#child = spawn(process.execPath, words, { env, stdio: ["ignore", "pipe", "inherit"] });
    if (this.#child.stdout) await once(this.#child.stdout, "data");
  }

  /** Kills the service with SIGKILL; its jobs keep running. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  processes = (key: string) => markedProcesses(key).pids;

  killRunner(key: string): void {
    process.kill(Number.parseInt(readFileSync(join(this.folder, "runs", key, "runner"), "utf8"), 10), "SIGKILL");
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
