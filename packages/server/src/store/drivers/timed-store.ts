/** A store that tells how long its writes take. */
import type { Store } from "./store.ts";

/** `told` hears of every write, good or bad: seconds from asking to the commit on disk. */
export const timedStore = (store: Store, told: (seconds: number) => void): Store => ({
  ...store,
  async write(work) {
    const begun = performance.now();
    try {
      return await store.write(work);
    } finally {
      told((performance.now() - begun) / 1000);
    }
  },
});
