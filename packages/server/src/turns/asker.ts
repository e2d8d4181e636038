/**
 * Keeps the HTTP request, or the team, on whose behalf the current code runs. Most code of loops is the server's own
 * work and runs on behalf of nobody.
 */
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { ApiError } from "@millrace/contract";

/**
 * The HTTP request on whose behalf code runs, or a loop that acts for a team. It is passed implicitly through all
 * asynchronous calls.
 */
export interface Asker {
  /** Identifies the caller. Callers take turns when many requests wait for the same resource. */
  readonly caller: unknown;
  /** Id of the team that the request is about; undefined if it is about no team. */
  readonly team?: number | undefined;
  /** Returns whether the caller has closed the connection. */
  readonly hasGone: () => boolean;
  /** Kinds of changes that the writes of the request have made. */
  readonly noted?: Set<string>;
  /** Whether the request has begun a write. If so, the request is completed even if the caller disconnects. */
  hasWritten?: boolean;
  /** Releases the slot that the request has taken for a large answer; undefined if it has taken none. */
  leave?: () => void;
}

const askers = new AsyncLocalStorage<Asker | undefined>();

/** Runs code on behalf of a request; of nobody if it is undefined. */
export const askedBy = <T>(asker: Asker | undefined, work: () => Promise<T>): Promise<T> => askers.run(asker, work);

/**
 * Runs code as the server's own work, even if a request causes it. What outlives the request must run like this, or in
 * the name of each of its callers (`inOwnName`): otherwise it would end, for all who share it, with the connection of
 * the first one.
 */
export const asServer = <T>(work: () => T): T => askers.run(undefined, work);

/** Returns a function that runs `work` on behalf of whoever calls this function now, whoever runs it later. */
export const inOwnName = <T>(work: () => T): (() => T) => AsyncResource.bind(work);

/** Identifies the loops among the callers of a team. */
const loops = Symbol("loops");

/**
 * Runs work of a loop on behalf of a team, such as firing its schedules. Its writes wait for the team's turn. Otherwise
 * they would be the server's own work, and a team with much of it would delay the starts and ends of all jobs.
 */
export async function actingFor<T>(team: number, work: () => Promise<T>): Promise<T> {
  const asker: Asker = { caller: loops, team, hasGone: () => false };
  try {
    return await askedBy(asker, work);
  } finally {
    asker.leave?.();
  }
}

/** Returns the request or the team on whose behalf the current code runs; undefined for the server's own work. */
export const currentAsker = (): Asker | undefined => askers.getStore();

/** Throws if the caller has closed the connection, so that no more work is done for the request. */
export function requireStillThere(asker: Asker | undefined): void {
  if (asker?.hasGone()) throw new ApiError("bad_request", "The caller has closed the connection.");
}

/**
 * Throws if the caller has disconnected before the first write of the request. Does not throw after the first write, so
 * that the request is completed.
 */
export function requireWriter(asker: Asker | undefined): void {
  if (!asker) return;
  if (!asker.hasWritten) requireStillThere(asker);
  asker.hasWritten = true;
}
