/**
 * Detects steps of the wall clock. The wall clock may be set while the server runs, and may be wrong for a while. Loops
 * that fire schedules or delete old data by the wall clock check for steps first.
 */
import type { Clock } from "./clock.ts";

/**
 * If the wall clock and the monotonic clock diverge by more than this many milliseconds between two calls of `look`,
 * the wall clock was set (a step). Smaller differences are normal corrections.
 */
const stepMs = 60_000;
/**
 * Nothing fires for this many milliseconds after a step of the clock. The delay is so short that a tick still counts as
 * on time.
 */
const settleMs = 30_000;

/** Detects steps by comparing the wall clock with the monotonic clock whenever `look` is called. */
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
   * Returns the number of steps since the start, the milliseconds since the last step (or since the start if there was
   * none), and whether the clock is settled. It is settled if there was no step, or if the last step was at least
   * `settleMs` ago.
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
