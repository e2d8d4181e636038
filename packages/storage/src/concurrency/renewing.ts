/** Caches expiring credentials until shortly before they expire, and renews them with one request for all callers. */

interface Ending {
  /** When the credentials expire; never, if absent. */
  readonly expiration?: Date | undefined;
}

export interface Renewable<T> {
  get(): Promise<T>;
  /** Called when the store says that the credentials have expired. Returns false if there are no others. */
  renew(): boolean;
}

/** Milliseconds before expiry at which credentials are renewed, so that a request signed just before is still valid. */
const renewBefore = 5 * 60_000;

/** Expiry for credentials that state none: they are requested again after a while. */
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

/** Credentials that never expire. */
export const lasting = <T>(value: T): Renewable<T> => ({ get: async () => value, renew: () => false });
