/**
 * The folder of an attempt. The server writes files there for the supervisor and reads back files that the supervisor
 * wrote. All methods except `clean` are synchronous, because the files are tiny and on a local disk. On a machine that
 * is busy with jobs, every asynchronous call would wait for a core and delay the start of a job.
 */
import { execFile } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { readdir, rm, rmdir, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Step } from "@millrace/contract";
import type { Exit } from "../../engine.ts";
import { phases, stepsOf } from "../../phases/steps.ts";
import type { Python } from "../../warehouse-view.ts";
import type { Group } from "../processes/cgroups.ts";
import type { Identity } from "../processes/processes.ts";

export interface Supervisor extends Identity {
  readonly bootId: string;
  /** When the attempt began, in clock ticks since boot. Later than the start time if the supervisor waited for it. */
  readonly began: string;
}

/** The PID namespace of a sandbox: its inode number, and the process id of its first process. */
interface SandboxInfo {
  readonly pid: number;
  readonly namespace: string;
}

/** Name of the file that describes the sandbox of the interpreter that waited for the attempt. */
const waitingSandbox = "sandbox.waiting";

/** Matches the names of files that the cleanup of an ended attempt keeps. */
const kept = /^(claim|supervisor|log|exit|limit|usage|step\..*)$/;

export const metricsFile = ".millrace-metrics.json";
const metricsLimit = 64 * 1024;

export class AttemptFolder {
  readonly path: string;
  readonly work: string;
  readonly log: string;

  constructor(jobsDir: string, key: string) {
    // Without `join`, which would check each path again: a job needs dozens of them.
    this.path = `${jobsDir}/${key}`;
    this.work = `${this.path}/work`;
    this.log = `${this.path}/log`;
  }

  get key(): string {
    return basename(this.path);
  }

  file(name: string): string {
    return `${this.path}/${name}`;
  }

  /** Creates the attempt's folder, accessible only to the server. */
  make(): void {
    makeFolder(this.path, 0o700);
  }

  /**
   * Creates the folder `input`, which the job may read, and the folders `work` and `tmp`, which it may write. If the
   * job has its own user id, only that user and the server can read these folders, and the user may traverse the
   * attempt's folder to reach them.
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

  /**
   * Takes over the files of an interpreter that has waited for this attempt. Its sandbox keeps the folders, because it
   * has mounted them. The working folder comes last: its owner decides which attempt has the user id. If something cannot
   * be moved, deletes what was moved, and throws.
   */
  adopt(waiting: AttemptFolder): void {
    const moves = { sandbox: waitingSandbox, log: "log", group: "group", input: "input", tmp: "tmp", work: "work" };
    try {
      for (const [name, to] of Object.entries(moves))
        if (name !== "group" || existsSync(waiting.file(name))) renameSync(waiting.file(name), this.file(to));
    } catch (error) {
      for (const name of Object.values(moves)) rmSync(this.file(name), { recursive: true, force: true });
      throw error;
    }
  }

  /**
   * Returns the id of the user that the attempt runs as, read from the owner of its working folder; -1 if there is no
   * such folder.
   */
  owner(): number {
    return lstatSync(this.work, { throwIfNoEntry: false })?.uid ?? -1;
  }

  /** Returns the path at which an attached file is kept until the input folder exists. */
  staged(index: number): string {
    return this.file(`file.${index}`);
  }

  /** Moves an attached file to the input folder, where the job can read it. */
  takeStaged(index: number): void {
    renameSync(this.staged(index), this.file(`input/${index}`));
  }

  /** Writes a file that only the server may read. */
  write(name: string, text: string): void {
    writeFileSync(this.file(name), text, { mode: 0o600 });
  }

  /** Creates an empty marker file. If the disk is full, it does nothing: callers do not rely on the marker alone. */
  mark(name: string): void {
    try {
      this.write(name, "");
    } catch (error) {
      if (codeOf(error) !== "ENOSPC" && codeOf(error) !== "EDQUOT") throw error;
    }
  }

  /** Creates a folder below the input folder. */
  makeInput(name: string, uid: number | undefined): void {
    const path = this.file(`input/${name}`);
    makeFolder(path, uid === undefined ? 0o700 : 0o750);
    if (uid !== undefined) chownSync(path, 0, uid);
  }

  /** Writes a file to the input folder, where the job can read it. */
  writeInput(name: string, text: string, uid: number | undefined): void {
    const path = this.file(`input/${name}`);
    writeFileSync(path, text, { mode: uid === undefined ? 0o700 : 0o750 });
    if (uid !== undefined) chownSync(path, 0, uid);
  }

  /**
   * Writes files to the input folder. `files` has their texts by path. Files in a parent folder must come before files
   * in its subfolders.
   */
  writeInputFiles(files: Readonly<Record<string, string>>, uid: number | undefined): void {
    for (const name of new Set(Object.keys(files).map((path) => dirname(path)))) this.makeInput(name, uid);
    for (const [name, text] of Object.entries(files)) this.writeInput(name, text, uid);
  }

