/** Lets a number of tasks run at the same time; the others wait in order. */
import { setImmediate as nextTurn } from "node:timers/promises";

export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];
  #turn: Promise<void> = Promise.resolve();

  constructor(count: number) {
    this.#free = count;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      // Each begins in a turn of the event loop of its own: starting a process takes milliseconds in which the server
      // answers nobody.
      this.#turn = this.#turn.then(() => nextTurn());
      await this.#turn;
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
