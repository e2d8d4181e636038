/** Pauses that double with every failure in a row, up to a longest one. Counted by a clock that nobody sets. */
import type { Clock } from "../domain/time/clock.ts";

export interface Pauses {
  /** Milliseconds. */
  readonly first: number;
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

  /** Returns whether this is the first failure in a row. Failures of work that began together count once. */
  fail(): boolean {
    if (!this.isOver) return false;
    const { first, longest } = this.#pauses;
    this.#until = this.#clock.monotonic() + Math.min(first * 2 ** this.#failures, longest);
    return this.#failures++ === 0;
  }

  /** Returns whether failures came before. */
  succeed(): boolean {
    const failed = this.#failures > 0;
    this.#failures = 0;
    this.#until = Number.NEGATIVE_INFINITY;
    return failed;
  }
}
