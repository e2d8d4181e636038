/**
 * Limits how many tasks run at a time. Each task belongs to an owner, such as a team, and to a caller. Owners take
 * turns, and so do the callers of one owner. The event loop runs other work between two tasks.
 */
import { Lines } from "./lines.ts";

export class Turns {
  readonly #waiting = new Map<unknown, Lines<() => void>>();
  readonly #running = new Map<unknown, number>();
  readonly #ofOneOwner: number;
  #free: number;

  /** `atOnce` is the maximum number of tasks that run at a time. `ofOneOwner` is the maximum for each owner. */
  constructor(atOnce: number, ofOneOwner = atOnce) {
    this.#free = atOnce;
    this.#ofOneOwner = ofOneOwner;
  }

  /**
   * Runs `work` when its turn has come. `owner` is the caller itself, or something that several callers share, such as
   * a team.
   */
  async run<T>(work: () => Promise<T>, owner?: unknown, caller: unknown = owner): Promise<T> {
    if (this.#free > 0 && this.#mayBegin(owner)) this.#begin(owner);
    else await new Promise<void>((resolve) => this.#wait(owner, caller, resolve));
    try {
      return await work();
    } finally {
      // Deferred to the next iteration of the event loop, so that other requests run between two queued tasks.
      setImmediate(() => this.#end(owner));
    }
  }

  #wait(owner: unknown, caller: unknown, go: () => void): void {
    const lines = this.#waiting.get(owner) ?? new Lines();
    lines.add(caller, go);
    this.#waiting.set(owner, lines);
  }

  #mayBegin(owner: unknown): boolean {
    return (this.#running.get(owner) ?? 0) < this.#ofOneOwner;
  }

  #begin(owner: unknown): void {
    this.#free--;
    this.#running.set(owner, (this.#running.get(owner) ?? 0) + 1);
  }

  #end(owner: unknown): void {
    this.#free++;
    const left = (this.#running.get(owner) ?? 1) - 1;
    if (left > 0) this.#running.set(owner, left);
    else this.#running.delete(owner);
    this.#pass();
  }

  /** Starts the next task whose owner is below its limit. */
  #pass(): void {
    for (const [owner, lines] of this.#waiting) {
      if (!this.#mayBegin(owner)) continue;
      const go = lines.take();
      this.#waiting.delete(owner);
      if (!lines.isEmpty) this.#waiting.set(owner, lines);
      this.#begin(owner);
      go?.();
      return;
    }
  }
}
