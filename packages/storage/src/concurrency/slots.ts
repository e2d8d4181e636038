/** A number of places; who finds none free waits for one, in turn, no longer than the signal allows. */
import { abortable } from "./abortable.ts";

export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async acquire(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const turn = Promise.withResolvers<void>();
    this.#waiting.push(turn.resolve);
    try {
      await abortable(turn.promise, signal);
    } catch (error) {
      const index = this.#waiting.indexOf(turn.resolve);
      // Given to us at the moment in which we left: then it is the next one's.
      if (index < 0) this.release();
      else this.#waiting.splice(index, 1);
      throw error;
    }
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
  }
}
