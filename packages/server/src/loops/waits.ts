/**
 * Tells when the delays of queued jobs are over. When the loop first sees a job, it reads the remaining delay from the
 * store. From then on, the monotonic clock measures the delay. A wrong wall clock cannot delay a job for long, because
 * no delay is longer than the longest delay that can be configured.
 */
import type { Clock } from "../domain/time/clock.ts";

interface Waiting {
  readonly job_id: string;
  readonly not_before: string;
}

export class Waits {
  readonly #clock: Clock;
  /** The longest delay that can be configured, in milliseconds. */
  readonly #longest: number;
  readonly #until = new Map<string, number>();

  constructor(clock: Clock, longest: number) {
    this.#clock = clock;
    this.#longest = longest;
  }

  /** Returns the jobs whose delay is over. Forgets all jobs that are not in the given list. */
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
