/** Starts jobs in interpreters that have waited for them, and starts the interpreters that wait for the next ones. */
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { waitingFile } from "../../../datachain/plug-ins/plug-ins.ts";
import { diskUsage } from "../../disk-usage.ts";
import { AttemptFolder } from "../attempt/attempt-folder.ts";
import type { PlannedJob } from "../environments/plan-input.ts";
import type { Isolation } from "../isolation/isolation.ts";
import type { AttemptFiles } from "../preparation/attempt-files.ts";
import type { Cgroups } from "../processes/cgroups.ts";
import { bytesInMemory, type Identity, isAlive, usageOf } from "../processes/processes.ts";
import type { Starter } from "../processes/starter.ts";
import { plainSpec, shapeOf } from "./shape.ts";
import { WaitingInterpreter } from "./waiting-interpreter.ts";
import { type Size, WaitingInterpreters } from "./waiting-interpreters.ts";

export interface WarmStartsOptions {
  /** Maximum memory of interpreters that wait for jobs, in bytes; 0 for none. */
  readonly memory: number;
  /** Folder with the folders of these interpreters. */
  readonly waitingDir: string;
  readonly isolation: Isolation;
  readonly cgroups: Cgroups | undefined;
  readonly starter: Starter;
  readonly files: AttemptFiles;
  /** Called for each job for which an interpreter could wait. `hit`: one waited, and ran the job. */
  readonly onWarmStart: (outcome: "hit" | "miss") => void;
}

export class WarmStarts {
  readonly #options: WarmStartsOptions;
  /** Undefined if no interpreters wait for jobs. */
  readonly #waiting: WaitingInterpreters | undefined;
  /** Attempts for which an interpreter could wait, by key. */
  readonly #shaped = new Map<string, { readonly shape: string; readonly job: PlannedJob; using: boolean }>();

  /** Ends the waiting interpreters that a killed server has left, and deletes their folders. */
  static async removeLeft(waitingDir: string, bootId: string): Promise<void> {
    for (const key of readdirSync(waitingDir)) {
      const left = new AttemptFolder(waitingDir, key);
      const isOver = (left.supervisor()?.bootId ?? bootId) !== bootId;
      const hasEnded = isOver || (await new WaitingInterpreter(left, "", undefined).end());
      // A power failure may have left an empty file, which names no shell.
      if (hasEnded || !left.supervisor()) await left.remove();
    }
  }

  constructor(options: WarmStartsOptions) {
    this.#options = options;
    const { memory } = options;
    const [measure, remove] = [this.#measure.bind(this), this.#remove.bind(this)];
    this.#waiting = memory > 0 ? new WaitingInterpreters({ memory, measure, remove }) : undefined;
  }

  /** Number of interpreters that wait for a job. */
  get count(): number {
    return this.#waiting?.count ?? 0;
  }

  /** Handles a word of the starter. Returns false if the word is not about a waiting interpreter. */
  onWord(key: string, word: string): boolean {
    if (word === "importing") return true;
    if (word === "ready" || word === "unfit") {
      this.#waiting?.onWord(key, word);
      return true;
    }
    if (word === "warm" || word === "cold") {
      this.#options.onWarmStart(word === "warm" ? "hit" : "miss");
      return true;
    }
    return false;
  }

  /** The script of an attempt starts: from now on, an interpreter can wait for the next job like it. */
  use(folder: AttemptFolder): void {
    const shaped = this.#shaped.get(folder.key);
    if (!shaped) return;
    const { shape, job } = shaped;
    const venv = folder.venv();
    shaped.using = true;
    this.#waiting?.use(shape, job.spec.teamId, () => this.#make(shape, job, venv));
  }

  /** The attempt has ended. */
  leave(key: string): void {
    const shaped = this.#shaped.get(key);
    this.#shaped.delete(key);
    if (shaped?.using) this.#waiting?.leave(shaped.shape);
  }

  /** Starts an interpreter that imports the dataset library and waits. Nothing of a job is in its folder. */
  async #make(shape: string, job: PlannedJob, venv: string): Promise<WaitingInterpreter> {
    const { waitingDir, isolation, files, starter } = this.#options;
    const folder = new AttemptFolder(waitingDir, randomUUID());
    folder.make();
    const waiting = new WaitingInterpreter(folder, shape, await isolation.takeUser(folder));
    try {
      files.writeWaiting(folder, waiting.uid, job, venv);
    } catch (error) {
      await this.#remove(waiting);
      throw error;
    }
    starter.startWaiting(folder.path);
    return waiting;
  }

