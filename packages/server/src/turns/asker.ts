/** The HTTP request that the current code works for. Loops work for no request. */
import { AsyncLocalStorage } from "node:async_hooks";
import { ApiError } from "@millrace/contract";

/** The request that code works for, passed along implicitly through all its asynchronous calls. */
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

/** Returns the request that the current code works for; undefined in a loop. */
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
