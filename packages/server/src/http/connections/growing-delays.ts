/** Guesses at passwords: a few are free, then each wrong one doubles the wait for the next. Kept in memory of this server. */
import { ApiError } from "@millrace/contract";
import type { Clock } from "../../domain/time/clock.ts";
import { setBounded } from "./bounded-map.ts";

const firstDelayMs = 1000;
const longestDelayMs = 15 * 60_000;
/** Without another try for so long, those before are forgotten. */
const memoryMs = 60 * 60_000;

interface Tries {
  readonly count: number;
  readonly at: number;
  /** Until then no other is looked at. */
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

  /** Keys that it remembers. */
  get size(): number {
    return this.#tries.size;
  }

  /** Counts a try as wrong before it is looked at: many at once are no way around. Refuses while a wait goes on. */
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

  /** It was right after all. */
  forget(key: string): void {
    this.#tries.delete(key);
  }
}

function tooMany(waitMs: number): ApiError {
  const retryAfter = Math.ceil(waitMs / 1000);
  return new ApiError(
    "too_many_requests",
    `Too many wrong passwords for this user from here. Try again in ${retryAfter} s, or ask an administrator of the server for a sign-in link.`,
    { retryAfter, hint: "create_sign_in_link" },
  );
}
