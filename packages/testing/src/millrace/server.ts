/** A real server as a separate process, with a fresh data folder, that tests start, kill and restart. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { type Client, createClient } from "@millrace/contract";
import { repository } from "../repository.ts";
import { closedAtEnd } from "../servers/left-open.ts";

export const millrace = join(repository, "node_modules/.bin/millrace");

export interface ServerOptions {
  readonly databaseUrl?: string;
  /** Id of the user and group that run the server, without other groups. Only possible if the tests run as root. */
  readonly user?: number;
  /** An existing data folder; by default, a new one is created. */
  readonly dataDir?: string;
  /** File that gets the server's standard error; `output` then has only standard output. */
  readonly logFile?: string;
  /** Arguments of `ulimit` for the server, such as `-n 300`. */
  readonly ulimit?: string;
  /** Command that starts the server instead of `millrace serve`. */
  readonly serve?: readonly string[];
  /** Additional settings, such as MILLRACE_MAX_WORKERS. */
  readonly env?: Readonly<Record<string, string>>;
}

export class TestServer {
  readonly dataDir: string;
  readonly port: number;
  readonly #options: ServerOptions;
  #child: ChildProcess | undefined;
  /** Everything that the server wrote to standard output and standard error since its first start. */
  output = "";

  /** Starts a server and waits until it is ready. */
  static async start(options: ServerOptions = {}): Promise<TestServer> {
    const server = await TestServer.prepare(options);
    await server.start();
    return server;
  }

  /** Creates a server without starting it. */
  static async prepare(options: ServerOptions = {}): Promise<TestServer> {
    const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "millrace-")));
    if (options.user !== undefined) await chown(dataDir, options.user, options.user);
    return new TestServer(dataDir, await freePort(), options);
  }

  /** Creates a server with an existing data folder, without starting it. */
  static on(dataDir: string, port: number): TestServer {
    return new TestServer(dataDir, port, {});
  }

  private constructor(dataDir: string, port: number, options: ServerOptions) {
    this.dataDir = dataDir;
    this.port = port;
    this.#options = options;
    closedAtEnd(() => this.stop("SIGKILL"));
  }

  /**
   * Returns the command line. For `user`, mounts the repository at /mnt, because the user may not reach its real path.
   */
  #command(...args: string[]): string[] {
    const { user, ulimit } = this.#options;
    if (ulimit !== undefined) return ["sh", "-c", `ulimit ${ulimit} && exec "$@"`, "sh", millrace, ...args];
    if (user === undefined) return [millrace, ...args];
    const become = `setpriv --reuid=${user} --regid=${user} --clear-groups`;
    const script = `mount --bind "$1" /mnt && shift && exec ${become} /mnt/node_modules/.bin/millrace "$@"`;
    return ["unshare", "--mount", "sh", "-c", script, "sh", repository, ...args];
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Environment for millrace commands that work on this server's data. */
  get settings(): NodeJS.ProcessEnv {
    return {
      ...process.env,
      MILLRACE_DATA_DIR: this.dataDir,
      MILLRACE_PORT: String(this.port),
      // Do not download uv into each data folder: most tests build small virtualenvs, and uv has its own tests.
      MILLRACE_UV: "machine",
      MILLRACE_LOGIN_RATE: "1000",
      ...(this.#options.user === undefined ? {} : { HOME: this.dataDir }),
      ...(this.#options.databaseUrl ? { MILLRACE_DATABASE_URL: this.#options.databaseUrl } : {}),
      ...this.#options.env,
    };
  }

  /** Resolves when the server reports that it is ready. Extra settings apply to this start only. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    const [program = "", ...words] = this.#options.serve ?? this.#command("serve");
    const { logFile } = this.#options;
    const log = logFile ? openSync(logFile, "a") : "pipe";
    const child = spawn(program, words, { env: { ...this.settings, ...env }, stdio: ["ignore", "pipe", log] });
    if (typeof log === "number") closeSync(log);
    this.#child = child;
    child.stderr?.on("data", (bytes: Buffer) => {
      this.output += bytes.toString();
    });
    const ready = new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stdout as Readable }).on("line", (line) => {
        this.output += `${line}\n`;
        if (line.startsWith("Millrace is ready at ")) resolve();
      });
      child.once("exit", () => reject(new Error(`the server ended before it was ready:\n${this.output}`)));
    });
    await ready;
  }

  /** Sends the signal to the server and waits until it has exited. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  }

  async restart(): Promise<void> {
    await this.stop("SIGKILL");
    await this.start();
  }

  /** Waits until the server has exited for another reason, such as a fault point. */
  async ended(): Promise<void> {
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }

  async token(...args: string[]): Promise<string> {
    const [program = "", ...words] = this.#command("admin", "token", ...args);
    const { stdout } = await promisify(execFile)(program, words, { env: this.settings });
    return stdout.trim();
  }

  async client(...args: string[]): Promise<Client> {
    return createClient({ url: this.url, token: await this.token(...args), team: "main" });
  }

  /** Kills the server and removes its data folder. */
  async dispose(): Promise<void> {
    await this.stop("SIGKILL");
    await rm(this.dataDir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Returns a port that nobody listens on. Not one that the kernel gives to connections: one may take it meanwhile. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 30_000);
    const probe = createServer().listen(port, "127.0.0.1");
    const isFree = await once(probe, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    probe.close();
    await once(probe, "close");
    return port;
  }
}
