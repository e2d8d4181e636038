/** The starter: one small shell that forks supervisors, replaced when it dies. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import { createInterface } from "node:readline";

const jobNiceness = 5;

/**
 * Descriptors that whoever started the server left open would reach every job: a pipe, a socket, a file. In their place
 * jobs find nothing. For the numbers from 3 on.
 */
function instead(nothing: number): (number | "ignore")[] {
  const inherited = readdirSync("/proc/self/fd")
    .map(Number)
    .filter((fd) => fd > 2 && staysOpen(fd));
  const count = Math.max(2, ...inherited) - 2;
  return Array.from({ length: count }, (_, index) => (inherited.includes(index + 3) ? nothing : "ignore"));
}

/** Whether a program that is started gets it. */
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
  /** Words in front of it, for what holds for all that it starts. */
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

  /** Hands over a folder. Whether a supervisor came of it is told by the folder, not by this call. */
  start(folder: string): void {
    this.#child ??= this.#spawn();
    this.#child.stdin?.write(`${folder}\n`);
  }

  #spawn(): ChildProcess {
    const nothing = openSync("/dev/null", "r+");
    // Detached: a session of its own, so that what stops the server from a terminal does not stop the jobs.
    const [program = "", ...words] = [...this.#startWith, "/bin/sh", this.#script, ...this.#arguments];
    const child = spawn(program, words, {
      stdio: ["pipe", "pipe", "ignore", ...instead(nothing)],
      detached: true,
      env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
    });
    closeSync(nothing);
    // Jobs step back a little, so that the server answers however busy they keep the machine.
    // Only root may raise what is lower already: a server that was started with less is polite enough.
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

  /** Starts nothing more; what runs goes on. */
  close(): void {
    this.#closed = true;
    this.#child?.stdin?.end();
    this.#child?.stdout?.destroy();
    this.#child?.unref();
  }
}