  async #measure(waiting: WaitingInterpreter): Promise<Size> {
    const { folder } = waiting;
    const pids = await waiting.pids();
    const group = folder.group();
    const counted = group && this.#options.cgroups?.usage(group)?.memory_bytes;
    const memory = counted ?? usageOf(pids).memory_bytes + bytesInMemory(pids);
    return { memory, disk: await diskUsage([folder.path]) };
  }

  async #remove({ folder, uid }: WaitingInterpreter): Promise<void> {
    const group = folder.group();
    await folder.remove();
    if (group) this.#options.cgroups?.give(group);
    if (uid !== undefined) this.#options.isolation.freeUser(uid, folder);
  }

  /**
   * Takes a waiting interpreter for an attempt, which then has the interpreter's files, user id and control group.
   * Returns undefined if there is none for it.
   */
  take(folder: AttemptFolder, job: PlannedJob): WaitingInterpreter | undefined {
    const shape = this.#waiting && knownShape(job);
    if (shape === undefined) return undefined;
    this.#shaped.set(folder.key, { shape, job: { ...job, spec: plainSpec(job.spec) }, using: false });
    const waiting = this.#waiting?.take(shape);
    if (waiting && this.#adopt(folder, waiting)) return waiting;
    this.#options.onWarmStart("miss");
    return undefined;
  }

  /**
   * Gives the attempt the files, the user id and the control group of the interpreter that waited for it. Returns false
   * if that fails; the attempt then has nothing of it.
   */
  #adopt(folder: AttemptFolder, waiting: WaitingInterpreter): boolean {
    try {
      folder.adopt(waiting.folder);
    } catch {
      void waiting.kill();
      return false;
    }
    this.#options.isolation.handUser(waiting.folder, folder);
    rmSync(folder.file(`input/${waitingFile}`));
    return true;
  }

  /** Starts an attempt in the interpreter that was taken for it. */
  start(folder: AttemptFolder, waiting: WaitingInterpreter): void {
    const shell = waiting.folder.supervisor();
    if (waiting.give(folder.path) && shell) void this.#startIfLost(folder, shell);
    else this.#startLost(folder);
    waiting.folder.remove().catch(() => {});
  }

  /**
   * Starts an attempt that was given to a shell which died before it read that. If both start it, the first owns it, as
   * with any two supervisors.
   */
  async #startIfLost(folder: AttemptFolder, shell: Identity): Promise<void> {
    while (!folder.supervisor() && isAlive(shell)) await sleep(20);
    if (!folder.supervisor() && existsSync(folder.path)) this.#startLost(folder);
  }

  #startLost(folder: AttemptFolder): void {
    this.#options.onWarmStart("miss");
    this.#options.starter.start(folder.path);
  }

  /** Ends all waiting interpreters, because jobs need their user ids. Returns false if interpreters never wait here. */
  async giveUp(): Promise<boolean> {
    await this.#waiting?.giveUp();
    return this.#waiting !== undefined;
  }

  async close(): Promise<void> {
    await this.#waiting?.close();
  }
}

/** If the shape of a job cannot be found out, for example because a folder is missing, the job starts without one. */
function knownShape(job: PlannedJob): string | undefined {
  try {
    return shapeOf(job);
  } catch {
    return undefined;
  }
}
