/**
 * The folder of an attempt: what the server writes for the supervisor, and what it reads back. Synchronous, but for the
 * cleaning: a few tiny files on a local disk. On a machine that is busy with jobs, each way through the thread pool
 * waits for a core, and a job waited several times before it began.
 */
import { execFile } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Step } from "@millrace/contract";
import type { Exit, Python } from "../../engine.ts";
import type { Group } from "../processes/cgroups.ts";
import type { Identity } from "../processes/processes.ts";

/** In the order in which they run; names of files and of functions in a plan. */
export const phases = ["repository", "files", "environment", "datasets", "query"] as const;
export type Phase = (typeof phases)[number];

const labels: Record<Phase, string> = {
  repository: "Clone the repository",
  files: "Place the files",
  environment: "Prepare the environment",
  datasets: "Open the team's datasets",
  query: "Run the query",
};

export interface Supervisor extends Identity {
  readonly bootId: string;
}

/** The namespace of a sandbox: its number, and its first process. */
interface SandboxInfo {
  readonly pid: number;
  readonly namespace: string;
}

/** What stays when the rest is cleaned away. */
const kept = /^(claim|supervisor|log|exit|limit|usage|step\..*)$/;

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

  get key(): string {
    return basename(this.path);
  }

  file(name: string): string {
    return join(this.path, name);
  }

  /** Only for the server. */
  make(): void {
    makeFolder(this.path, 0o700);
  }

  /**
   * The folders that the job finds: input to read, work and tmp to write. A user of its own must be able to pass the
   * attempt's folder, and nobody else's user may look into these.
   */
  makeInside(uid: number | undefined, withTmp: boolean): void {
    const folders = [
      ["input", uid === undefined ? 0o700 : 0o750] as const,
      ["work", 0o700] as const,
      ...(withTmp ? [["tmp", 0o700] as const] : []),
    ];
    if (uid !== undefined) chmodSync(this.path, 0o711);
    for (const [name, mode] of folders) {
      makeFolder(this.file(name), mode);
      if (uid !== undefined) chownSync(this.file(name), name === "input" ? 0 : uid, uid);
    }
  }

  /** The user that the attempt runs as: the owner of its working folder. */
  owner(): number {
    return lstatSync(this.work, { throwIfNoEntry: false })?.uid ?? -1;
  }

  /** Puts a file of the server's where the job can read it: as a second name for it, where that is enough. */
  place(path: string, name: string): void {
    const input = this.file(join("input", name));
    const { mode } = statSync(path);
    try {
      if ((mode & 0o444) !== 0o444) throw new Error("not for everybody to read");
      linkSync(path, input);
    } catch {
      copyFileSync(path, input);
      chmodSync(input, 0o444);
    }
  }

  /** For the server alone. */
  write(name: string, text: string): void {
    writeFileSync(this.file(name), text, { mode: 0o600 });
  }

  /** A file that says all by being there. Without room for a name it is left out: whoever marks does more than that. */
  mark(name: string): void {
    try {
      this.write(name, "");
    } catch (error) {
      if (codeOf(error) !== "ENOSPC" && codeOf(error) !== "EDQUOT") throw error;
    }
  }

  /** A folder of input. */
  makeInput(name: string, uid: number | undefined): void {
    const path = this.file(join("input", name));
    makeFolder(path, uid === undefined ? 0o700 : 0o750);
    if (uid !== undefined) chownSync(path, 0, uid);
  }

  /** For the job to read. */
  writeInput(name: string, text: string, uid: number | undefined): void {
    const path = this.file(join("input", name));
    writeFileSync(path, text, { mode: uid === undefined ? 0o700 : 0o750 });
    if (uid !== undefined) chownSync(path, 0, uid);
  }

  /** Files by their path, each folder of which is new and comes before those inside it. */
  writeInputFiles(files: Readonly<Record<string, string>>, uid: number | undefined): void {
    for (const name of new Set(Object.keys(files).map((path) => dirname(path)))) this.makeInput(name, uid);
    for (const [name, text] of Object.entries(files)) this.writeInput(name, text, uid);
  }

  /** The job's own, before anything of it has run. */
  writeScript(name: string, text: string, uid: number | undefined): void {
    const path = join(this.work, name);
    writeFileSync(path, text, { mode: 0o755 });
    if (uid !== undefined) chownSync(path, uid, uid);
  }

  supervisor(): Supervisor | undefined {
    const [pid, startTime, bootId] = this.#text("supervisor").trim().split(" ");
    return pid && startTime && bootId ? { pid: Number(pid), startTime, bootId } : undefined;
  }

  /** The sandbox of the present phase; undefined: none, or not yet. */
  sandbox(): SandboxInfo | undefined {
    const text = this.#text("sandbox");
    const pid = /"child-pid": (\d+)/.exec(text)?.[1];
    const namespace = /"pid-namespace": (\d+)/.exec(text)?.[1];
    return pid && namespace ? { pid: Number(pid), namespace } : undefined;
  }

  /** One was begun and did not come about, as on a full disk. */
  hasHalfSandbox(): boolean {
    return existsSync(this.file("sandbox")) && this.sandbox() === undefined;
  }

  /** The environment that it runs in; empty: none, or not yet. */
  venv(): string {
    return this.#text("venv").trim();
  }

  /** The environment that is built for it, and the bytes of its team's cache before, where it is built from one. */
  building(): { readonly environment: string; readonly cacheBytes: number | undefined } | undefined {
    const [environment, bytes] = this.#text("building").trim().split("\n");
    if (!environment) return undefined;
    return { environment, cacheBytes: bytes === undefined ? undefined : Number(bytes) };
  }

  /** The control group of the attempt; undefined: it has none. */
  group(): Group | undefined {
    const [name, oomKills, cpuSeconds] = this.#text("group").split(" ");
    return name ? { name, oomKills: Number(oomKills), cpuSeconds: Number(cpuSeconds) } : undefined;
  }

  /** Which interpreter works with the team's datasets, unless the environment has one. */
  writePython(python: Python): void {
    this.write("python", JSON.stringify(python));
  }

  /** The interpreter that works with the team's datasets; null: none does, or the environment is not there yet. */
  python(): Python | null {
    const text = this.#text("python");
    const venv = this.venv();
    if (text === "") return null;
    const { path, folders } = JSON.parse(text) as Python;
    return venv === "" ? { path, folders } : { path: join(venv, "bin/python"), folders: [venv, ...folders] };
  }

  /** Why the attempt was made to end; empty: it was not. */
  limit(): string {
    return this.#text("limit");
  }

  /** When the supervisor began; undefined: it has not. */
  begunAt(): number | undefined {
    return statSync(this.file("claim"), { throwIfNoEntry: false })?.mtimeMs;
  }

  logSize(): number {
    return statSync(this.log, { throwIfNoEntry: false })?.size ?? 0;
  }

  cutLog(size: number): void {
    truncateSync(this.log, size);
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
    // The supervisor keeps room for it from the start, as blanks, so that a full disk cannot keep it from being written.
    const match = /^(\d+) (\w+) end\n\s*$/.exec(this.#text("exit"));
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
      if (!fstatSync(file).isFile()) throw new Error("not a plain file");
      const bytes = Buffer.alloc(limit + 1);
      const length = readSync(file, bytes, 0, limit + 1, 0);
      if (length > limit) throw new Error("not a small file");
      return bytes.toString("utf8", 0, length);
    } finally {
      closeSync(file);
    }
  }

  /** Everything but the log and the records. */
  async clean(): Promise<void> {
    // An attempt that ended before it was handed over has none.
    if (!existsSync(this.path)) return;
    const left = (await readdir(this.path)).filter((name) => !kept.test(name));
    await Promise.all(left.map((name) => removeTree(this.file(name))));
  }

  remove(): Promise<void> {
    return removeTree(this.path);
  }

  /** Only a file that is not there is empty; a disk that cannot be read is no answer. */
  #text(name: string): string {
    // Asked first: most are not there most of the time, and an error costs ten times the question.
    if (!existsSync(this.file(name))) return "";
    try {
      return readFileSync(this.file(name), "utf8");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return "";
      throw error;
    }
  }
}

/** What a job left may be deeper than a path can say, and closed to its own owner; no link in it is followed. */
async function removeTree(path: string): Promise<void> {
  if (isSmall(path)) return rm(path, { recursive: true, force: true });
  const run = promisify(execFile);
  const words = ["-rf", "--one-file-system", "--", path];
  await run("rm", words).catch(async () => {
    await run("chmod", ["-R", "u+rwx", "--", path]).catch(() => {});
    await run("rm", words);
  });
}

/**
 * A file, or a folder without folders in it whose own size tells of few entries. What is more is removed by a program of
 * its own: in here, a million files would hold up everything else.
 */
function isSmall(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return !found?.isDirectory() || (found.nlink <= 2 && found.size <= 16 * 1024 && (found.mode & 0o700) === 0o700);
}

function makeFolder(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;
