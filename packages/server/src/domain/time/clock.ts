/** The clock that all code takes as a parameter, so that tests can let a year pass without sleeping. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since an arbitrary moment; never goes back. For measuring intervals. */
  monotonic(): number;
}

export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };

/** Formats a time as the store and the API write it. */
export const iso = (milliseconds: number) => new Date(milliseconds).toISOString();

/** Milliseconds of a day. */
export const day = 86_400_000;
