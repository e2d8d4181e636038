/** The folder of an attempt: what the server writes for the supervisor, and what it reads back. */

import { constants } from "node:fs";
import { link, mkdir, open, readFile, rm, stat, unlink, writeFile } from "node:fs/promises";
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

  async make(): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    await mkdir(this.work, { recursive: true, mode: 0o755 });
  }

  async supervisor(): Promise<Supervisor | undefined> {
    const [pid, startTime, bootId] = (await this.#text("supervisor")).trim().split(" ");
    return pid && startTime && bootId ? { pid: Number(pid), startTime, bootId } : undefined;
  }

  /** Who owns the attempt: nobody yet, a supervisor, or a server that withdrew it. */
  async claim(): Promise<"none" | "supervisor" | "server"> {
    try {
      return (await readFile(this.file("claim"), "utf8")) === "" ? "supervisor" : "server";
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return "none";
      throw error;
    }
  }

  /** Takes the attempt away from a supervisor that has not claimed it. False: too late. */
  async claimForServer(): Promise<boolean> {
    const draft = this.file(`claim.${process.pid}`);
    await this.make();
    await writeFile(draft, "server\n");
    try {
      // A hard link appears with its content or not at all, and fails where the name is taken.
      await link(draft, this.file("claim"));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      return (await this.claim()) === "server";
    } finally {
      await unlink(draft);
    }
  }

  async exit(): Promise<Exit | undefined> {
    // Written with one call, but the file exists before its text does: only a whole line counts.
    const match = /^(\d+) (\w+) end\n$/.exec(await this.#text("exit"));
    if (!match) return undefined;
    const { mtimeMs } = await stat(this.file("exit"));
    return { code: Number(match[1]), phase: String(match[2]), finishedAt: mtimeMs };
  }

  /** A phase begins when its marker is made and ends when the next begins or the attempt does. */
  async steps(exit: Exit | undefined): Promise<Step[]> {
    const begun: { phase: Phase; at: number }[] = [];
    for (const phase of phases) {
      const at = await stat(this.file(`step.${phase}`)).then(
        (s) => s.mtimeMs,
        () => undefined,
      );
      if (at !== undefined) begun.push({ phase, at });
    }
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
  async metrics(): Promise<string | null> {
    const limit = 64 * 1024;
    try {
      // The job may have put anything here: no link is followed, no pipe waited for, no flood read.
      const file = await open(
        join(this.work, metricsFile),
        constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
      );
      try {
        const { size } = await file.stat().then((s) => (s.isFile() ? s : { size: limit + 1 }));
        if (size > limit) return null;
        const text = await file.readFile("utf8");
        const value: unknown = JSON.parse(text);
        return typeof value === "object" && value !== null && !Array.isArray(value) ? JSON.stringify(value) : null;
      } finally {
        await file.close();
      }
    } catch {
      return null;
    }
  }

  /** Everything but the log and the records; what is secret goes first. */
  async clean(): Promise<void> {
    for (const name of ["env", "plan", "requirements.txt", "cancel", "query", "venv", "own-env", "work"]) {
      await rm(this.file(name), { recursive: true, force: true });
    }
  }

  async #text(name: string): Promise<string> {
    return readFile(this.file(name), "utf8").catch(() => "");
  }
}

export const metricsFile = ".millrace-metrics.json";
