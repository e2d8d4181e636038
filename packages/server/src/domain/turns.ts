/** Takes turns: a few at once, callers in turn, and the event loop goes round between them. */
export class Turns {
  readonly #waiting = new Map<unknown, (() => void)[]>();
  #free: number;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Of one caller first come, first served. */
  async run<T>(work: () => Promise<T>, caller?: unknown): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#wait(caller, resolve));
    try {
      return await work();
    } finally {
      // Not at once: whoever asks for something small would wait for everybody in the line.
      setImmediate(() => this.#pass());
    }
  }

  #wait(caller: unknown, go: () => void): void {
    const own = this.#waiting.get(caller);
    if (own) own.push(go);
    else this.#waiting.set(caller, [go]);
  }

  #pass(): void {
    const [next] = this.#waiting;
    if (!next) return void this.#free++;
    const [caller, own] = next;
    const go = own.shift();
    this.#waiting.delete(caller);
    if (own.length > 0) this.#waiting.set(caller, own);
    go?.();
  }
}
