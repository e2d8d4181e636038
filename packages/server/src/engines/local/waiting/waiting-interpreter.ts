/**
 * An interpreter that has imported the dataset library and waits for a job, in a sandbox of its team. It serves one job
 * and ends with it. Its folder has the files of an attempt, which the job's attempt takes over.
 */
import { closeSync, constants, opendirSync, openSync, statSync, writeSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { AttemptFolder } from "../attempt/attempt-folder.ts";
import {
  byFolder,
  byNamespace,
  type Identity,
  isAlive,
  namespaceOf,
  ProcessSearch,
  signalAll,
  startTimeOf,
} from "../processes/processes.ts";

/** Time limit in milliseconds for the end of an interpreter that was killed. */
const endingMs = 2000;

/**
 * An interpreter with more processes than this, or with more open descriptors in one of them, does not wait. Packages
 * decide how many there are, and the server looks at each.
 */
const mostProcesses = 16;
const mostDescriptors = 128;

/** Whether a process has files open, beside its standard input and output, or more descriptors than are looked at. */
function hasOpenFiles(pid: number): boolean {
  const descriptors = opendirSync(`/proc/${pid}/fd`);
  try {
    for (let count = 0; count < mostDescriptors; count++) {
      const name = descriptors.readSync()?.name;
      if (name === undefined) return false;
      const path = `/proc/${pid}/fd/${name}`;
      if (Number(name) > 2 && statSync(path, { throwIfNoEntry: false })?.isFile()) return true;
    }
    return true;
  } finally {
    descriptors.closeSync();
  }
}

export class WaitingInterpreter {
  readonly folder: AttemptFolder;
  /** Which jobs it can serve. */
  readonly shape: string;
  /** Id of its user; undefined if jobs run as the server's user. */
  readonly uid: number | undefined;
  /** When it was started, in milliseconds of the monotonic clock. */
  readonly startedAt = performance.now();
  /** Bytes that it takes; undefined while it imports the library. */
  memory: number | undefined;
  /** Stopped processes of the sandbox. */
  #stopped: readonly Identity[] = [];
  #ask: number | undefined;

  constructor(folder: AttemptFolder, shape: string, uid: number | undefined) {
    this.folder = folder;
    this.uid = uid;
    this.shape = shape;
  }

  /**
   * Called when the library is imported. Opens the pipe by which the interpreter's shell gets its attempt, and stops
   * the interpreter: packages may have started threads, and nothing may run while no job does. Returns false if this
   * interpreter cannot be used. Output of the import is such a reason, because it would be missing in the job's log. So
   * is an open file: it may be locked, and nobody could unlock a file of the team's warehouse while this one is stopped.
   */
  async settle(): Promise<boolean> {
    const pids = await this.pids();
    if (pids.length === 0 || pids.length > mostProcesses || this.folder.logSize() > 0) return false;
    this.#ask = openSync(this.folder.file("ask"), constants.O_WRONLY | constants.O_NONBLOCK);
    writeSync(this.#ask, "hello\n");
    signalAll(pids, "SIGSTOP");
    // Another process may have been started before all were stopped.
    if ((await this.pids()).some((pid) => !pids.includes(pid))) return false;
    if (pids.some(hasOpenFiles)) return false;
    const supervisor = this.folder.supervisor();
    if (!supervisor) return false;
    // The import ran at a lower priority than jobs.
    const priority = getPriority(supervisor.pid);
    for (const pid of [this.folder.sandbox()?.pid ?? 0, ...pids].filter((pid) => getPriority(pid) !== priority))
      setPriority(pid, priority);
    this.#stopped = pids.map((pid) => ({ pid, startTime: startTimeOf(pid) ?? "" }));
    return true;
  }

  /** The processes in the sandbox, without its first process, which only waits for the others. */
  async pids(): Promise<number[]> {
    const info = this.folder.sandbox();
    if (!info || namespaceOf(info.pid) !== info.namespace) return [];
    const { pids } = await new ProcessSearch().all(byNamespace(new Set([info.namespace])));
    return pids.filter((pid) => pid !== info.pid);
  }

  /** Whether it waits for a job. False if it has died. */
  get isReady(): boolean {
    return this.#ask !== undefined && this.#stopped.every(isAlive);
  }

  /** Gives the interpreter its attempt. Returns false if its shell has died: then nothing will start the attempt. */
  give(path: string): boolean {
    if (this.#ask === undefined) return false;
    signalAll(
      this.#stopped.map(({ pid }) => pid),
      "SIGCONT",
    );
    try {
      // Shorter than PIPE_BUF, so it is written whole or not at all.
      writeSync(this.#ask, `${path}\n`);
      return true;
    } catch {
      void this.kill();
      return false;
    } finally {
      this.#close();
    }
  }

  #close(): void {
    if (this.#ask !== undefined) closeSync(this.#ask);
    this.#ask = undefined;
  }

  /** Kills the interpreter. Returns whether all its processes have ended. */
  async end(): Promise<boolean> {
    for (const deadline = performance.now() + endingMs; performance.now() < deadline; await sleep(5)) {
      const left = await this.kill();
      if (left === 0) return true;
    }
    return false;
  }

  /** Kills the interpreter and returns how many of its processes were left, including a shell that may still start. */
  async kill(): Promise<number> {
    this.#close();
    const { folder } = this;
    const supervisor = folder.supervisor();
    const sandbox = folder.sandbox();
    const left = new Set([
      ...(supervisor && isAlive(supervisor) ? [supervisor.pid] : []),
      ...(sandbox && namespaceOf(sandbox.pid) === sandbox.namespace ? [sandbox.pid] : []),
      // A shell that has just started the sandbox outlives its parent.
      ...(await new ProcessSearch().all(byFolder([folder.path]))).pids,
    ]);
    signalAll([...left], "SIGKILL");
    return left.size + (supervisor || folder.withdrawSupervisor() ? 0 : 1);
  }
}
