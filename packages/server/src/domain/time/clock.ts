/** Time, injected, so that a year passes in a test without a sleep. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since some moment; never steps back. For intervals. */
  monotonic(): number;
}

export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };

/** Times as the store and the API write them. */
export const iso = (milliseconds: number) => new Date(milliseconds).toISOString();

export const day = 86_400_000;
