/**
 * Compiles environments to bytecode once the first job that needed them may have begun: jobs cannot write there, so
 * without it each would compile every module that it imports, every time. One after another, with low priority, by the
 * keeper of the team's environments, who can change nothing else.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { lstatSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import type { WarehouseView } from "../../warehouse-view.ts";

/** Beside an environment that is still to be compiled: its interpreter, and the folders of that, one a line. */
export const compileMark = ".compile";
/** Seconds; what is not done by then stays as it is. */
const patience = 300;
const isRoot = process.getuid?.() === 0;

export interface CompileOptions {
  readonly envsDir: string;
  /** Words in front of a command that give it this view. */
  readonly confine: (view: WarehouseView) => string[];
}

interface Uncompiled {
  readonly environment: string;
  /** Not the environment's own: that would run what its packages ask to be run at each start. */
  readonly python: string;
  readonly folders: string[];
  /** Undefined: the server's own user. */
  readonly keeper: number | undefined;
}

export class CompileEnvironments {
  readonly #options: CompileOptions;
  readonly #script = readFileSync(join(import.meta.dirname, "compile.py"), "utf8");
  readonly #waiting: string[] = [];
  /** Whose turn it was last. */
  #team = "";
  #child: ChildProcess | undefined;
  #closed = false;

  constructor(options: CompileOptions) {
    this.#options = options;
  }

  /** Those that a server before this one did not come to. */
  addAll(): void {
    for (const team of readdirSync(this.#options.envsDir).filter((name) => /^\d+$/.test(name)))
      for (const name of readdirSync(join(this.#options.envsDir, team)))
        if (name.endsWith(compileMark)) this.add(join(this.#options.envsDir, team, name.slice(0, -compileMark.length)));
  }

  /** Nothing where it is compiled already. */
  add(environment: string): void {
    if (this.#closed || this.#waiting.includes(environment)) return;
    this.#waiting.push(environment);
    if (!this.#child) this.#next();
  }

  #next(): void {
    this.#child = undefined;
    const next = this.#closed ? undefined : this.#takeNext();
    if (next === undefined) return;
    const { environment, python, folders, keeper } = next;
    const view = { group: keeper, readable: folders, writable: [environment] };
    const compile = [python, "-I", "-S", "-c", this.#script, join(environment, "lib")];
    // Under the lock that whoever removes it takes alone.
    const command = ["nice", "-n", "19", "timeout", String(patience), ...this.#options.confine(view), ...compile];
    this.#child = spawn("flock", ["-s", "-n", `${environment}.lock`, ...command], {
      stdio: "ignore",
      env: { PATH: "/usr/bin:/bin" },
      // A group of its own: what flock started ends with it.
      detached: true,
    });
    this.#child.on("error", () => this.#next());
    this.#child.on("exit", () => {
      if (!this.#closed) this.#settle(environment);
      this.#next();
    });
  }

  /** It is larger now: whoever counts looks at the time of its size. */
  #settle(environment: string): void {
    rmSync(environment + compileMark, { force: true });
    const now = new Date();
    try {
      utimesSync(`${environment}.size`, now, now);
    } catch {
      // It was removed meanwhile.
    }
  }

  /** Teams in turn. Those that somebody else compiled, or removed, are passed over. */
  #takeNext(): Uncompiled | undefined {
    while (this.#waiting.length > 0) {
      const other = this.#waiting.findIndex((path) => dirname(path) !== this.#team);
      const [environment = ""] = this.#waiting.splice(Math.max(0, other), 1);
      this.#team = dirname(environment);
      const [python, ...folders] = readMark(environment + compileMark);
      // Its own folder tells whose it is: the cache that it came from may be gone.
      const owner = lstatSync(environment, { throwIfNoEntry: false })?.uid;
      if (python !== undefined && owner !== undefined)
        return { environment, python, folders, keeper: isRoot && owner ? owner : undefined };
    }
    return undefined;
  }

  close(): void {
    this.#closed = true;
    try {
      if (this.#child?.pid !== undefined) process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // It has just ended.
    }
  }
}

function readMark(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n").filter(Boolean);
  } catch {
    return [];
  }
}
