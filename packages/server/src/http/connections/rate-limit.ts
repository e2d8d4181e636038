/**
 * Rate limits per key, such as an address, with a window of one minute. Counts are kept in the memory of this server.
 */
import { ApiError } from "@millrace/contract";
import type { Clock } from "../../domain/time/clock.ts";
import { setBounded } from "./bounded-map.ts";

const windowMs = 60_000;

export class RateLimit {
  readonly #clock: Clock;
  readonly #perMinute: number;
  readonly #what: string;
  #windowStart = Number.NEGATIVE_INFINITY;
  readonly #counts = new Map<string, number>();

  constructor(clock: Clock, perMinute: number, what: string) {
    this.#clock = clock;
    this.#perMinute = perMinute;
    this.#what = what;
  }

  /** Number of keys, such as addresses, whose calls are counted at present. */
  get size(): number {
    return this.#counts.size;
  }

  /** Counts one call for the key. Throws if the limit is exceeded. */
  take(key: string): void {
    const now = this.#clock.monotonic();
    if (now - this.#windowStart >= windowMs) {
      this.#windowStart = now;
      this.#counts.clear();
    }
    const count = this.#counts.get(key) ?? 0;
    if (count < this.#perMinute) {
      setBounded(this.#counts, key, count + 1);
      return;
    }
    const retryAfter = Math.ceil((this.#windowStart + windowMs - now) / 1000);
    throw new ApiError(
      "too_many_requests",
      `More than ${this.#perMinute} ${this.#what} within a minute. Try again in ${retryAfter} s.`,
      { retryAfter },
    );
  }

  /**
   * Runs `work`, and counts the call only if `work` refuses it. Use this for secrets that nobody can guess. A caller
   * with a correct secret is then never refused because others sent wrong ones.
   */
  async countRefused<T>(key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ApiError) this.take(key);
      throw error;
    }
  }
}
