/** How long attempts have run: by the wall clock up to when they are first seen, and from then on by one that nobody sets. */

interface Times {
  now(): number;
  monotonic(): number;
}

const ofThisMachine: Times = { now: () => Date.now(), monotonic: () => performance.now() };

export class Ages {
  readonly #times: Times;
  readonly #seen = new Map<string, { readonly age: number; readonly at: number }>();

  constructor(times = ofThisMachine) {
    this.#times = times;
  }

  /** Milliseconds. */
  of(key: string, begun: number): number {
    const at = this.#times.monotonic();
    const seen = this.#seen.get(key) ?? { age: Math.max(0, this.#times.now() - begun), at };
    this.#seen.set(key, seen);
    return seen.age + at - seen.at;
  }

  forget(key: string): void {
    this.#seen.delete(key);
  }
}
