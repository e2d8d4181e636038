/** Keeps the HTTP request on whose behalf the current code runs. Loops run on behalf of no request. */
import { AsyncLocalStorage } from "node:async_hooks";
import { ApiError } from "@millrace/contract";

/** The HTTP request on whose behalf code runs. It is passed implicitly through all asynchronous calls. */
export interface Asker {
  /** Key of the caller; callers take turns on scarce resources. */
  readonly caller: unknown;
  /** Id of the team that the request is about; undefined if there is none. */
  readonly team?: number | undefined;
  /** Returns whether the caller has closed the connection. */
  readonly hasGone: () => boolean;
  /** Whether the request has begun a write. From then on it is completed even if the caller disconnects. */
  hasWritten?: boolean;
  /** Releases the slot that was taken for a large answer; undefined if none was taken. */
  leave?: () => void;
}

const askers = new AsyncLocalStorage<Asker>();

/** Runs code on behalf of a request. */
export const askedBy = <T>(asker: Asker, work: () => Promise<T>): Promise<T> => askers.run(asker, work);

/** Returns the request on whose behalf the current code runs; undefined in a loop. */
export const currentAsker = (): Asker | undefined => askers.getStore();

/** Throws if the caller has closed the connection, so that no more work is done for the request. */
export function requireStillThere(asker: Asker | undefined): void {
  if (asker?.hasGone()) throw new ApiError("bad_request", "The caller has closed the connection.");
}

/**
 * Throws before the first write of a request if the caller has disconnected. Later writes of the request always go on.
 */
export function requireWriter(asker: Asker | undefined): void {
  if (!asker) return;
  if (!asker.hasWritten) requireStillThere(asker);
  asker.hasWritten = true;
}