  /** Writes the job's script to its working folder, owned by the job's user. */
  writeScript(name: string, text: string, uid: number | undefined): void {
    const path = join(this.work, name);
    writeFileSync(path, text, { mode: 0o755 });
    if (uid !== undefined) chownSync(path, uid, uid);
  }

  supervisor(): Supervisor | undefined {
    const [pid, startTime, bootId, began = startTime] = this.#text("supervisor").trim().split(" ");
    return pid && startTime && bootId && began ? { pid: Number(pid), startTime, bootId, began } : undefined;
  }

  /** Prevents a shell that has not started yet from supervising in this folder. Returns false if one has started. */
  withdrawSupervisor(): boolean {
    try {
      writeFileSync(this.file("supervisor"), "server\n", { mode: 0o600, flag: "wx" });
      return true;
    } catch (error) {
      // Without the folder, no shell can start in it.
      if (codeOf(error) === "ENOENT") return true;
      if (codeOf(error) !== "EEXIST") throw error;
      return this.#text("supervisor") === "server\n";
    }
  }

  /** Returns the sandbox of the current phase; undefined if the phase has no sandbox, or none yet. */
  sandbox(): SandboxInfo | undefined {
    return this.#sandbox("sandbox");
  }

  /** Returns the sandbox of the interpreter that waited for this attempt; undefined if there is none. */
  waitingSandbox(): SandboxInfo | undefined {
    return this.#sandbox(waitingSandbox);
  }

