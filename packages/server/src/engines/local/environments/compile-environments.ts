/**
 * Compiles each virtualenv to bytecode after the first job that uses it has started. Jobs cannot write to a virtualenv,
 * so without the bytecode each job would compile every module that it imports. One virtualenv is compiled at a time, at
 * low priority, by the user that owns the team's package cache and can write nowhere else.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { lstatSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import type { WarehouseView } from "../../warehouse-view.ts";

/** Suffix of the file that marks a virtualenv as not compiled yet. The file lists the interpreter and its folders. */
export const compileMark = ".compile";
/** Time limit for compiling one virtualenv, in seconds. Modules that are not compiled by then stay uncompiled. */
const patience = 300;
const isRoot = process.getuid?.() === 0;

export interface CompileOptions {
  readonly envsDir: string;
  /** Returns a command prefix that lets a command access only the paths in `view`. */
  readonly confine: (view: WarehouseView) => string[];
}

interface Uncompiled {
  readonly environment: string;
  /**
   * Path of an interpreter outside the virtualenv. The virtualenv's own interpreter would run start-up code (`.pth`
   * files) of the installed packages.
   */
  readonly python: string;
  readonly folders: string[];
  /** Id of the user that runs the compilation; undefined for the server's own user. */
  readonly keeper: number | undefined;
}

export class CompileEnvironments {
  readonly #options: CompileOptions;
  readonly #script = readFileSync(join(import.meta.dirname, "compile.py"), "utf8");
  readonly #waiting: string[] = [];
  /**
   * Folder of the team whose virtualenv was compiled last. The next virtualenv is one of another team, if any is
   * waiting.
   */
  #team = "";
  #child: ChildProcess | undefined;
  #closed = false;

  constructor(options: CompileOptions) {
    this.#options = options;
  }

  /** Queues the virtualenvs that earlier server processes left uncompiled. */
  addAll(): void {
    for (const team of readdirSync(this.#options.envsDir).filter((name) => /^\d+$/.test(name)))
      for (const name of readdirSync(join(this.#options.envsDir, team)))
        if (name.endsWith(compileMark)) this.add(join(this.#options.envsDir, team, name.slice(0, -compileMark.length)));
  }

  /** Queues a virtualenv. If the virtualenv is already compiled, it is skipped when its turn comes. */
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
    // The keeper must enter the folder of the team's virtualenvs, which is closed to other users.
    const { gid } = lstatSync(dirname(environment));
    const groups = keeper === undefined || gid === 0 ? [] : [gid];
    const view = { group: keeper, groups, readable: folders, writable: [environment] };
    const compile = [python, "-I", "-S", "-c", this.#script, join(environment, "lib")];
    // Hold the shared lock meanwhile: the removal of a virtualenv takes this lock exclusively.
    const command = ["nice", "-n", "19", "timeout", String(patience), ...this.#options.confine(view), ...compile];
    this.#child = spawn("flock", ["-s", "-n", `${environment}.lock`, ...command], {
      stdio: "ignore",
      env: { PATH: "/usr/bin:/bin" },
      // A detached child has its own process group, so that `close` can kill flock with all processes that it started.
      detached: true,
    });
    this.#child.on("error", () => this.#next());
    this.#child.on("exit", () => {
      if (!this.#closed) this.#settle(environment);
      this.#next();
    });
  }

  /**
   * Marks a virtualenv as compiled. Also updates the time of its `.size` file, so that its disk usage is measured
   * again.
   */
  #settle(environment: string): void {
    rmSync(environment + compileMark, { force: true });
    const now = new Date();
    try {
      utimesSync(`${environment}.size`, now, now);
    } catch {
      // The virtualenv was removed meanwhile.
    }
  }

  /**
   * Takes the next virtualenv from the queue, alternating between teams. Skips virtualenvs that were compiled or
   * removed while they waited. Returns undefined if none is left.
   */
  #takeNext(): Uncompiled | undefined {
    while (this.#waiting.length > 0) {
      const other = this.#waiting.findIndex((path) => dirname(path) !== this.#team);
      const [environment = ""] = this.#waiting.splice(Math.max(0, other), 1);
      this.#team = dirname(environment);
      const [python, ...folders] = readMark(environment + compileMark);
      // The owner is read from the virtualenv itself, because the team's package cache may have been removed.
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
      // The process has just exited.
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
