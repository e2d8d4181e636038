/**
 * Tracks how long attempts have run. The age of an attempt is read from the system once. From then on, a monotonic
 * clock measures the time to add.
 */

export class Ages {
  readonly #monotonic: () => number;
  readonly #seen = new Map<string, { readonly age: number; readonly at: number }>();

  constructor(monotonic = () => performance.now()) {
    this.#monotonic = monotonic;
  }

  /**
   * Returns the age of an attempt in milliseconds. `find` returns the current age; it is called only the first time.
   */
  of(key: string, find: () => number): number {
    const at = this.#monotonic();
    const seen = this.#seen.get(key) ?? { age: Math.max(0, find()), at };
    this.#seen.set(key, seen);
    return seen.age + at - seen.at;
  }

  forget(key: string): void {
    this.#seen.delete(key);
  }
}
