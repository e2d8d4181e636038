/** Where one product runs: its folder and its processes. Nothing of it is left when the stage is closed. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { below, childrenOf, proportionalMegabytes } from "./processes.ts";

const hold = join(import.meta.dirname, "python/hold.py");

/** Milliseconds that a program has to end by itself. */
const patience = 10_000;

export type Environment = Readonly<Record<string, string>>;

/** A program below `hold.py`. */
interface Held {
  readonly name: string;
  readonly child: ChildProcess;
}

export class Stage {
  readonly folder: string;
  readonly #held: Held[] = [];
  readonly #clients: ChildProcess[] = [];
  /** Our own processes, which do not count as the product's. */
  readonly #ours = new Set<number>();
  #isClosed = false;

  static async open(): Promise<Stage> {
    const folder = await mkdtemp(join(tmpdir(), "millrace-peer-"));
    await chmod(folder, 0o755);
    await mkdir(join(folder, "tmp"));
    return new Stage(folder);
  }

  private constructor(folder: string) {
    this.folder = folder;
  }

  path(...parts: string[]): string {
    return join(this.folder, ...parts);
  }

  /** Starts a program of the product; its output goes to NAME.out in the folder, and replaces that of an earlier start. */
  run(name: string, command: readonly string[], env: Environment = {}): void {
    const output = openSync(this.path(`${name}.out`), "w");
    const child = spawn("python3", [hold, ...command], {
      cwd: this.folder,
      env: this.#environment(env),
      stdio: ["ignore", output, output],
    });
    closeSync(output);
    this.#held.push({ name, child });
    this.#isOurs(child);
  }

  /** Runs a program of the product to its end, and returns its output. */
  async runToEnd(command: readonly string[], env: Environment = {}): Promise<string> {
    const [program = "", ...words] = command;
    const options = { cwd: this.folder, env: this.#environment(env), timeout: 300_000, maxBuffer: 64 * 1024 ** 2 };
    return (await promisify(execFile)(program, words, options)).stdout;
  }

  /** Waits until `ready` holds. Rejects if one of the programs has ended, or if the stage is closed. */
  async until(ready: () => Promise<boolean>): Promise<void> {
    while (!(await ready().catch(() => false))) {
      if (this.#isClosed) throw new Error("given up");
      const dead = this.#held.find(({ child }) => child.exitCode !== null || child.signalCode !== null);
      if (dead) throw new Error(`${dead.name} ended: ${(await this.outputOf(dead.name)).slice(-300)}`);
      await sleep(50);
    }
  }

  async outputOf(name: string): Promise<string> {
    return readFile(this.path(`${name}.out`), "utf8").catch(() => "");
  }

  /** The last lines of everything that the programs wrote, for a failure. */
  async lastOutputs(): Promise<string> {
    const files = (await readdir(this.folder)).filter((name) => name.endsWith(".out"));
    const texts = files.map(async (name) => `${name}: ${(await readFile(this.path(name), "utf8")).slice(-1500)}`);
    return (await Promise.all(texts)).join("\n");
  }

  /** Starts a program of the measurement, which does not count as the product's. */
  client(command: readonly string[], env: Environment = {}): ChildProcess {
    const [program = "", ...words] = command;
    const errors = openSync(this.path("client.out"), "a");
    const child = spawn(program, words, {
      cwd: this.folder,
      env: this.#environment(env),
      stdio: ["pipe", "pipe", errors],
    });
    closeSync(errors);
    this.#clients.push(child);
    this.#isOurs(child);
    return child;
  }

  /** Megabytes of all processes of the product: everything below this process that is not ours. */
  async memory(): Promise<number> {
    const theirs = (await below(process.pid)).filter((pid) => !this.#ours.has(pid));
    return proportionalMegabytes(theirs);
  }

  /** Ends the programs of the product, the newest first, as an operator would; kills what does not end. */
  async stop(): Promise<void> {
    for (const { child } of this.#held.splice(0).reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, "exit");
      for (const pid of await childrenOf(child.pid as number)) process.kill(pid, "SIGTERM");
      const impatient = setTimeout(() => child.kill("SIGTERM"), patience);
      await ended;
      clearTimeout(impatient);
    }
  }

  endClients(): void {
    for (const child of this.#clients.splice(0)) child.kill("SIGKILL");
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.endClients();
    await this.stop();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Temporary files go where they are removed with the rest, and the folder of our programs stays clean. */
  #environment(env: Environment): NodeJS.ProcessEnv {
    return { ...process.env, TMPDIR: this.path("tmp"), PYTHONDONTWRITEBYTECODE: "1", ...env };
  }

  #isOurs(child: ChildProcess): void {
    if (child.pid !== undefined) this.#ours.add(child.pid);
  }
}
