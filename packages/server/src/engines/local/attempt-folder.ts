/**
 * The folder of an attempt: what the server writes for the supervisor, and what it reads back. Synchronous, but for the
 * cleaning: a few tiny files on a local disk. On a machine that is busy with jobs, each way through the thread pool
 * waits for a core, and a job waited several times before it began.
 */
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Step } from "@millrace/contract";
import type { Exit } from "../engine.ts";

/** In the order in which they run; names of files and of functions in a plan. */
export const phases = ["repository", "files", "environment", "query"] as const;
export type Phase = (typeof phases)[number];

const labels: Record<Phase, string> = {
  repository: "Clone the repository",
  files: "Place the files",
  environment: "Prepare the environment",
  query: "Run the query",
};

export interface Supervisor {
  readonly pid: number;
  /** In clock ticks since boot, as in /proc. Pids are used again; the two together are not. */
  readonly startTime: string;
  readonly bootId: string;
}

/** What stays when the rest is cleaned away. */
const kept = /^(claim|supervisor|log|exit|step\..*)$/;

export const metricsFile = ".millrace-metrics.json";
const metricsLimit = 64 * 1024;

export class AttemptFolder {
  readonly path: string;
  readonly work: string;
  readonly log: string;

  constructor(jobsDir: string, key: string) {
    this.path = join(jobsDir, key);
    this.work = join(this.path, "work");
    this.log = join(this.path, "log");
  }

  file(name: string): string {
    return join(this.path, name);
  }

  make(): void {
    for (const [path, mode] of [[this.path, 0o700] as const, [this.work, 0o755] as const]) {
      try {
        mkdirSync(path, { mode });
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error;
      }
    }
  }

  write(name: string, text: string, mode = 0o600): void {
    writeFileSync(this.file(name), text, { mode });
  }

  supervisor(): Supervisor | undefined {
    const [pid, startTime, bootId] = this.#text("supervisor").trim().split(" ");
    return pid && startTime && bootId ? { pid: Number(pid), startTime, bootId } : undefined;
  }

  /** Who owns the attempt: nobody yet, a supervisor, or a server that withdrew it. */
  claim(): "none" | "supervisor" | "server" {
    try {
      return readFileSync(this.file("claim"), "utf8") === "" ? "supervisor" : "server";
    } catch (error) {
      if (codeOf(error) === "ENOENT") return "none";
      throw error;
    }
  }

  /** Takes the attempt away from a supervisor that has not claimed it. False: too late. */
  claimForServer(): boolean {
    const draft = this.file(`claim.${process.pid}`);
    this.make();
    writeFileSync(draft, "server\n");
    try {
      // A hard link appears with its content or not at all, and fails where the name is taken.
      linkSync(draft, this.file("claim"));
      return true;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      return this.claim() === "server";
    } finally {
      unlinkSync(draft);
    }
  }

  exit(): Exit | undefined {
    // Written with one call, but the file exists before its text does: only a whole line counts.
    const match = /^(\d+) (\w+) end\n$/.exec(this.#text("exit"));
    if (!match) return undefined;
    const { mtimeMs } = statSync(this.file("exit"));
    return { code: Number(match[1]), phase: String(match[2]), finishedAt: mtimeMs };
  }

  /** A phase begins when its marker is made and ends when the next begins or the attempt does. */
  steps(exit: Exit | undefined): Step[] {
    const begun = phases.flatMap((phase) => {
      const marker = statSync(this.file(`step.${phase}`), { throwIfNoEntry: false });
      return marker ? [{ phase, at: marker.mtimeMs }] : [];
    });
    return begun.map(({ phase, at }, index) => {
      const end = begun[index + 1]?.at ?? exit?.finishedAt;
      return {
        name: phase,
        label: labels[phase],
        started_at: new Date(at).toISOString(),
        finished_at: end === undefined ? null : new Date(end).toISOString(),
      };
    });
  }

  /** What the job left as its metrics: a small JSON object in a plain file, or nothing. */
  metrics(): string | null {
    try {
      const value: unknown = JSON.parse(this.#readUntrusted(join(this.work, metricsFile), metricsLimit));
      return typeof value === "object" && value !== null && !Array.isArray(value) ? JSON.stringify(value) : null;
    } catch {
      return null;
    }
  }

  /** The job may have put anything here: no link is followed, no pipe waited for, no flood read. */
  #readUntrusted(path: string, limit: number): string {
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const { size } = fstatSync(file);
      if (!fstatSync(file).isFile() || size > limit) throw new Error("not a small file");
      return readFileSync(file, "utf8");
    } finally {
      closeSync(file);
    }
  }

  /** Everything but the log and the records. */
  async clean(): Promise<void> {
    const left = (await readdir(this.path)).filter((name) => !kept.test(name));
    await Promise.all(left.map((name) => rm(this.file(name), { recursive: true, force: true })));
  }

  /** Only a file that is not there is empty; a disk that cannot be read is no answer. */
  #text(name: string): string {
    try {
      return readFileSync(this.file(name), "utf8");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return "";
      throw error;
    }
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;
