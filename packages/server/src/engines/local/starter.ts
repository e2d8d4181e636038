/** The starter: one small shell that forks supervisors, replaced when it dies. */
import { type ChildProcess, spawn } from "node:child_process";
import { setPriority } from "node:os";
import { createInterface } from "node:readline";

const jobNiceness = 5;

export class Starter {
  readonly #script: string;
  readonly #arguments: readonly string[];
  readonly #onChange: (folder: string, what: string) => void;
  #child: ChildProcess | undefined;
  #closed = false;

  constructor(script: string, args: readonly string[], onChange: (folder: string, what: string) => void) {
    this.#script = script;
    this.#arguments = args;
    this.#onChange = onChange;
  }

  /** Hands over a folder. Whether a supervisor came of it is told by the folder, not by this call. */
  start(folder: string): void {
    this.#child ??= this.#spawn();
    this.#child.stdin?.write(`${folder}\n`);
  }

  #spawn(): ChildProcess {
    // Detached: a session of its own, so that what stops the server from a terminal does not stop the jobs.
    const child = spawn("/bin/sh", [this.#script, ...this.#arguments], {
      stdio: ["pipe", "pipe", "ignore"],
      detached: true,
      env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
    });
    // Jobs step back a little, so that the server answers however busy they keep the machine.
    if (child.pid !== undefined) setPriority(child.pid, jobNiceness);
    const forget = () => {
      if (this.#child === child) this.#child = undefined;
    };
    child.on("exit", forget);
    child.on("error", forget);
    child.stdin?.on("error", forget);
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      const space = line.indexOf(" ");
      if (!this.#closed) this.#onChange(line.slice(space + 1), line.slice(0, space));
    });
    return child;
  }

  /** Starts nothing more; what runs goes on. */
  close(): void {
    this.#closed = true;
    this.#child?.stdin?.end();
    this.#child?.stdout?.destroy();
    this.#child?.unref();
  }
}
