/** Rate limits per address or user, in memory of this server: a window of a minute. */
import { ApiError } from "@millrace/contract";
import type { Clock } from "../domain/clock.ts";

const windowMs = 60_000;

export class RateLimit {
  readonly #clock: Clock;
  readonly #perMinute: number;
  readonly #what: string;
  #windowStart = Number.NEGATIVE_INFINITY;
  #counts = new Map<string, number>();

  constructor(clock: Clock, perMinute: number, what: string) {
    this.#clock = clock;
    this.#perMinute = perMinute;
    this.#what = what;
  }

  /** Counts one, and refuses beyond the limit. */
  take(key: string): void {
    this.check(key);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  /** Refuses beyond the limit, counts nothing. */
  check(key: string): void {
    const now = this.#clock.monotonic();
    if (now - this.#windowStart >= windowMs) {
      this.#windowStart = now;
      this.#counts.clear();
    }
    if ((this.#counts.get(key) ?? 0) < this.#perMinute) return;
    const retryAfter = Math.ceil((this.#windowStart + windowMs - now) / 1000);
    throw new ApiError(
      "too_many_requests",
      `More than ${this.#perMinute} ${this.#what} within a minute. Try again in ${retryAfter} s.`,
      { retryAfter },
    );
  }
}
