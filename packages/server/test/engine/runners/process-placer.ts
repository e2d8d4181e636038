/**
 * A FAKE placer: it starts runners as processes beside the server, where a real one (Slurm, Kubernetes, Ray) has
 * machines. Everything else is real: the runner, its protocol, its phases. Like a real cluster it kills what a dead
 * runner leaves behind.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Placed, Placement, Placer } from "../../../src/engines/runners/placer.ts";
import { identityOf, markedProcesses } from "../remote/marked-processes.ts";

const killIfAlive = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
};

export class ProcessPlacer implements Placer {
  readonly #folder: string;
  readonly #delay: number;

  /** `delay`: seconds that a placed runner waits before it starts. */
  constructor(folder: string, delay = 0) {
    this.#folder = folder;
    this.#delay = delay;
  }

  static folder = () => mkdtempSync(join(tmpdir(), "millrace-placed-"));

  async place({ key, runner, variables }: Placement): Promise<string> {
    const command = `sleep ${this.#delay}; exec python3 -I -c "$RUNNER"`;
    // The folders of runners that are killed stay, and go with the placer's own.
    const folder = join(this.#folder, "runners");
    mkdirSync(folder, { recursive: true });
    const env = { PATH: process.env["PATH"], RUNNER: runner, MILLRACE_RUNNER_FOLDER: folder, ...variables };
    const child = spawn("/bin/sh", ["-c", command], { env, detached: true, stdio: "ignore" });
    child.unref();
    writeFileSync(join(this.#folder, `${key}.${child.pid}`), identityOf(child.pid ?? 0) ?? "gone");
    return String(child.pid);
  }

  async list(): Promise<Map<string, Placed>> {
    const placed = new Map<string, Placed>();
    for (const name of this.#names()) {
      const key = name.slice(0, name.lastIndexOf("."));
      if (this.#isAlive(name) || !this.#isClear(key)) placed.set(key, { isRunning: true, reason: "" });
      else rmSync(join(this.#folder, name));
    }
    return placed;
  }

  /** Names of the files of placed runners. */
  #names = () => readdirSync(this.#folder).filter((name) => name !== "runners");

  #isAlive(name: string): boolean {
    const known = readFileSync(join(this.#folder, name), "utf8");
    return identityOf(Number.parseInt(known, 10)) === known;
  }

  /** Kills what a dead runner left behind. Returns true once nothing is left: neither of the job nor on its way there. */
  #isClear(key: string): boolean {
    // In this order: a process that the runner has just forked still has its mark, and then gets that of the job.
    const marks = ["MILLRACE_RUNNER_KEY", "MILLRACE_ATTEMPT"].map((variable) => markedProcesses(key, variable));
    for (const { pids } of marks) for (const pid of pids) killIfAlive(pid);
    return marks.every(({ pids, isUnclear }) => pids.length === 0 && !isUnclear);
  }

  /** Kills every runner that is left, also one that has not started, and deletes the folder. */
  end(): void {
    for (const name of this.#names()) if (this.#isAlive(name)) process.kill(-Number(name.split(".").at(-1)), "SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  runners = (key: string): number[] =>
    this.#names().flatMap((name) => (name.startsWith(`${key}.`) ? Number(name.split(".").at(-1)) : []));

  async remove(key: string): Promise<void> {
    for (const pid of this.runners(key)) if (this.#isAlive(`${key}.${pid}`)) process.kill(pid, "SIGTERM");
  }

  close = async () => {};
}
