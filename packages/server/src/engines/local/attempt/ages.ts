/** How long attempts have run: as they are found when they are first seen, and from then on by a clock that nobody sets. */

export class Ages {
  readonly #monotonic: () => number;
  readonly #seen = new Map<string, { readonly age: number; readonly at: number }>();

  constructor(monotonic = () => performance.now()) {
    this.#monotonic = monotonic;
  }

  /** Milliseconds. `find` tells the age of an attempt that was not seen before. */
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
