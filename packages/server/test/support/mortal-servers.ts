/** Servers that die before or after their commits, and stores that fail occasionally; deterministic. */
import type { Store } from "../../src/store/drivers/store.ts";

/** A server's view of a store, until it dies. */
export interface Life {
  readonly store: Store;
  readonly isDead: () => boolean;
}

export const steady = (store: Store): Life => ({ store, isDead: () => false });

/** The store fails occasionally, and works again a moment later. */
export const troubled =
  (chance: () => boolean) =>
  (store: Store): Life => {
    const write: Store["write"] = (work) =>
      store.write(async (db) => {
        const value = await work(db);
        if (chance()) throw new Error("the connection broke");
        return value;
      });
    return { store: { ...store, write }, isDead: () => false };
  };

/** The server dies occasionally, before or after a commit; from then on it does nothing more. */
export const mortal =
  (chance: () => boolean) =>
  (store: Store): Life => {
    let dead = false;
    const die = () => {
      dead = true;
      throw new Error("killed");
    };
    const write: Store["write"] = async (work) => {
      if (dead) die();
      const result = await store.write(async (db) => {
        const value = await work(db);
        if (chance()) die();
        return value;
      });
      if (chance()) die();
      return result;
    };
    return { store: { ...store, write }, isDead: () => dead };
  };

/** Deterministic random numbers, so that a failure can be repeated. */
export function chances(perThousand: number): () => boolean {
  let state = 12345;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % 1000 < perThousand;
  };
}
