/** A bounded queue between producers and one consumer: who is faster waits for the other. */

export class Channel<T> {
  #items: T[] = [];
  #room: (() => void)[] = [];
  #arrival: (() => void) | undefined;
  #closed = false;
  #failure: { error: unknown } | undefined;
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get closed(): boolean {
    return this.#closed;
  }

  async push(item: T): Promise<void> {
    if (this.#closed) return;
    this.#items.push(item);
    this.#arrival?.();
    if (this.#items.length >= this.#capacity) await new Promise<void>((resolve) => this.#room.push(resolve));
  }

  /** No more items; with an error, the consumer gets it after what is already there. */
  close(failure?: { error: unknown }): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#failure = failure;
    this.#arrival?.();
    for (const resume of this.#room.splice(0)) resume();
  }

  /** Nothing is there: more producers are needed, but not all at once, who would then all bring something together. */
  #nextArrival(): Promise<void> {
    for (const resume of this.#room.splice(0, 2)) resume();
    return new Promise<void>((resolve) => {
      this.#arrival = resolve;
    });
  }

  /** Leaving the iteration closes the channel, so that producers stop. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    try {
      for (;;) {
        if (this.#items.length > 0) {
          const item = this.#items.shift() as T;
          if (this.#items.length < this.#capacity) this.#room.shift()?.();
          yield item;
        } else if (this.#closed) break;
        else await this.#nextArrival();
      }
      if (this.#failure) throw this.#failure.error;
    } finally {
      this.close();
    }
  }
}
