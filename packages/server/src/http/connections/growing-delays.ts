/**
 * Slows down the guessing of passwords: the first few wrong passwords cause no wait, and each further one doubles the
 * wait. Counts are kept in the memory of this server.
 */
import { ApiError } from "@millrace/contract";
import type { Clock } from "../../domain/time/clock.ts";
import { setBounded } from "./bounded-map.ts";

const firstDelayMs = 1000;
const longestDelayMs = 15 * 60_000;
/** Wrong passwords are forgotten after this many milliseconds without another attempt. */
const memoryMs = 60 * 60_000;

interface Tries {
  readonly count: number;
  readonly at: number;
  /** Monotonic time in milliseconds until which further attempts are refused. */
  readonly until: number;
}

export class GrowingDelays {
  readonly #clock: Clock;
  readonly #free: number;
  readonly #tries = new Map<string, Tries>();

  constructor(clock: Clock, free: number) {
    this.#clock = clock;
    this.#free = free;
  }

  /**
   * Number of keys whose wrong passwords are remembered. A key stands for a user and a caller, or for a known browser.
   */
  get size(): number {
    return this.#tries.size;
  }

  /**
   * Counts an attempt as wrong before the password is checked, so that parallel attempts gain nothing. Throws if the
   * key must still wait.
   */
  take(key: string): void {
    const now = this.#clock.monotonic();
    const before = this.#tries.get(key);
    const known = before && now - before.at < memoryMs ? before : { count: 0, until: 0 };
    if (known.count > this.#free && now < known.until) throw tooMany(known.until - now);
    const count = known.count + 1;
    const over = count - this.#free;
    const delay = over > 0 ? Math.min(firstDelayMs * 2 ** Math.min(over - 1, 20), longestDelayMs) : 0;
    setBounded(this.#tries, key, { count, at: now, until: now + delay });
  }

  /** Forgets the attempts of a key after a correct password. */
  forget(key: string): void {
    this.#tries.delete(key);
  }
}

function tooMany(waitMs: number): ApiError {
  const retryAfter = Math.ceil(waitMs / 1000);
  return new ApiError(
    "too_many_requests",
    `Too many wrong passwords for this user from this address. Try again in ${retryAfter} s, or ask an administrator of the server for a sign-in link.`,
    { retryAfter, hint: "create_sign_in_link" },
  );
}
