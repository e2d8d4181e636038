/** Who the work is for that is being done: known to everything below a request, and to nothing that a loop does. */
import { AsyncLocalStorage } from "node:async_hooks";
import { ApiError } from "@millrace/contract";

export interface Asker {
  /** Whose turns it takes: callers share what is scarce. */
  readonly caller: unknown;
  /** In which team; undefined: in none. */
  readonly team?: number | undefined;
  readonly hasGone: () => boolean;
  /** Whether a write has begun for it. What follows is done then, whoever has gone: nothing is left half done. */
  hasWritten?: boolean;
  /** Gives a place back that was taken for the answer. */
  leave?: () => void;
}

const askers = new AsyncLocalStorage<Asker>();

export const askedBy = <T>(asker: Asker, work: () => Promise<T>): Promise<T> => askers.run(asker, work);

/** Undefined: nobody asked, a loop does it. */
export const currentAsker = (): Asker | undefined => askers.getStore();

/** Nothing more is done for a caller that has closed the connection. */
export function requireStillThere(asker: Asker | undefined): void {
  if (asker?.hasGone()) throw new ApiError("bad_request", "Whoever asked for this has closed the connection.");
}

/** The same before a write: only the first of a request is dropped. */
export function requireWriter(asker: Asker | undefined): void {
  if (!asker) return;
  if (!asker.hasWritten) requireStillThere(asker);
  asker.hasWritten = true;
}
