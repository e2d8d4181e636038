/** Exponential back-off: the delay doubles with each consecutive failure, up to a maximum. Uses the monotonic clock. */
import type { Clock } from "../domain/time/clock.ts";

export interface Pauses {
  /** Delay after the first failure, in milliseconds. */
  readonly first: number;
  /** Maximum delay, in milliseconds. */
  readonly longest: number;
}

export class BackOff {
  readonly #clock: Clock;
  readonly #pauses: Pauses;
  #failures = 0;
  #until = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, pauses: Pauses) {
    this.#clock = clock;
    this.#pauses = pauses;
  }

  get isOver(): boolean {
    return this.#clock.monotonic() >= this.#until;
  }

  /**
   * Records a failure and starts the next delay. Returns true if this is the first failure since the last success. A
   * failure during a delay does not count, so that parallel requests that fail together count as one failure.
   */
  fail(): boolean {
    if (!this.isOver) return false;
    const { first, longest } = this.#pauses;
    this.#until = this.#clock.monotonic() + Math.min(first * 2 ** this.#failures, longest);
    return this.#failures++ === 0;
  }

  /** Records a success and resets the delay. Returns true if the last result was a failure. */
  succeed(): boolean {
    const failed = this.#failures > 0;
    this.#failures = 0;
    this.#until = Number.NEGATIVE_INFINITY;
    return failed;
  }
}
