/**
 * The datachain library's numeric codes for states and query types. This file imports only types from the contract
 * package, which is slow to load: the child process that reads a warehouse loads this file at every start.
 */
import type { versionStatus } from "@millrace/contract";

/** The library's code for a running job. */
export const jobRuns = 4;
/** The library's codes for the final states of a job. */
export const jobEnds = { COMPLETE: 5, FAILED: 6, CANCELED: 8 } as const;

/**
 * The library's codes for the states of a dataset version. API responses contain only some of them, which the contract
 * package declares too.
 */
export const versionStates = { created: 1, failed: 3, complete: 4, removing: 7, removed: 8 } as const satisfies Record<
  string,
  number
> &
  typeof versionStatus;

/** The library's codes for query types. */
export const queryKinds = { python: 1, shell: 2 } as const;
