/**
 * Limits how many tasks run at a time. Each task belongs to an owner, such as a team, and to a caller. Owners take
 * turns, and so do the callers of one owner. The event loop runs other work between two tasks.
 */
import { Lines } from "./lines.ts";

export class Turns {
  readonly #waiting = new Map<unknown, Lines<() => void>>();
  readonly #running = new Map<unknown, number>();
  readonly #ofOneOwner: number;
  readonly #longestMs: number;
  #free: number;

  /**
   * `atOnce` is the maximum number of tasks that run at a time. `ofOneOwner` is the maximum for each owner. A task that
   * takes longer than `longestMs` milliseconds no longer counts: it waits for something, and others need not wait with
   * it.
   */
  constructor(atOnce: number, ofOneOwner = atOnce, longestMs = Number.POSITIVE_INFINITY) {
    this.#free = atOnce;
    this.#ofOneOwner = ofOneOwner;
    this.#longestMs = longestMs;
  }

  /**
   * Runs `work` when its turn has come. `owner` is the caller itself, or something that several callers share, such as
   * a team.
   */
  async run<T>(work: () => Promise<T>, owner?: unknown, caller: unknown = owner): Promise<T> {
    if (this.#free > 0 && this.#mayBegin(owner)) this.#begin(owner);
    else await new Promise<void>((resolve) => this.#wait(owner, caller, resolve));
    let isOver = false;
    const end = () => {
      if (!isOver) this.#end(owner);
      isOver = true;
    };
    const late = Number.isFinite(this.#longestMs) ? setTimeout(end, this.#longestMs) : undefined;
    try {
      return await work();
    } finally {
      clearTimeout(late);
      // Deferred to the next iteration of the event loop, so that other requests run between two queued tasks.
      setImmediate(end);
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
