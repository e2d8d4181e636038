/** Retries retryable failures, with random growing pauses that respect the store's Retry-After. */
import { setTimeout as pause } from "node:timers/promises";
import { isStorageError } from "../errors.ts";

export interface RetryPolicy {
  /** Maximum number of attempts, the first included. */
  readonly attempts: number;
  /** Maximum pause before the second attempt, in milliseconds. */
  readonly firstPause: number;
  /** Factor by which the maximum pause grows with each attempt, up to `longestPause`. */
  readonly growth: number;
  /** Limit of the maximum pause in milliseconds. The time from Retry-After is added to the pause. */
  readonly longestPause: number;
  /** Replaces waiting in tests. */
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

/**
 * Returns the pause in milliseconds. It is `asked`, the time from the Retry-After header, plus a random time (full
 * jitter). Because of the random time, clients that failed at the same time do not retry at the same time.
 */
export function pauseAfter(policy: RetryPolicy, attempt: number, asked = 0): number {
  const longest = Math.min(policy.firstPause * policy.growth ** (attempt - 1), policy.longestPause);
  return asked + Math.random() * longest;
}

async function waitFor(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  await pause(milliseconds, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
}
