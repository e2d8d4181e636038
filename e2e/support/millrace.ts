/** Our own command line with its own home and working directory. */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { promisify } from "node:util";
import { millrace } from "@millrace/testing/millrace/server.ts";
import { until } from "@millrace/testing/until.ts";
import type { ClientSuite } from "./client-suite.ts";
import { type Result, RunningCommand } from "./datachain.ts";

interface MillraceSettings {
  readonly url?: string;
  /** Without a token the command line is not signed in. */
  readonly token?: string;
  readonly team?: string;
  readonly env?: NodeJS.ProcessEnv;
}

export class Millrace {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly #running = new Set<RunningCommand>();

  /** Call this inside a suite: it creates any number of command lines, and removes them after the tests. */
  static use(): (settings?: MillraceSettings) => Promise<Millrace> {
    const made: Millrace[] = [];
    after(async () => void (await Promise.all(made.map((cli) => cli.#dispose()))));
    return async (settings = {}) => {
      const cli = new Millrace(await mkdtemp(join(tmpdir(), "millrace-cli-")), settings);
      await mkdir(cli.path("work"));
      made.push(cli);
      return cli;
    };
  }

  /** The same for one server: signed in as the administrator of the team main unless the settings say otherwise. */
  static useWith(suite: ClientSuite): (settings?: MillraceSettings) => Promise<Millrace> {
    const create = Millrace.use();
    return (settings) => create({ url: suite.server.url, token: suite.token, team: "main", ...settings });
  }

  private constructor(folder: string, { url, token, team, env }: MillraceSettings) {
    this.folder = folder;
    const foreign = /^(DATACHAIN|MILLRACE|XDG)_|^(NO_COLOR|DISPLAY|WAYLAND_DISPLAY)$/;
    this.env = {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name))),
      HOME: folder,
      MILLRACE_LOG_LEVEL: "warn",
      ...(url ? { DATACHAIN_STUDIO_URL: url } : {}),
      ...(token ? { DATACHAIN_STUDIO_TOKEN: token } : {}),
      ...(team ? { DATACHAIN_STUDIO_TEAM: team } : {}),
      ...env,
    };
  }

  path(...names: string[]): string {
    return join(this.folder, ...names);
  }

  /** Writes a file into the working directory and returns its name. */
  async write(name: string, content: string | Buffer): Promise<string> {
    await writeFile(this.path("work", name), content);
    return name;
  }

  /** Starts a command; tests can wait for its output while it runs. */
  start(...args: string[]): RunningCommand {
    const child = spawn(millrace, args, { ...this.#surroundings(), stdio: ["ignore", "pipe", "pipe"] });
    return this.#watch(child, args);
  }

  /** Runs a command to its end with this on its standard input. */
  feed(input: string, ...args: string[]): Promise<Result> {
    const child = spawn(millrace, args, { ...this.#surroundings(), stdio: ["pipe", "pipe", "pipe"] });
    child.stdin.end(input);
    return this.#watch(child, args).ended();
  }

  /**
   * Types at a command on a terminal, or runs an action, each when its prompt appears. Returns everything on the
   * screen.
   */
  async type(
    answers: readonly (readonly [question: string, answer: string | (() => Promise<void>)])[],
    ...args: string[]
  ): Promise<Result> {
    const words = [millrace, ...args].join(" ");
    const child = spawn("script", ["-qec", words, "/dev/null"], { ...this.#surroundings(), stdio: "pipe" });
    const command = this.#watch(child, args);
    for (const [question, answer] of answers) {
      await until(question, () => command.stdout.includes(question));
      if (typeof answer === "string") child.stdin.write(answer);
      else await answer();
    }
    return command.ended();
  }

  #watch(child: ChildProcess, args: readonly string[]): RunningCommand {
    const command = new RunningCommand(child, `millrace ${args.join(" ")}`);
    this.#running.add(command);
    return command;
  }

  /** Runs a command to its end. */
  run(...args: string[]): Promise<Result> {
    return this.start(...args).ended();
  }

  /** Runs a command that must succeed; returns its output. */
  async print(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...args);
    assert.equal(code, 0, stderr);
    return stdout;
  }

  /** The output of a command, byte for byte. */
  async bytes(...args: string[]): Promise<Buffer> {
    const { stdout } = await promisify(execFile)(millrace, args, { ...this.#surroundings(), encoding: "buffer" });
    return stdout;
  }

  async json<T>(...args: string[]): Promise<T> {
    return JSON.parse(await this.print(...args, "--json")) as T;
  }

  /** Runs a command that must end with this exit code and print no result; returns its messages. */
  async refused(code: number, ...args: string[]): Promise<string> {
    const result = await this.run(...args);
    assert.deepEqual([result.code, result.stdout], [code, ""], result.stderr);
    assert.match(result.stderr, /^error: \S/m);
    return result.stderr;
  }

  #surroundings() {
    return { cwd: this.path("work"), env: this.env };
  }

  async #dispose(): Promise<void> {
    for (const command of this.#running) command.kill("SIGKILL");
    await Promise.all([...this.#running].map((command) => command.ended()));
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Asserts that a job was followed to its end: exit code as expected, every status once, the log complete. */
export function assertFollowed(result: Result, last: "COMPLETE" | "FAILED" | "CANCELED", log: string): void {
  const { code, stdout, stderr } = result;
  assert.equal(code, { COMPLETE: 0, FAILED: 1, CANCELED: 2 }[last], stderr);
  assert.equal(stdout, log, stderr);
  const told = [...stderr.matchAll(/^Job is (\S+)$/gm)].map(([, status]) => status);
  assert.equal(told.at(-1), last);
  assert.deepEqual([...new Set(told)], told, "no status is told twice");
}

/** The id in `Job ID created: URL`. */
export async function createdJob(run: RunningCommand): Promise<string> {
  const match = await until("a job is created", () => /^Job (\S+) created: /m.exec(run.stderr));
  return match[1] ?? "";
}
