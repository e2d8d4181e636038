/** A store that measures how long its writes take. */
import type { Store } from "./store.ts";

/** Wraps a store; `onWrite` gets the seconds from the call of each write to its commit or failure. */
export const timedStore = (store: Store, onWrite: (seconds: number) => void): Store => ({
  ...store,
  async write(work) {
    const begun = performance.now();
    try {
      return await store.write(work);
    } finally {
      onWrite((performance.now() - begun) / 1000);
    }
  },
});
