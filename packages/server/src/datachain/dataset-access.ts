/** How a job works with the datasets of its team, wherever the engine keeps them. */
export interface DatasetAccess {
  /** Where short names lie. */
  readonly home: { readonly namespace: string; readonly project: string };
  readonly createdAt: string;
  readonly workers: number;
  readonly runGroupId: string;
  readonly rerunFromJobId: string | null;
  /**
   * Listings of storages from before this time are made anew; null: the library decides. In both cases the log says which
   * listing is used; absent: nothing of this.
   */
  readonly listingsSince?: string | null;
}
