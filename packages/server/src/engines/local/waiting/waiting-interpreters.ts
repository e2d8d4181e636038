/**
 * Keeps interpreters ready for the environments that jobs used last. Only the memory of the server knows which: after a
 * restart, the first job of each environment starts without one.
 */
import { readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { WaitingInterpreter } from "./waiting-interpreter.ts";

/** An interpreter is given up if its environment has not been used for this long, in milliseconds. */
const idleMs = 10 * 60_000;
/** After an error, such as a lack of user ids, an interpreter is tried again this much later, in milliseconds. */
const retryMs = 30_000;
/** Time limit for importing the library, in milliseconds. */
const importMs = 2 * 60_000;
/** While an interpreter imports, it is measured at this interval, in milliseconds. */
const measureMs = 500;
/** An import may write this many bytes; packages write small caches at most. */
const mostDisk = 32 * 1024 * 1024;
/** A team whose import took too long or wrote too much gets no interpreters for this long, in milliseconds. */
const barMs = 10 * 60_000;
const checkMs = 5000;
/** Assumed duration of an import before one of its shape was measured, in milliseconds. */
const usualImportMs = 1000;
/** An import waits at most this long for jobs that need the processors, in milliseconds. */
const deferralMs = 5000;
/** Assumed size of an interpreter before one of its shape was measured, in bytes. */
const usualBytes = 96 * 1024 * 1024;
/** Interpreters are given up while less than this share of the machine's memory is available. */
const freeShare = 0.1;

/** An environment that a job has used. */
interface Used {
  readonly team: number;
  usedAt: number;
  /** When the last job that used it ended. */
  leftAt: number;
  /** Until then, an import for it waits for jobs that need the processors. 0 if it does not wait for any. */
  deferredUntil: number;
  /** Measured duration of the import, in milliseconds. */
  importMs: number;
  /** What an interpreter for it was measured to take, in bytes. */
  bytes: number;
  /** How many jobs use it at the same time. */
  running: number;
  /** Starts an interpreter for it. */
  make: () => Promise<WaitingInterpreter>;
}

/** What an interpreter takes, in bytes. Its packages may be strangers' code, so it is not only what Python needs. */
export interface Size {
  /** Memory, including files in memory. */
  readonly memory: number;
  readonly disk: number;
}

export interface WaitingOptions {
  /** Maximum memory of all waiting interpreters, with what they have written to the disk, in bytes. */
  readonly memory: number;
  /** Measures an interpreter that imports or waits. */
  readonly measure: (waiting: WaitingInterpreter) => Promise<Size>;
  /** Removes what an ended interpreter leaves: its folder, its user id, its control group. */
  readonly remove: (waiting: WaitingInterpreter) => Promise<void>;
  /** Returns the available memory of the machine, in bytes. */
  readonly available?: () => number;
  /** Number of processors of the machine. */
  readonly processors?: number;
}

export class WaitingInterpreters {
  readonly #options: WaitingOptions;
  readonly #used = new Map<string, Used>();
  readonly #waiting = new Map<string, WaitingInterpreter>();
  /** Until when no interpreter is started for a shape, for example because its imports print something. */
  readonly #unfit = new Map<string, number>();
  /** Until when no interpreter is started for a team. */
  readonly #barred = new Map<number, number>();
  readonly #timer: NodeJS.Timeout;
  #starting = false;
  #closed = false;

  constructor(options: WaitingOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.check(performance.now()), checkMs).unref();
  }

  /** Number of interpreters that wait for a job. */
  get count(): number {
    return [...this.#waiting.values()].filter(({ memory }) => memory !== undefined).length;
  }

  /** Takes an interpreter for a job of this shape; undefined if none is ready. */
  take(shape: string): WaitingInterpreter | undefined {
    for (const waiting of this.#waiting.values()) {
      if (waiting.shape !== shape || waiting.memory === undefined) continue;
      if (waiting.isReady) {
        this.#waiting.delete(waiting.folder.key);
        return waiting;
      }
      void this.#end(waiting);
    }
    return undefined;
  }

  /**
   * Notes that a job uses this environment. `make` starts an interpreter for the next one: when jobs leave a processor
   * for it, or at once if such jobs come in faster than an import takes.
   */
  use(shape: string, team: number, make: Used["make"]): void {
    const now = performance.now();
    const used = this.#used.get(shape) ?? newUsed(team, make);
    const isBusy = used.running > 0 || now - used.leftAt < used.importMs;
    used.make = make;
    used.usedAt = now;
    used.deferredUntil = isBusy ? 0 : now + deferralMs;
    used.running++;
    // The environment used last comes last.
    this.#used.delete(shape);
    this.#used.set(shape, used);
    this.#fill();
  }

  /** Notes that a job that used this environment has ended. */
  leave(shape: string): void {
    const used = this.#used.get(shape);
    if (!used) return;
    used.running = Math.max(0, used.running - 1);
    used.usedAt = performance.now();
    used.leftAt = used.usedAt;
    if (used.deferredUntil > 0) used.deferredUntil = used.usedAt + deferralMs;
    this.#fill();
  }

  /** Called when an interpreter says that it has imported the library (`ready`), or that it cannot wait. */
  onWord(key: string, word: string): void {
    const waiting = this.#waiting.get(key);
    if (waiting) void this.#heard(waiting, word);
  }

  async #heard(waiting: WaitingInterpreter, word: string): Promise<void> {
    const isSettled = word === "ready" && (await settles(waiting));
    if (!this.#waiting.has(waiting.folder.key)) return;
    const used = this.#used.get(waiting.shape);
    if (isSettled && used) {
      used.importMs = performance.now() - waiting.startedAt;
      void this.#keep(waiting);
    } else {
      const isError = word === "ready" && waiting.folder.logSize() === 0;
      this.#unfit.set(waiting.shape, performance.now() + (isError ? retryMs : idleMs));
      void this.#end(waiting);
      this.#fill();
    }
  }

  /** Lets a stopped interpreter wait for jobs, if it does not take too much. */
  async #keep(waiting: WaitingInterpreter): Promise<void> {
    const bytes = await this.#measured(waiting);
    const used = this.#used.get(waiting.shape);
    if (used && bytes !== undefined) used.bytes = bytes;
    waiting.memory = bytes;
    this.#fill();
  }

  /** Measures an interpreter while it imports. */
  async #watch(waiting: WaitingInterpreter): Promise<void> {
    const isImporting = () => waiting.memory === undefined && this.#waiting.has(waiting.folder.key);
    for (await pause(); isImporting(); await pause()) await this.#measured(waiting);
  }

  /** Returns the bytes that an interpreter takes. Ends it, and returns undefined, if these are too many. */
  async #measured(waiting: WaitingInterpreter): Promise<number | undefined> {
    const used = this.#used.get(waiting.shape);
    const size = await this.#options.measure(waiting).catch(() => undefined);
    const bytes = size && size.memory + size.disk;
    if (used && size && size.disk > mostDisk) this.#barred.set(used.team, performance.now() + barMs);
    if (bytes !== undefined && bytes <= this.#options.memory && !this.#isBarred(waiting.shape)) return bytes;
    // Without this, the next one like it would be planned.
    if (used && bytes !== undefined) used.bytes = bytes;
    await this.#end(waiting);
    return undefined;
  }

  #isBarred(shape: string): boolean {
    return this.#barred.has(this.#used.get(shape)?.team ?? 0);
  }

  /**
   * Ends interpreters that are not planned, and starts the next one that is missing. One imports at a time, so that
   * imports never take more than a processor. Only planned ones are started and only others are ended, so that none is
   * started and ended in turns.
   */
  #fill(): void {
    if (this.#closed || this.#starting || this.#isShort()) return;
    const plan = this.#plan();
    for (const shape of new Set([...this.#waiting.values()].map((waiting) => waiting.shape)))
      for (const extra of this.#of(shape).slice(plan.get(shape) ?? 0)) void this.#end(extra);
    if ([...this.#waiting.values()].some(({ memory }) => memory === undefined)) return;
    const missing = [...plan].find(([shape, count]) => this.#of(shape).length < count && !this.#isDeferred(shape));
    if (missing) this.#start(missing[0]);
  }

  /** An import waits for the job that has used its environment, and for others that leave no processor for it. */
  #isDeferred(shape: string): boolean {
    const used = this.#used.get(shape);
    if (!used || used.deferredUntil <= performance.now()) return false;
    const running = [...this.#used.values()].reduce((sum, one) => sum + one.running, 0);
    // The next job is about to take the processor of the one that has ended.
    const taken = running + 1;
    return used.running > 0 || (running > 0 && taken >= (this.#options.processors ?? availableParallelism()));
  }

  /** Returns how many interpreters each environment should have within the memory, the one used last first. */
  #plan(): Map<string, number> {
    const plan = new Map<string, number>();
    let room = this.#options.memory;
    for (const [shape, { running, bytes }] of [...this.#used].reverse()) {
      if (this.#unfit.has(shape) || this.#isBarred(shape)) continue;
      const count = Math.min(Math.max(1, running), Math.floor(room / bytes));
      plan.set(shape, count);
      room -= count * bytes;
    }
    return plan;
  }

  /** Returns the interpreters of this shape, those that are ready first. */
  #of(shape: string): WaitingInterpreter[] {
    const all = [...this.#waiting.values()].filter((waiting) => waiting.shape === shape);
    return all.sort((a, b) => Number(a.memory === undefined) - Number(b.memory === undefined));
  }

  #start(shape: string): void {
    const used = this.#used.get(shape);
    if (!used) return;
    this.#starting = true;
    used
      .make()
      .then((waiting) => {
        this.#waiting.set(waiting.folder.key, waiting);
        if (this.#closed) void this.#end(waiting);
        else void this.#watch(waiting);
      })
      // Without it, jobs start as if there were no waiting interpreters.
      .catch(() => this.#unfit.set(shape, performance.now() + retryMs))
      .finally(() => {
        this.#starting = false;
        this.#fill();
      });
  }

  #isShort(): boolean {
    return (this.#options.available ?? availableMemory)() < totalmem() * freeShare;
  }

  /** Gives up interpreters that are not used any more, are stuck or dead, or all if the machine is short of memory. */
  check(now: number): void {
    for (const [shape, { usedAt, running }] of this.#used)
      if (running === 0 && now - usedAt > idleMs) this.#used.delete(shape);
    for (const pauses of [this.#unfit, this.#barred] as Map<unknown, number>[])
      for (const [one, until] of pauses) if (now > until) pauses.delete(one);
    const short = this.#isShort();
    for (const waiting of this.#waiting.values()) {
      const isStuck = waiting.memory === undefined && now - waiting.startedAt > importMs;
      if (isStuck) this.#barred.set(this.#used.get(waiting.shape)?.team ?? 0, now + barMs);
      const isDead = waiting.memory !== undefined && !waiting.isReady;
      if (short || isStuck || isDead || !this.#used.has(waiting.shape)) void this.#end(waiting);
    }
    this.#fill();
  }

  /** Ends an interpreter, unless a job has taken it meanwhile. */
  async #end(waiting: WaitingInterpreter): Promise<void> {
    if (!this.#waiting.delete(waiting.folder.key)) return;
    // If a process cannot be killed, its user id and control group stay reserved until the next start.
    if (await waiting.end().catch(() => false)) await this.#options.remove(waiting).catch(() => {});
  }

  /** Ends all interpreters, because jobs need what they hold. Their shapes are tried again later. */
  async giveUp(): Promise<void> {
    for (const shape of this.#used.keys()) this.#unfit.set(shape, performance.now() + idleMs);
    await Promise.all([...this.#waiting.values()].map((waiting) => this.#end(waiting)));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    await this.giveUp();
  }
}

const pause = () => sleep(measureMs, undefined, { ref: false });

const newUsed = (team: number, make: Used["make"]): Used => ({
  ...{ team, usedAt: 0, leftAt: Number.NEGATIVE_INFINITY, deferredUntil: 0, running: 0, make },
  ...{ bytes: usualBytes, importMs: usualImportMs },
});

async function settles(waiting: WaitingInterpreter): Promise<boolean> {
  try {
    return await waiting.settle();
  } catch {
    return false;
  }
}

function availableMemory(): number {
  const kilobytes = /^MemAvailable:\s+(\d+)/m.exec(readFileSync("/proc/meminfo", "latin1"))?.[1];
  return Number(kilobytes ?? 0) * 1024;
}
