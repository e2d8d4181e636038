/**
 * Installs uv into the data folder in the background, so that the first job with requirements need not wait for it. The
 * job waits for an installation that is under way, and tries again after one that failed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Interpreters } from "./interpreters.ts";
import type { Toolbox } from "./plan-input.ts";

export class EarlyUv {
  readonly #tools: Pick<Toolbox, "uv" | "ownUv">;
  readonly #interpreters: Interpreters;
  readonly #settings: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  #closed = false;

  /** `settings` are the operator's settings for jobs. */
  constructor(
    tools: Pick<Toolbox, "uv" | "ownUv">,
    interpreters: Interpreters,
    settings: Readonly<Record<string, string>>,
  ) {
    this.#tools = tools;
    this.#interpreters = interpreters;
    this.#settings = settings;
  }

  /** Begins the installation, unless the machine has uv, or has no Python. */
  async install(): Promise<void> {
    const { uv, ownUv } = this.#tools;
    if (uv !== undefined || !ownUv) return;
    const { folder, version, list, script } = ownUv;
    if (existsSync(join(folder, `uv-${version}`))) return;
    const python = await this.#interpreters.resolve(null).catch(() => undefined);
    if (!python || this.#closed) return;
    const words = [join(dirname(script), "early-uv.sh"), folder, version, list, python.path, script];
    this.#child = spawn("nice", ["-n", "5", "/bin/sh", ...words], {
      stdio: "ignore",
      cwd: folder,
      env: { PATH: "/usr/local/bin:/usr/bin:/bin", ...this.#settings },
      // A detached child has its own process group, so that `close` can kill all processes that it started.
      detached: true,
    });
    this.#child.on("error", () => {});
  }

  /** Ends an installation that is under way. What it has written is removed by the next one. */
  close(): void {
    this.#closed = true;
    try {
      if (this.#child?.pid !== undefined && this.#child.exitCode === null) process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // The process has just exited.
    }
  }
}
