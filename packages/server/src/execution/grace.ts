/** How long jobs have had to end: since this server first saw that they were asked to, by a clock that nobody sets. */
import type { Clock } from "../domain/time/clock.ts";

export class Grace {
  readonly #clock: Clock;
  readonly #milliseconds: number;
  readonly #since = new Map<string, number>();

  constructor(clock: Clock, seconds: number) {
    this.#clock = clock;
    this.#milliseconds = seconds * 1000;
  }

  /** Counts from the first time that it is asked about an attempt. */
  isOver(key: string): boolean {
    const now = this.#clock.monotonic();
    const since = this.#since.get(key) ?? now;
    this.#since.set(key, since);
    return now - since >= this.#milliseconds;
  }

  /** Forgets all others. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#since.keys()) if (!keys.has(key)) this.#since.delete(key);
  }
}
