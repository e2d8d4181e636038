/** Takes turns: a few at once, callers in turn, and the event loop goes round between them. */
export class Turns {
  readonly #waiting = new Map<unknown, (() => void)[]>();
  readonly #running = new Map<unknown, number>();
  readonly #ofOneCaller: number;
  #free: number;

  constructor(atOnce: number, ofOneCaller = atOnce) {
    this.#free = atOnce;
    this.#ofOneCaller = ofOneCaller;
  }

  /** Of one caller first come, first served. */
  async run<T>(work: () => Promise<T>, caller?: unknown): Promise<T> {
    if (this.#free > 0 && this.#mayBegin(caller)) this.#begin(caller);
    else await new Promise<void>((resolve) => this.#wait(caller, resolve));
    try {
      return await work();
    } finally {
      // Not at once: whoever asks for something small would wait for everybody in the line.
      setImmediate(() => this.#end(caller));
    }
  }

  #wait(caller: unknown, go: () => void): void {
    const own = this.#waiting.get(caller);
    if (own) own.push(go);
    else this.#waiting.set(caller, [go]);
  }

  #mayBegin(caller: unknown): boolean {
    return (this.#running.get(caller) ?? 0) < this.#ofOneCaller;
  }

  #begin(caller: unknown): void {
    this.#free--;
    this.#running.set(caller, (this.#running.get(caller) ?? 0) + 1);
  }

  #end(caller: unknown): void {
    this.#free++;
    const left = (this.#running.get(caller) ?? 1) - 1;
    if (left > 0) this.#running.set(caller, left);
    else this.#running.delete(caller);
    this.#pass();
  }

  #pass(): void {
    for (const [caller, own] of this.#waiting) {
      if (!this.#mayBegin(caller)) continue;
      const go = own.shift();
      this.#waiting.delete(caller);
      if (own.length > 0) this.#waiting.set(caller, own);
      this.#begin(caller);
      go?.();
      return;
    }
  }
}
