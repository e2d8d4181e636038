/** Who the work is for that is being done: known to everything below a request, and to nothing that a loop does. */
import { AsyncLocalStorage } from "node:async_hooks";

export interface Asker {
  /** Whose turns it takes: callers share what is scarce. */
  readonly caller: unknown;
  /** In which team; undefined: in none. */
  readonly team?: number | undefined;
  readonly hasGone: () => boolean;
  /** Gives a place back that was taken for the answer. */
  leave?: () => void;
}

const askers = new AsyncLocalStorage<Asker>();

export const askedBy = <T>(asker: Asker, work: () => Promise<T>): Promise<T> => askers.run(asker, work);

/** Undefined: nobody asked, a loop does it. */
export const currentAsker = (): Asker | undefined => askers.getStore();
