/**
 * Detects steps of the wall clock, which may be set while the server runs, and may be wrong for a while. Loops that
 * fire or delete by the wall clock check it first.
 */
import type { Clock } from "./clock.ts";

/**
 * Smallest change against the monotonic clock, in milliseconds, that counts as a step of the wall clock. Smaller ones
 * are normal corrections.
 */
const stepMs = 60_000;
/** Milliseconds after a step during which nothing fires. Short enough that ticks still count as on time afterwards. */
const settleMs = 30_000;

/** Compares the wall clock with the monotonic clock at every look. */
export class ClockWatch {
  readonly #clock: Clock;
  #offset: number;
  #since: number;
  #steps = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
    this.#offset = clock.now() - this.#since;
  }

  /**
   * Returns the number of steps since the start, the milliseconds since the last step, and whether the clock is
   * settled: no step has happened, or the last one is long enough ago.
   */
  look(): { readonly steps: number; readonly steadyFor: number; readonly isSettled: boolean } {
    const monotonic = this.#clock.monotonic();
    const offset = this.#clock.now() - monotonic;
    if (Math.abs(offset - this.#offset) > stepMs) {
      this.#steps++;
      this.#since = monotonic;
    }
    this.#offset = offset;
    const steadyFor = monotonic - this.#since;
    return { steps: this.#steps, steadyFor, isSettled: this.#steps === 0 || steadyFor >= settleMs };
  }
}
