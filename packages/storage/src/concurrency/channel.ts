/**
 * A bounded queue between producers and one consumer: the faster side waits for the other. The iterator is written by
 * hand, because with an async generator, some listings of a million keys kept many unneeded pages in memory.
 */
export class Channel<T> implements AsyncIterableIterator<T, undefined> {
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

  /** Ends the queue. If an error is given, the consumer receives it after the queued items. */
  close(failure?: { error: unknown }): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#failure = failure;
    this.#arrival?.();
    for (const resume of this.#room.splice(0)) resume();
  }

  /**
   * Resolves when an item arrives or the channel is closed. Wakes all waiting producers, because the queue is empty and
   * a single producer might have nothing more to add.
   */
  #nextArrival(): Promise<void> {
    for (const resume of this.#room.splice(0)) resume();
    return new Promise<void>((resolve) => {
      this.#arrival = resolve;
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    while (this.#items.length === 0) {
      if (!this.#closed) await this.#nextArrival();
      else if (this.#failure) throw this.#failure.error;
      else return { done: true, value: undefined };
    }
    const value = this.#items.shift() as T;
    if (this.#items.length < this.#capacity) this.#room.shift()?.();
    return { done: false, value };
  }

  /** Ending the iteration closes the channel, so that producers stop. */
  async return(): Promise<IteratorResult<T, undefined>> {
    this.close();
    return { done: true, value: undefined };
  }
}
