/**
 * Yields the entries of pages one by one. The iterator is written by hand, because an async generator creates several
 * promises for each of a million entries.
 */
import type { Entry } from "../backend.ts";

export class Entries implements AsyncIterableIterator<Entry> {
  readonly #pages: AsyncIterator<Entry[]>;
  readonly #signal: AbortSignal | undefined;
  #page: Entry[] = [];
  #at = 0;
  #coming: Promise<IteratorResult<Entry, undefined>> | undefined;

  constructor(pages: AsyncIterable<Entry[]>, signal: AbortSignal | undefined) {
    this.#pages = pages[Symbol.asyncIterator]();
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Entry, undefined>> {
    if (this.#coming) return this.#coming.then(() => this.next());
    if (this.#signal?.aborted) return this.return().then(() => Promise.reject(this.#signal?.reason));
    const value = this.#page[this.#at];
    if (value !== undefined) {
      this.#at += 1;
      return Promise.resolve({ done: false, value });
    }
    this.#coming = this.#turn().finally(() => {
      this.#coming = undefined;
    });
    return this.#coming;
  }

  /** Returns the first entry of the next non-empty page. */
  async #turn(): Promise<IteratorResult<Entry, undefined>> {
    for (;;) {
      const next = await this.#pages.next();
      if (next.done) return { done: true, value: undefined };
      const [value] = next.value;
      this.#page = next.value;
      this.#at = 1;
      if (value !== undefined) return { done: false, value };
    }
  }

  async return(): Promise<IteratorResult<Entry, undefined>> {
    this.#page = [];
    await this.#pages.return?.();
    return { done: true, value: undefined };
  }
}
