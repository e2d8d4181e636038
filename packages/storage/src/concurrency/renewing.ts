/** Credentials that end: kept until shortly before, and renewed for all who wait with one request. */

interface Ending {
  /** Never, when absent. */
  readonly expiration?: Date | undefined;
}

export interface Renewable<T> {
  get(): Promise<T>;
  /** The store says that they have expired. False where there are no others to be had. */
  renew(): boolean;
}

/** Long enough for a request that is signed now to be answered. */
const renewBefore = 5 * 60_000;

/** For what says nothing of its end: it is asked for again after a while. */
export const soon = () => new Date(Date.now() + renewBefore + 60_000);

/** Keeps credentials until shortly before their end; asks once for all who wait; keeps no failure. */
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

/** Credentials that are what they are. */
export const lasting = <T>(value: T): Renewable<T> => ({ get: async () => value, renew: () => false });
