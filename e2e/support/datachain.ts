/** The real `datachain` command line with its own home and working directory. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { datachain, datachainPython, type Release } from "@millrace/testing/programs/datachain-install.ts";

export interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Settings {
  readonly url: string;
  /** Without a token the client is not signed in. */
  readonly token?: string;
  readonly team?: string;
  /** The client's config file: `job logs`, `job cancel` and `auth` read token and team only from it. */
  readonly signedInBy?: "config" | "environment";
  readonly env?: Readonly<Record<string, string>>;
  /** A release other than the newest. */
  readonly release?: Release;
}

/** Longer than anything here takes on a busy machine; ends a command that would hang. */
const patience = 90_000;

export class Datachain {
  readonly folder: string;
  readonly #settings: Settings;
  readonly #running = new Set<RunningCommand>();

  static async create(settings: Settings): Promise<Datachain> {
    const client = new Datachain(await mkdtemp(join(tmpdir(), "datachain-")), settings);
    await mkdir(client.path("work"));
    if (settings.signedInBy !== "environment") await client.#writeConfig();
    return client;
  }

  private constructor(folder: string, settings: Settings) {
    this.folder = folder;
    this.#settings = settings;
  }

  path(...names: string[]): string {
    return join(this.folder, ...names);
  }

  /** Writes a file into the working directory. */
  async write(name: string, content: string | Buffer): Promise<void> {
    const path = this.path("work", name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }

  /** Starts a command; tests can wait for its output while it runs. */
  start(...args: string[]): RunningCommand {
    return this.#start(this.#settings.release?.program ?? datachain, args);
  }

  /** Runs a script with the library to its end. */
  script(text: string): Promise<Result> {
    return this.#start(this.#settings.release?.python ?? datachainPython, ["-c", text]).ended();
  }

  #start(program: string, args: readonly string[]): RunningCommand {
    const child = spawn(program, args, {
      cwd: this.path("work"),
      env: this.#env(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const command = new RunningCommand(child, `${basename(program)} ${args.join(" ")}`);
    this.#running.add(command);
    return command;
  }

  /** Runs a command to its end. */
  run(...args: string[]): Promise<Result> {
    return this.start(...args).ended();
  }

  async dispose(): Promise<void> {
    for (const command of this.#running) command.kill("SIGKILL");
    await Promise.all([...this.#running].map((command) => command.ended()));
    await rm(this.folder, { recursive: true, force: true });
  }

  async #writeConfig(): Promise<void> {
    const { url, token, team } = this.#settings;
    if (!token) return;
    const lines = [
      "[studio]",
      ...Object.entries({ url, token, team }).flatMap(([k, v]) => (v ? [`${k} = "${v}"`] : [])),
    ];
    await mkdir(this.path("config"));
    await writeFile(this.path("config/config"), `${lines.join("\n")}\n`);
  }

  #env(): NodeJS.ProcessEnv {
    const { url, token, team, signedInBy, env } = this.#settings;
    const inherited = Object.entries(process.env).filter(([name]) => !/^(DATACHAIN|MILLRACE|PYTHON)_?/.test(name));
    return {
      ...Object.fromEntries(inherited),
      HOME: this.folder,
      LANG: "C.UTF-8",
      NO_PROXY: "127.0.0.1",
      // Disables buffering, so that output reaches a pipe as soon as a terminal.
      PYTHONUNBUFFERED: "1",
      DATACHAIN_NO_ANALYTICS: "1",
      DATACHAIN_GLOBAL_CONFIG_DIR: this.path("config"),
      DATACHAIN_SYSTEM_CONFIG_DIR: this.path("system-config"),
      DATACHAIN_STUDIO_URL: url,
      ...(signedInBy === "environment" && token ? { DATACHAIN_STUDIO_TOKEN: token } : {}),
      ...(signedInBy === "environment" && team ? { DATACHAIN_STUDIO_TEAM: team } : {}),
      ...env,
    };
  }
}

export class RunningCommand {
  readonly #child: ChildProcess;
  readonly #line: string;
  readonly #stdout: Buffer[] = [];
  readonly #stderr: Buffer[] = [];
  readonly #closed: Promise<number | null>;
  #onOutput: (() => void) | undefined;
  #over = false;

  constructor(child: ChildProcess, line: string) {
    this.#child = child;
    this.#line = line;
    child.stdout?.on("data", (bytes: Buffer) => this.#take(this.#stdout, bytes));
    child.stderr?.on("data", (bytes: Buffer) => this.#take(this.#stderr, bytes));
    this.#closed = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => {
        this.#over = true;
        this.#onOutput?.();
        resolve(code);
      });
    });
  }

  get stdout(): string {
    return Buffer.concat(this.#stdout).toString();
  }

  get stderr(): string {
    return Buffer.concat(this.#stderr).toString();
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Resolves as soon as standard output matches; rejects when the command ends or after the timeout. */
  async seen(pattern: RegExp, ms = patience): Promise<RegExpExecArray> {
    const deadline = Date.now() + ms;
    for (;;) {
      const match = pattern.exec(this.stdout);
      if (match) return match;
      if (this.#over) throw this.#complaint(`ended without printing ${pattern}`);
      if (Date.now() > deadline) throw this.#complaint(`did not print ${pattern} in ${ms / 1000} s`);
      await this.#moreOutput(deadline);
    }
  }

  async ended(ms = patience): Promise<Result> {
    const timer = setTimeout(() => this.kill("SIGKILL"), ms);
    const code = await this.#closed;
    clearTimeout(timer);
    return { code, stdout: this.stdout, stderr: this.stderr };
  }

  #take(chunks: Buffer[], bytes: Buffer): void {
    chunks.push(bytes);
    this.#onOutput?.();
  }

  #moreOutput(deadline: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, deadline - Date.now()) + 1);
      this.#onOutput = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #complaint(what: string): Error {
    return new Error(`\`${this.#line}\` ${what}; it printed:\n${this.stdout}\n${this.stderr}`);
  }
}
