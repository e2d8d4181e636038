/**
 * Whether the wall clock goes along with time. It may be set while the server runs, and be wrong for a while: whoever acts
 * by it, or deletes by it, asks here first.
 */
import type { Clock } from "./clock.ts";

/** A clock that is set by less is only corrected. */
const stepMs = 60_000;
/** After a step nothing is done by the clock for so long: shorter than ticks are on time for. */
const settleMs = 30_000;

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

  /** What is to be known of the clock now, compared with the last look. */
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
