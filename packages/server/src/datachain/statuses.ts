/**
 * Numbers that the library has for states and kinds. The child that reads a warehouse imports this file at every start, so
 * it takes nothing but types from the contract, which is slow to load.
 */
import type { versionStatus } from "@millrace/contract";

/** Of a job. */
export const jobRuns = 4;
export const jobEnds = { COMPLETE: 5, FAILED: 6, CANCELED: 8 } as const;

/** Of a version; those that the API answers with are in the contract, too. */
export const versionStates = { created: 1, failed: 3, complete: 4, removing: 7, removed: 8 } as const satisfies Record<
  string,
  number
> &
  typeof versionStatus;

/** Of a query. */
export const queryKinds = { python: 1, shell: 2 } as const;
