/**
 * The starter: a small shell process that forks a supervisor for each attempt. If the starter dies, a new one is
 * started.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import { createInterface } from "node:readline";

const jobNiceness = 5;

/**
 * Returns the `stdio` entries of the starter from descriptor 3 on. A descriptor that the server itself inherited, such
 * as a pipe, would also be inherited by every job, so it is replaced by /dev/null (`nothing`).
 */
function instead(nothing: number): (number | "ignore")[] {
  const inherited = readdirSync("/proc/self/fd")
    .map(Number)
    .filter((fd) => fd > 2 && staysOpen(fd));
  const count = Math.max(2, ...inherited) - 2;
  return Array.from({ length: count }, (_, index) => (inherited.includes(index + 3) ? nothing : "ignore"));
}

/** Whether child processes inherit this file descriptor, because its close-on-exec flag is not set. */
function staysOpen(fd: number): boolean {
  try {
    const flags = /^flags:\t(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))?.[1] ?? "0";
    return (Number.parseInt(flags, 8) & 0o2000000) === 0;
  } catch {
    return false;
  }
}

export interface StarterOptions {
  readonly script: string;
  readonly args: readonly string[];
  /**
   * Command prefix of the starter. It can set resource limits, for example, which all jobs inherit from the starter.
   */
  readonly startWith: readonly string[];
  readonly onChange: (folder: string, what: string) => void;
}

export class Starter {
  readonly #script: string;
  readonly #arguments: readonly string[];
  readonly #startWith: readonly string[];
  readonly #onChange: (folder: string, what: string) => void;
  #child: ChildProcess | undefined;
  #closed = false;

  constructor({ script, args, startWith, onChange }: StarterOptions) {
    this.#script = script;
    this.#arguments = args;
    this.#startWith = startWith;
    this.#onChange = onChange;
  }

  /**
   * Asks the starter to start the attempt in this folder. Gets no answer: the files in the folder show whether a
   * supervisor started.
   */
  start(folder: string): void {
    this.#child ??= this.#spawn();
    this.#child.stdin?.write(`${folder}\n`);
  }

  /** Asks the starter to start an interpreter that waits for an attempt, in this folder. */
  startWaiting(folder: string): void {
    this.start(`waiting ${folder}`);
  }

  #spawn(): ChildProcess {
    const nothing = openSync("/dev/null", "r+");
    // A detached child has its own session, so that Ctrl-C in the server's terminal does not stop the jobs.
    const [program = "", ...words] = [...this.#startWith, "/bin/sh", this.#script, ...this.#arguments];
    const child = spawn(program, words, {
      stdio: ["pipe", "pipe", "ignore", ...instead(nothing)],
      detached: true,
      env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
    });
    closeSync(nothing);
    // Lower the priority of jobs, so that the server still responds on a busy machine. If the server itself already runs at
    // a lower priority, leave it: only root may raise a priority.
    if (child.pid !== undefined && getPriority() < jobNiceness) setPriority(child.pid, jobNiceness);
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

  /** Starts no more attempts. Running attempts continue. */
  close(): void {
    this.#closed = true;
    this.#child?.stdin?.end();
    this.#child?.stdout?.destroy();
    this.#child?.unref();
  }
}