  #sandbox(name: string): SandboxInfo | undefined {
    const text = this.#text(name);
    const pid = /"child-pid": (\d+)/.exec(text)?.[1];
    const namespace = /"pid-namespace": (\d+)/.exec(text)?.[1];
    return pid && namespace ? { pid: Number(pid), namespace } : undefined;
  }

  /**
   * Whether the file that describes the sandbox is incomplete, because the start of the sandbox failed, for example on
   * a full disk.
   */
  hasHalfSandbox(): boolean {
    return existsSync(this.file("sandbox")) && this.sandbox() === undefined;
  }

  /** Returns the path of the attempt's virtualenv; empty if the attempt has none, or none yet. */
  venv(): string {
    return this.#text("venv").trim();
  }

  /**
   * Returns the path of the virtualenv that is being built for the attempt; undefined if no build is running.
   * `cacheBytes` is the size of the team's package cache before the build; undefined if the build does not use that
   * cache.
   */
  building(): { readonly environment: string; readonly cacheBytes: number | undefined } | undefined {
    const [environment, bytes] = this.#text("building").trim().split("\n");
    if (!environment) return undefined;
    return { environment, cacheBytes: bytes === undefined ? undefined : Number(bytes) };
  }

  /** Returns the control group of the attempt, or undefined if it has none. */
  group(): Group | undefined {
    const [name, oomKills, cpuSeconds] = this.#text("group").split(" ");
    return name ? { name, oomKills: Number(oomKills), cpuSeconds: Number(cpuSeconds) } : undefined;
  }

  /**
   * Stores which Python interpreter can read the warehouse that this job uses. The method `python` returns this
   * interpreter or, if the attempt gets a virtualenv, the interpreter of the virtualenv.
   */
  writePython({ path, folders }: Python, teamId: number): void {
    this.write("python", JSON.stringify({ path, folders, teamId }));
  }

  /**
   * Returns the Python interpreter that can read the warehouse that this job uses; null if the job does not use the
   * dataset library.
   */
  python(): { readonly python: Python; readonly teamId: number } | null {
    const text = this.#text("python");
    const venv = this.venv();
    if (text === "") return null;
    const { path, folders, teamId } = JSON.parse(text) as Python & { readonly teamId?: number };
    // Attempts started by an older version of Millrace did not store the team.
    if (teamId === undefined) return null;
    const python = venv === "" ? { path, folders } : { path: join(venv, "bin/python"), folders: [venv, ...folders] };
    return { python, teamId };
  }

  /** Returns why the server ended the attempt; empty if the server did not end it. */
  limit(): string {
    return this.#text("limit");
  }

  /** Returns when the supervisor claimed the attempt, in milliseconds since the Unix epoch; undefined before that. */
  begunAt(): number | undefined {
    return statSync(this.file("claim"), { throwIfNoEntry: false })?.mtimeMs;
  }

  logSize(): number {
    return statSync(this.log, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Returns the bytes that the log occupies on disk. */
  logBytes(): number {
    return (lstatSync(this.log, { throwIfNoEntry: false })?.blocks ?? 0) * 512;
  }

  cutLog(size: number): void {
    truncateSync(this.log, size);
  }

  /** Returns who has claimed the attempt: nobody yet, the supervisor that runs it, or a server that withdrew it. */
  claim(): "none" | "supervisor" | "server" {
    const claim = statSync(this.file("claim"), { throwIfNoEntry: false });
    if (!claim) return "none";
    // The claim of a supervisor is empty.
    return claim.size === 0 ? "supervisor" : "server";
  }

  /**
   * Claims the attempt for the server, so that no supervisor can start it. Returns false if a supervisor was faster.
   */
  claimForServer(): boolean {
    const draft = this.file(`claim.${process.pid}`);
    this.make();
    writeFileSync(draft, "server\n");
    try {
      // A hard link is atomic: it appears with its full content or not at all, and fails if the name exists.
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
    // The supervisor fills this file with blanks at its start, so that a full disk cannot prevent the exit record.
    const match = /^(\d+) (\w+) end\n\s*$/.exec(this.#text("exit"));
    if (!match) return undefined;
    const { mtimeMs } = statSync(this.file("exit"));
    return { code: Number(match[1]), phase: String(match[2]), finishedAt: mtimeMs };
  }

  /**
   * Returns the phases that have started. A phase starts when its marker file is created. It ends when the next phase
   * starts or when the attempt ends.
   */
  steps(exit: Exit | undefined): Step[] {
    const begun = phases.flatMap((phase) => {
      const marker = statSync(this.file(`step.${phase}`), { throwIfNoEntry: false });
      return marker ? [{ phase, at: marker.mtimeMs }] : [];
    });
    return stepsOf(begun, exit?.finishedAt);
  }

  /**
   * Returns the job's metrics as JSON; null if the metrics file is missing, too large, not a regular file or not a JSON
   * object.
   */
  metrics(): string | null {
    const path = `${this.work}/${metricsFile}`;
    try {
      // Most jobs have no metrics, and checking is ten times cheaper than catching the error.
      if (!lstatSync(path, { throwIfNoEntry: false })) return null;
      const value: unknown = JSON.parse(this.#readUntrusted(path, metricsLimit));
      return typeof value === "object" && value !== null && !Array.isArray(value) ? JSON.stringify(value) : null;
    } catch {
      return null;
    }
  }

  /**
   * Reads a file that the job may have replaced. Throws if it is a symbolic link, not a regular file, or larger than
   * `limit` bytes. Does not block on a named pipe.
   */
  #readUntrusted(path: string, limit: number): string {
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (!fstatSync(file).isFile()) throw new Error(`${path} is not a regular file`);
      const bytes = Buffer.alloc(limit + 1);
      const length = readSync(file, bytes, 0, limit + 1, 0);
      if (length > limit) throw new Error(`${path} is larger than ${limit} bytes`);
      return bytes.toString("utf8", 0, length);
    } finally {
      closeSync(file);
    }
  }

  /** Deletes everything in the folder except the log and a few small files about how the attempt ended (`kept`). */
  async clean(): Promise<void> {
    // An attempt that ended before its submission has no folder.
    if (!existsSync(this.path)) return;
    const left = (await readdir(this.path)).filter((name) => !kept.test(name));
    await Promise.all(left.map((name) => removeTree(this.file(name))));
  }

  remove(): Promise<void> {
    return removeTree(this.path);
  }

  /** Returns the text of a file, or "" if it does not exist. Throws on any other error, such as an unreadable disk. */
  #text(name: string): string {
    // Most of these files usually do not exist, and checking is ten times cheaper than catching the error.
    if (!existsSync(this.file(name))) return "";
    try {
      return readFileSync(this.file(name), "utf8");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return "";
      throw error;
    }
  }
}

/**
 * Deletes a folder that a job has written to. The job may have nested subfolders deeper than the maximum path length,
 * and removed their permissions. Symbolic links are not followed.
 */
async function removeTree(path: string): Promise<void> {
  if (isSmall(path)) return removeSmall(path);
  const run = promisify(execFile);
  const words = ["-rf", "--one-file-system", "--", path];
  await run("rm", words).catch(async () => {
    await run("chmod", ["-R", "u+rwx", "--", path]).catch(() => {});
    await run("rm", words);
  });
}

/**
 * Deletes a file, or a folder without subfolders, with half of the file system calls of `rm`. Each of them waits for a
 * thread. If anything is not as expected, `rm` does the rest.
 */
async function removeSmall(path: string): Promise<void> {
  try {
    const names = lstatSync(path).isDirectory() ? await readdir(path) : undefined;
    if (!names) return await unlink(path);
    await Promise.all(names.map((name) => unlink(`${path}/${name}`)));
    await rmdir(path);
  } catch {
    await rm(path, { recursive: true, force: true });
  }
}

/**
 * Whether `path` is a file, or a folder with few files and no subfolders. Anything larger is deleted by a separate
 * process, because deleting a million files in this process would block the server.
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
