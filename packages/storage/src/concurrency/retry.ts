/** Trying again: only what may succeed, after pauses that grow and are random, and as long as the store asked for. */
import { setTimeout as pause } from "node:timers/promises";
import { isStorageError } from "../errors.ts";

export interface RetryPolicy {
  /** How often a call is made, the first time included. */
  readonly attempts: number;
  /** Longest pause before the second attempt, in milliseconds. */
  readonly firstPause: number;
  /** How much longer each next one may be. */
  readonly growth: number;
  readonly longestPause: number;
  /** For tests, which do not wait. */
  readonly wait?: (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;
}

export const defaultRetryPolicy: RetryPolicy = { attempts: 5, firstPause: 100, growth: 1.7, longestPause: 15_000 };

export async function retry<T>(
  policy: RetryPolicy,
  signal: AbortSignal | undefined,
  run: (attempt: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    try {
      return await run(attempt);
    } catch (error) {
      signal?.throwIfAborted();
      if (attempt >= policy.attempts || !isStorageError(error) || !error.retryable) throw error;
      await (policy.wait ?? waitFor)(pauseAfter(policy, attempt, error.retryAfter), signal);
    }
  }
}

/** Full jitter: many clients that failed together do not come back together. */
export function pauseAfter(policy: RetryPolicy, attempt: number, asked = 0): number {
  const longest = Math.min(policy.firstPause * policy.growth ** (attempt - 1), policy.longestPause);
  return asked + Math.random() * longest;
}

async function waitFor(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  await pause(milliseconds, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
}
