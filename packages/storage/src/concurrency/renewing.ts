/** Caches expiring credentials until shortly before they expire, and renews them with one request for all callers. */

interface Ending {
  /** When the credentials expire. If this is absent, they never expire. */
  readonly expiration?: Date | undefined;
}

export interface Renewable<T> {
  get(): Promise<T>;
  /**
   * Called when the store says that the credentials have expired. Returns false if no new credentials can be requested.
   */
  renew(): boolean;
}

/**
 * Credentials are renewed this many milliseconds before they expire, so that no request arrives after its credentials
 * have expired.
 */
const renewBefore = 5 * 60_000;

/** Returns the expiry to assume for credentials that state no expiry: they are requested again after a minute. */
export const soon = () => new Date(Date.now() + renewBefore + 60_000);

/**
 * Caches credentials until shortly before they expire. Concurrent callers share one request; failures are not cached.
 */
export function renewing<T extends Ending>(load: () => Promise<T>, now: () => number = Date.now): Renewable<T> {
  let kept: T | undefined;
  let coming: Promise<T> | undefined;
  const isFresh = (value: T) => !value.expiration || value.expiration.getTime() - now() > renewBefore;
  return {
    async get() {
      if (kept && isFresh(kept)) return kept;
      coming ??= load().finally(() => {
        coming = undefined;
      });
      kept = await coming;
      return kept;
    },
    renew() {
      kept = undefined;
      return true;
    },
  };
}

/** Wraps credentials that never expire. */
export const lasting = <T>(value: T): Renewable<T> => ({ get: async () => value, renew: () => false });
