/**
 * Measures the grace period of attempts that were asked to end. Uses the monotonic clock. If the server restarts, the
 * grace period starts again.
 */
import type { Clock } from "../domain/time/clock.ts";

export class Grace {
  readonly #clock: Clock;
  readonly #milliseconds: number;
  readonly #since = new Map<string, number>();

  constructor(clock: Clock, seconds: number) {
    this.#clock = clock;
    this.#milliseconds = seconds * 1000;
  }

  /** Whether the grace period of an attempt is over. The first call for an attempt starts its period. */
  isOver(key: string): boolean {
    const now = this.#clock.monotonic();
    const since = this.#since.get(key) ?? now;
    this.#since.set(key, since);
    return now - since >= this.#milliseconds;
  }

  /** Forgets all attempts except these. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#since.keys()) if (!keys.has(key)) this.#since.delete(key);
  }
}
