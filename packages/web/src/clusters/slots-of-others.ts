/** How many slots in use are not held by these jobs. Both numbers were read at different moments, so never below zero. */
export const slotsOfOthers = (busy: number, jobs: readonly { readonly workers: number }[]): number =>
  Math.max(
    0,
    jobs.reduce((left, { workers }) => left - workers, busy),
  );
