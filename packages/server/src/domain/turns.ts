/** Takes turns: first come, first served, a few at once, and the event loop goes round between them. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      // Not at once: whoever asks for something small would wait for everybody in the line.
      setImmediate(() => this.#pass());
    }
  }

  #pass(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free++;
  }
}
