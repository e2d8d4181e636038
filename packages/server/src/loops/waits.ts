/**
 * When waits that the store has are over. How long one still has to wait is read when it is first seen, and counted from
 * then on by a clock that nobody sets; it is never longer than the longest wait that can be planned, so a wrong clock
 * neither loses a wait nor holds it up for long.
 */
import type { Clock } from "../domain/time/clock.ts";

interface Waiting {
  readonly job_id: string;
  readonly not_before: string;
}

export class Waits {
  readonly #clock: Clock;
  /** Milliseconds. */
  readonly #longest: number;
  readonly #until = new Map<string, number>();

  constructor(clock: Clock, longest: number) {
    this.#clock = clock;
    this.#longest = longest;
  }

  /** Returns those that are over, and forgets all that are not among these. */
  over<T extends Waiting>(waiting: readonly T[]): T[] {
    const keys = new Set(waiting.map(keyOf));
    for (const key of this.#until.keys()) if (!keys.has(key)) this.#until.delete(key);
    return waiting.filter((wait) => this.#isOver(wait));
  }

  #isOver(wait: Waiting): boolean {
    const key = keyOf(wait);
    const until = this.#until.get(key) ?? this.#clock.monotonic() + this.#left(wait);
    this.#until.set(key, until);
    return this.#clock.monotonic() >= until;
  }

  #left({ not_before }: Waiting): number {
    return Math.min(Math.max(0, Date.parse(not_before) - this.#clock.now()), this.#longest);
  }
}

const keyOf = ({ job_id, not_before }: Waiting) => `${job_id} ${not_before}`;
